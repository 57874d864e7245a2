//! The compression inside a GIF: Lempel, Ziv and Welch's, with codes of growing width.

/// The widest code of a GIF, in bits.
const WIDEST: u32 = 12;
const CODES: u16 = 1 << WIDEST;
/// Places of the table: twice as many as codes, so that searches stay short.
const PLACES: usize = 2 * CODES as usize;

/// Appends the compressed bytes to `out`, as GIF's sub-blocks: the width of a byte, blocks of up to 255, an empty
/// block.
///
/// `bits` is the width of the bytes, from 2 to 8; all of them lie below 2^bits.
pub fn compress(bytes: &[u8], bits: u32, out: &mut Vec<u8>) {
    let clear = 1u16 << bits;
    let mut codes = Codes::new(bits);
    let mut table = Table::new();
    codes.write(clear);
    let mut next = clear + 2;
    let mut rest = bytes.iter();
    if let Some(&first) = rest.next() {
        let mut prefix = u16::from(first);
        for &byte in rest {
            let place = table.place(prefix, byte);
            if let Some(code) = table.code(place) {
                prefix = code;
                continue;
            }
            codes.write(prefix);
            if next < CODES {
                table.insert(place, prefix, byte, next);
                codes.widen_at(next);
                next += 1;
            } else {
                codes.write(clear);
                table.clear();
                codes.width = bits + 1;
                next = clear + 2;
            }
            prefix = u16::from(byte);
        }
        codes.write(prefix);
        // The reader knows one string more after this code, too.
        codes.widen_at(next);
    }
    codes.write(clear + 1);
    let packed = codes.finish();
    out.push(bits as u8);
    for block in packed.chunks(255) {
        out.push(block.len() as u8);
        out.extend_from_slice(block);
    }
    out.push(0);
}

/// Codes packed into bytes, the lowest bits first.
struct Codes {
    width: u32,
    pending: u32,
    filled: u32,
    bytes: Vec<u8>,
}

impl Codes {
    fn new(bits: u32) -> Self {
        Self {
            width: bits + 1,
            pending: 0,
            filled: 0,
            bytes: Vec::new(),
        }
    }

    fn write(&mut self, code: u16) {
        self.pending |= u32::from(code) << self.filled;
        self.filled += self.width;
        while self.filled >= 8 {
            self.bytes.push(self.pending as u8);
            self.pending >>= 8;
            self.filled -= 8;
        }
    }

    /// Once `newest` is a code that does not fit, all codes are one bit wider.
    fn widen_at(&mut self, newest: u16) {
        if newest == 1 << self.width && self.width < WIDEST {
            self.width += 1;
        }
    }

    fn finish(mut self) -> Vec<u8> {
        if self.filled > 0 {
            self.bytes.push(self.pending as u8);
        }
        self.bytes
    }
}

/// Which code stands for a known string (by its code) followed by a byte: open addressing.
struct Table {
    /// Key and code; a code is never 0, because that is a plain byte's.
    entries: Vec<(u32, u16)>,
}

impl Table {
    fn new() -> Self {
        Self {
            entries: vec![(0, 0); PLACES],
        }
    }

    fn key(prefix: u16, byte: u8) -> u32 {
        u32::from(prefix) << 8 | u32::from(byte)
    }

    /// Where the string is, or would be put.
    fn place(&self, prefix: u16, byte: u8) -> usize {
        let key = Self::key(prefix, byte);
        let mut place = key.wrapping_mul(0x9E37_79B1) as usize >> 19;
        while self.entries[place].1 != 0 && self.entries[place].0 != key {
            place = (place + 1) % PLACES;
        }
        place
    }

    fn code(&self, place: usize) -> Option<u16> {
        Some(self.entries[place].1).filter(|&code| code != 0)
    }

    fn insert(&mut self, place: usize, prefix: u16, byte: u8, code: u16) {
        self.entries[place] = (Self::key(prefix, byte), code);
    }

    fn clear(&mut self) {
        self.entries.fill((0, 0));
    }
}

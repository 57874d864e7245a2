//! A small reader of GIF files, written from the format's description and independent of the writer.

use epgt_envs::Color;

/// What is shown, and for how many hundredths of a second.
pub struct Frame {
    pub pixels: Vec<Color>,
    pub delay: u16,
}

/// Bytes from front to back.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, n: usize) -> &'a [u8] {
        let (front, rest) = self.0.split_at(n);
        self.0 = rest;
        front
    }

    fn byte(&mut self) -> u8 {
        self.take(1)[0]
    }

    fn number(&mut self) -> usize {
        let pair = self.take(2);
        usize::from(u16::from_le_bytes([pair[0], pair[1]]))
    }

    /// Sub-blocks up to the empty one.
    fn blocks(&mut self) -> Vec<u8> {
        let mut all = Vec::new();
        loop {
            match self.byte() {
                0 => return all,
                n => all.extend_from_slice(self.take(n.into())),
            }
        }
    }
}

/// Every frame of a file that repeats for ever and has a palette for all of them; some may have their own.
pub fn decode(file: &[u8]) -> Vec<Frame> {
    let mut reader = Reader(file);
    assert_eq!(reader.take(6), b"GIF89a");
    let (width, height) = (reader.number(), reader.number());
    let flags = reader.byte();
    assert!(flags & 0x80 != 0, "a palette for all frames");
    reader.take(2);
    let entries = 2usize << (flags & 7);
    let colors = |reader: &mut Reader<'_>, entries: usize| -> Vec<Color> {
        let bytes = reader.take(3 * entries).chunks_exact(3);
        bytes.map(|entry| [entry[0], entry[1], entry[2]]).collect()
    };
    let shared = colors(&mut reader, entries);
    let mut canvas = vec![[0; 3]; width * height];
    let (mut frames, mut delay, mut repeats) = (Vec::new(), 0, false);
    loop {
        match reader.byte() {
            0x21 => {
                let label = reader.byte();
                let content = reader.blocks();
                match label {
                    0xF9 => {
                        assert_eq!(content[0], 1 << 2, "a frame stays, and has no transparent entry");
                        delay = u16::from_le_bytes([content[1], content[2]]);
                    }
                    _ => repeats |= content == b"NETSCAPE2.0\x01\x00\x00",
                }
            }
            0x2C => {
                let [left, top, across, down] = [0; 4].map(|_| reader.number());
                let own = reader.byte();
                assert_eq!(own & 0x78, 0, "not interlaced");
                let palette = match own & 0x80 {
                    0 => shared.clone(),
                    _ => colors(&mut reader, 2 << (own & 7)),
                };
                let bits = reader.byte();
                let indices = expand(&reader.blocks(), bits.into());
                assert_eq!(indices.len(), across * down);
                for (row, y) in indices.chunks(across).zip(top..) {
                    for (&index, x) in row.iter().zip(left..) {
                        canvas[y * width + x] = palette[usize::from(index)];
                    }
                }
                let pixels = canvas.clone();
                frames.push(Frame { pixels, delay });
            }
            0x3B => break,
            other => panic!("{other:#x} begins no block"),
        }
    }
    assert!(reader.0.is_empty() && repeats);
    frames
}

/// Lempel, Ziv and Welch's codes back to bytes.
fn expand(packed: &[u8], bits: usize) -> Vec<u8> {
    let (clear, end) = (1usize << bits, (1usize << bits) + 1);
    let mut strings: Vec<Vec<u8>> = Vec::new();
    let mut width = bits + 1;
    let mut previous: Option<usize> = None;
    let (mut out, mut position) = (Vec::new(), 0);
    loop {
        let code = (0..width)
            .map(|i| position + i)
            .map(|bit| usize::from(packed[bit / 8] >> (bit % 8) & 1))
            .enumerate()
            .fold(0, |code, (i, bit)| code | bit << i);
        position += width;
        if code == end {
            assert!(packed.len() * 8 - position < 8, "nothing follows the end");
            return out;
        }
        if code == clear {
            strings = (0..=end).map(|i| vec![i as u8]).collect();
            (width, previous) = (bits + 1, None);
            continue;
        }
        if let Some(previous) = previous.filter(|_| strings.len() < 4096) {
            let last = if code < strings.len() { code } else { previous };
            let mut string = strings[previous].clone();
            string.push(strings[last][0]);
            strings.push(string);
        }
        out.extend_from_slice(&strings[code]);
        previous = Some(code);
        if strings.len() == 1 << width && width < 12 {
            width += 1;
        }
    }
}

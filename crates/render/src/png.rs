//! Single images as PNG files, without compression: for looking at, not for keeping.

use crate::Image;

/// The file of an image.
///
/// ```
/// let file = epgt_render::png(&epgt_render::Image::new(4, 4, [0, 128, 0]));
/// assert_eq!(&file[1..4], b"PNG");
/// ```
pub fn png(image: &Image) -> Vec<u8> {
    let mut header = Vec::new();
    header.extend((image.width() as u32).to_be_bytes());
    header.extend((image.height() as u32).to_be_bytes());
    // Eight bits for each of red, green and blue; nothing interlaced.
    header.extend([8, 2, 0, 0, 0]);

    let mut rows = Vec::with_capacity(image.height() * (3 * image.width() + 1));
    for y in 0..image.height() {
        rows.push(0);
        rows.extend(image.row(y).as_flattened());
    }
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    chunk(&mut file, b"IHDR", &header);
    chunk(&mut file, b"IDAT", &stored(&rows));
    chunk(&mut file, b"IEND", &[]);
    file
}

/// A zlib stream of stored blocks (RFC 1950, RFC 1951).
fn stored(bytes: &[u8]) -> Vec<u8> {
    let mut stream = vec![0x78, 0x01];
    let mut blocks = bytes.chunks(0xFFFF).peekable();
    while let Some(block) = blocks.next() {
        let length = block.len() as u16;
        stream.push(u8::from(blocks.peek().is_none()));
        stream.extend(length.to_le_bytes());
        stream.extend((!length).to_le_bytes());
        stream.extend(block);
    }
    let (mut low, mut high) = (1u32, 0u32);
    for &byte in bytes {
        low = (low + u32::from(byte)) % 65521;
        high = (high + low) % 65521;
    }
    stream.extend((high << 16 | low).to_be_bytes());
    stream
}

/// Appends a chunk: length, name, content, checksum.
fn chunk(file: &mut Vec<u8>, name: &[u8; 4], content: &[u8]) {
    file.extend((content.len() as u32).to_be_bytes());
    let start = file.len();
    file.extend(name);
    file.extend(content);
    let checksum = crc32(&file[start..]);
    file.extend(checksum.to_be_bytes());
}

/// The checksum of PNG, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    let mut rest = u32::MAX;
    for &byte in bytes {
        rest ^= u32::from(byte);
        for _ in 0..8 {
            rest = if rest & 1 == 1 {
                rest >> 1 ^ 0xEDB8_8320
            } else {
                rest >> 1
            };
        }
    }
    !rest
}

//! The letters of a file: those of the typeface that it uses, without the others.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::super::face::{FONT, glyph};
use super::File;

/// Writes the font as five objects of which the first has the number `first`.
pub fn write(file: &mut File, letters: &BTreeMap<u16, char>, first: usize) {
    let [cid, descriptor, program, unicode] = [1, 2, 3, 4].map(|more| first + more);
    file.object(&format!(
        "<</Type /Font /Subtype /Type0 /BaseFont /EPGTAA+NotoSans /Encoding /Identity-H /DescendantFonts [{cid} 0 R] \
         /ToUnicode {unicode} 0 R>>"
    ));
    let widths = letters.iter().fold(String::new(), |mut text, (id, &character)| {
        let _ = write!(text, "{id} [{:.0}] ", 1000.0 * glyph(character).advance);
        text
    });
    file.object(&format!(
        "<</Type /Font /Subtype /CIDFontType2 /BaseFont /EPGTAA+NotoSans /CIDSystemInfo <</Registry (Adobe) /Ordering (Identity) \
         /Supplement 0>> /FontDescriptor {descriptor} 0 R /CIDToGIDMap /Identity /DW 600 /W [{widths}]>>"
    ));
    // Numbers of the typeface in thousandths of its size: it is upright and has no serifs.
    file.object(&format!(
        "<</Type /FontDescriptor /FontName /EPGTAA+NotoSans /Flags 4 /FontBBox [-621 -389 2800 1067] /ItalicAngle 0 \
         /Ascent 1069 /Descent -293 /CapHeight 714 /StemV 80 /FontFile2 {program} 0 R>>"
    ));
    let used: BTreeSet<u16> = letters.keys().copied().collect();
    let font = subset(FONT, &used).unwrap_or_else(|| FONT.to_vec());
    file.stream(&format!("/Length1 {}", font.len()), &font);
    file.stream("", to_unicode(letters).as_bytes());
}

/// Which character each glyph stands for, so that words can be searched and copied.
fn to_unicode(letters: &BTreeMap<u16, char>) -> String {
    let mut text = "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CIDSystemInfo <</Registry (Adobe) \
                    /Ordering (UCS) /Supplement 0>> def /CMapName /Adobe-Identity-UCS def /CMapType 2 def\n\
                    1 begincodespacerange <0000> <ffff> endcodespacerange\n"
        .to_string();
    let all: Vec<(&u16, &char)> = letters.iter().collect();
    // A block has a hundred entries at most.
    for block in all.chunks(100) {
        let _ = writeln!(text, "{} beginbfchar", block.len());
        for (id, character) in block {
            let mut units = [0; 2];
            let code: String = character
                .encode_utf16(&mut units)
                .iter()
                .map(|unit| format!("{unit:04x}"))
                .collect();
            let _ = writeln!(text, "<{id:04x}> <{code}>");
        }
        text.push_str("endbfchar\n");
    }
    text + "endcmap CMapName currentdict /CMap defineresource pop end end\n"
}

/// Tables that a reader of a PDF needs.
const TABLES: [&[u8; 4]; 9] = [
    b"cvt ", b"fpgm", b"glyf", b"head", b"hhea", b"hmtx", b"loca", b"maxp", b"prep",
];

/// The font with the outlines of some glyphs alone; all glyphs keep their numbers. Nothing where it is not made as TrueType
/// fonts are.
fn subset(font: &[u8], used: &BTreeSet<u16>) -> Option<Vec<u8>> {
    let mut tables: BTreeMap<[u8; 4], Vec<u8>> = BTreeMap::new();
    for index in 0..usize::from(short(font, 4)?) {
        let entry = font.get(12 + 16 * index..28 + 16 * index)?;
        let (offset, length) = (long(entry, 8)? as usize, long(entry, 12)? as usize);
        let name: [u8; 4] = entry.get(..4)?.try_into().ok()?;
        if TABLES.contains(&&name) {
            tables.insert(name, font.get(offset..offset.checked_add(length)?)?.to_vec());
        }
    }
    let is_long = short(tables.get(b"head")?, 50)? == 1;
    let count = usize::from(short(tables.get(b"maxp")?, 4)?);
    let (outlines, places) = (tables.get(b"glyf")?, tables.get(b"loca")?);
    let place = |index: usize| match is_long {
        true => long(places, 4 * index).map(|place| place as usize),
        false => short(places, 2 * index).map(|place| 2 * usize::from(place)),
    };
    let outline = |id: u16| outlines.get(place(id.into())?..place(usize::from(id) + 1)?);
    // A glyph may be made of others.
    let mut kept: BTreeSet<u16> = BTreeSet::new();
    let mut open: Vec<u16> = used.iter().copied().chain([0]).collect();
    while let Some(id) = open.pop() {
        if usize::from(id) < count && kept.insert(id) {
            open.extend(parts(outline(id)?)?);
        }
    }
    let (mut new_outlines, mut new_places) = (Vec::new(), Vec::new());
    for id in 0..count {
        new_places.extend((new_outlines.len() as u32).to_be_bytes());
        let id = u16::try_from(id).ok()?;
        if kept.contains(&id) {
            new_outlines.extend_from_slice(outline(id)?);
            new_outlines.resize(new_outlines.len().next_multiple_of(4), 0);
        }
    }
    new_places.extend((new_outlines.len() as u32).to_be_bytes());
    tables.insert(*b"glyf", new_outlines);
    tables.insert(*b"loca", new_places);
    let head = tables.get_mut(b"head")?;
    head.get_mut(50..52)?.copy_from_slice(&[0, 1]);
    // The checksum of the whole is taken with this at 0.
    head.get_mut(8..12)?.fill(0);
    Some(assembled(&tables))
}

/// The glyphs that a glyph is made of; none where it has an outline of its own.
fn parts(outline: &[u8]) -> Option<Vec<u16>> {
    let mut parts = Vec::new();
    if outline.is_empty() || short(outline, 0)? < 0x8000 {
        return Some(parts);
    }
    let mut at = 10;
    loop {
        let flags = short(outline, at)?;
        parts.push(short(outline, at + 2)?);
        at += 4 + if flags & 0x1 != 0 { 4 } else { 2 };
        at += match flags {
            flags if flags & 0x8 != 0 => 2,
            flags if flags & 0x40 != 0 => 4,
            flags if flags & 0x80 != 0 => 8,
            _ => 0,
        };
        if flags & 0x20 == 0 {
            return Some(parts);
        }
    }
}

/// The file of some tables, in the order of their names.
fn assembled(tables: &BTreeMap<[u8; 4], Vec<u8>>) -> Vec<u8> {
    let count = tables.len() as u16;
    let power = count.ilog2() as u16;
    let range = 16 << power;
    let mut font = vec![0, 1, 0, 0];
    for number in [count, range, power, 16 * count - range] {
        font.extend(number.to_be_bytes());
    }
    let mut offset = 12 + 16 * tables.len();
    for (name, table) in tables {
        font.extend_from_slice(name);
        for number in [checksum(table), offset as u32, table.len() as u32] {
            font.extend(number.to_be_bytes());
        }
        offset += table.len().next_multiple_of(4);
    }
    let mut head = None;
    for (name, table) in tables {
        if name == b"head" {
            head = Some(font.len());
        }
        font.extend_from_slice(table);
        font.resize(font.len().next_multiple_of(4), 0);
    }
    let adjustment = 0xb1b0_afba_u32.wrapping_sub(checksum(&font));
    if let Some(place) = head.and_then(|at| font.get_mut(at + 8..at + 12)) {
        place.copy_from_slice(&adjustment.to_be_bytes());
    }
    font
}

/// The sum of a table's 32-bit words.
fn checksum(bytes: &[u8]) -> u32 {
    let word = |chunk: &[u8]| {
        let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
        byte(0) << 24 | byte(1) << 16 | byte(2) << 8 | byte(3)
    };
    bytes.chunks(4).map(word).fold(0, u32::wrapping_add)
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    let two = bytes.get(at..at.checked_add(2)?)?;
    Some(u16::from_be_bytes(two.try_into().ok()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_be_bytes(four.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_font_is_not_cut() {
        assert_eq!(subset(b"", &BTreeSet::new()), None);
        assert_eq!(subset(&[0xff; 64], &BTreeSet::new()), None);
        assert_eq!(subset(&FONT[..1000], &BTreeSet::new()), None);
    }
}

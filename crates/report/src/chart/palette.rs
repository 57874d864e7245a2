//! Colours and line patterns: what tells methods apart, on light and on dark ground, on a screen and on paper.

use std::fmt::Write;

/// Colours of the methods compared, on light and on dark ground. They were searched for in the perceptual space Oklab:
/// any two of the twelve are apart, also for readers who lack one kind of cones.
pub const SERIES: [(&str, &str); 12] = [
    ("#1d69c2", "#7da2f0"),
    ("#d57873", "#bd7606"),
    ("#26a49b", "#96ce91"),
    ("#ba4686", "#b57fbe"),
    ("#896e07", "#dcbb38"),
    ("#34344e", "#e2e6fc"),
    ("#6586b8", "#8ed4fd"),
    ("#790d1f", "#e5618e"),
    ("#683e96", "#9a79fe"),
    ("#7b9e02", "#afed5b"),
    ("#7c471c", "#cb9970"),
    ("#005752", "#22c4c0"),
];

/// Patterns of lines: strokes and gaps in units of the line's thickness; the first is unbroken.
const DASHES: [&[f64]; 6] = [
    &[],
    &[4.5, 1.8],
    &[1.2, 1.4],
    &[5.5, 1.6, 1.2, 1.6],
    &[2.4, 1.3],
    &[7.0, 1.5, 2.4, 1.5],
];

/// Everything that is no method, by its name in the stylesheet, on light and on dark ground.
pub const TONES: [(&str, &str, &str); 9] = [
    ("ink", "#17202b", "#e9edf3"),
    ("muted", "#556170", "#a7b2c1"),
    ("line", "#d9dfe7", "#333d4a"),
    ("grid", "#e6eaf0", "#2b3440"),
    ("ground", "#ffffff", "#12171e"),
    ("surface", "#fbfcfd", "#171d26"),
    ("accent", "#1f5fbf", "#7db1ff"),
    ("good", "#1d7a46", "#5fce91"),
    ("bad", "#b3261e", "#ff8f86"),
];

/// The pattern of method number `index`: lengths of strokes and gaps in units of the line's thickness; empty is
/// unbroken. Colours repeat every twelve methods, each time with the next pattern, so that 72 methods are told apart.
///
/// ```
/// use epgt_report::chart::dash;
/// assert!(dash(0).is_empty());
/// assert_ne!(dash(0), dash(12));
/// ```
pub fn dash(index: usize) -> &'static [f64] {
    DASHES[(index + index / SERIES.len()) % DASHES.len()]
}

/// The rules that give names their colours, with a dark face where the reader prefers one. On paper it is always light.
///
/// ```
/// assert!(epgt_report::chart::palette::rules().contains("prefers-color-scheme: dark"));
/// ```
pub fn rules() -> String {
    let face = |dark: bool| {
        let mut text = String::new();
        for (index, (light, deep)) in SERIES.iter().enumerate() {
            let _ = write!(text, "--s{index}:{};", if dark { deep } else { light });
        }
        for (name, light, deep) in TONES {
            let _ = write!(text, "--{name}:{};", if dark { deep } else { light });
        }
        text
    };
    format!(
        ":root{{color-scheme:light dark;{}}}\n@media screen and (prefers-color-scheme: dark){{:root{{{}}}}}\n",
        face(false),
        face(true)
    )
}

/// The light face of a tone by its name; black where there is none of it.
pub(super) fn tone(name: &str) -> [u8; 3] {
    let found = TONES.iter().find(|tone| tone.0 == name);
    found.map_or([0; 3], |tone| hexadecimal(tone.1))
}

/// The light face of method number `index`.
pub(super) fn series(index: usize) -> [u8; 3] {
    hexadecimal(SERIES[index % SERIES.len()].0)
}

/// `#rrggbb` as numbers.
fn hexadecimal(colour: &str) -> [u8; 3] {
    let number = u32::from_str_radix(colour.trim_start_matches('#'), 16).unwrap_or(0);
    [(number >> 16) as u8, (number >> 8) as u8, number as u8]
}

/// The colour of a value between 0 and 1: dark violet over green-blue to yellow, lighter for more throughout, so that
/// it survives colour blindness and a black-and-white print.
///
/// ```
/// use epgt_report::chart::ramp;
/// let grey = |[r, g, b]: [u8; 3]| 2 * u32::from(r) + 5 * u32::from(g) + u32::from(b);
/// assert!(grey(ramp(0.0)) < grey(ramp(0.5)) && grey(ramp(0.5)) < grey(ramp(1.0)));
/// ```
pub fn ramp(value: f64) -> [u8; 3] {
    const STOPS: [[f64; 3]; 5] = [
        [70.0, 20.0, 100.0],
        [60.0, 80.0, 150.0],
        [30.0, 145.0, 140.0],
        [110.0, 200.0, 90.0],
        [245.0, 225.0, 60.0],
    ];
    let place = value.clamp(0.0, 1.0) * 4.0;
    let from = (place as usize).min(3);
    let share = place - from as f64;
    [0, 1, 2].map(|channel| (STOPS[from][channel] * (1.0 - share) + STOPS[from + 1][channel] * share).round() as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Matrix = [[f64; 3]; 3];

    /// Linear light to what readers without one kind of cones see, in linear light (Machado, Oliveira and Fernandes
    /// 2009, severity 1): deuteranopia, protanopia, tritanopia.
    const BLINDNESS: [(&str, Matrix); 3] = [
        (
            "deuteranopia",
            [
                [0.367322, 0.860646, -0.227968],
                [0.280085, 0.672501, 0.047413],
                [-0.011820, 0.042940, 0.968881],
            ],
        ),
        (
            "protanopia",
            [
                [0.152286, 1.052583, -0.204868],
                [0.114503, 0.786281, 0.099216],
                [-0.003882, -0.048116, 1.051998],
            ],
        ),
        (
            "tritanopia",
            [
                [1.255528, -0.076749, -0.178779],
                [-0.078411, 0.930809, 0.147602],
                [0.004733, 0.691367, 0.303900],
            ],
        ),
    ];

    /// Oklab (Ottosson 2020): linear light to cones, and the cones' cube roots to lightness and two opponent colours.
    const CONES: Matrix = [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ];
    const OPPONENTS: Matrix = [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ];

    fn times(matrix: &Matrix, vector: [f64; 3]) -> [f64; 3] {
        matrix.map(|row| row.iter().zip(vector).map(|(a, b)| a * b).sum())
    }

    fn light(colour: &str) -> [f64; 3] {
        hexadecimal(colour).map(|byte| {
            let value = f64::from(byte) / 255.0;
            match value <= 0.04045 {
                true => value / 12.92,
                false => ((value + 0.055) / 1.055).powf(2.4),
            }
        })
    }

    fn oklab(light: [f64; 3]) -> [f64; 3] {
        times(
            &OPPONENTS,
            times(&CONES, light.map(|x| x.clamp(0.0, 1.0))).map(f64::cbrt),
        )
    }

    fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    }

    fn luminance(colour: &str) -> f64 {
        let [r, g, b] = light(colour);
        0.2126 * r + 0.7152 * g + 0.0722 * b
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    /// Oklab's scale: black and white are 1 apart, and 0.02 is about what is just noticed.
    const LEAST: f64 = 0.1;
    const LEAST_BLIND: f64 = 0.065;

    #[test]
    fn twelve_methods_are_told_apart_by_colour_also_by_the_colour_blind() {
        let faces: [(&str, fn(&(&'static str, &'static str)) -> &'static str); 2] =
            [("light", |face| face.0), ("dark", |face| face.1)];
        for (face, of) in faces {
            for a in 0..SERIES.len() {
                for b in 0..a {
                    let [one, other] = [a, b].map(|index| light(of(&SERIES[index])));
                    let apart = distance(oklab(one), oklab(other));
                    assert!(apart >= LEAST, "{face} {a} and {b} are {apart:.3} apart");
                    for (name, matrix) in &BLINDNESS {
                        let apart = distance(oklab(times(matrix, one)), oklab(times(matrix, other)));
                        assert!(
                            apart >= LEAST_BLIND,
                            "{face} {a} and {b} are {apart:.3} apart in {name}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn lines_and_words_stand_out_from_their_ground() {
        let of = |name: &str| TONES.iter().find(|tone| tone.0 == name).unwrap();
        let (_, paper, night) = of("ground");
        for (index, (light, dark)) in SERIES.iter().enumerate() {
            assert!(
                contrast(light, paper) >= 3.0 && contrast(dark, night) >= 3.0,
                "{index}: {:.2}, {:.2}",
                contrast(light, paper),
                contrast(dark, night)
            );
        }
        for name in ["ink", "muted", "accent", "good", "bad"] {
            let (_, light, dark) = of(name);
            assert!(contrast(light, paper) >= 4.5 && contrast(dark, night) >= 4.5, "{name}");
        }
    }

    #[test]
    fn no_two_of_seventy_two_methods_look_the_same() {
        let looks: std::collections::BTreeSet<(usize, String)> = (0..72)
            .map(|index| (index % SERIES.len(), format!("{:?}", dash(index))))
            .collect();
        assert_eq!(looks.len(), 72);
    }
}

//! The one stylesheet of everything that the program shows in a browser.

use crate::chart::palette;

/// The rules of `style.css`, without the colours that they refer to.
const RULES: &str = include_str!("style.css");

/// The stylesheet as it is put into a page: the colours as custom properties, light and dark, and the rules. It refers
/// to nothing outside.
///
/// `--ink --muted --line --grid --ground --surface --accent --good --bad` are tones, `--s0` to `--s11` the colours of
/// what is compared, `--font --mono --small --radius --gap` the rest. Classes: `question verdict note swatch key
/// methods method figures panels table`, and `wide` for a figure over the whole width.
///
/// ```
/// let sheet = epgt_report::style::stylesheet();
/// assert!(sheet.contains("--s11:") && sheet.contains("var(--accent)") && !sheet.contains("url("));
/// ```
pub fn stylesheet() -> String {
    format!("{}{RULES}", palette::rules())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_property_that_a_rule_uses_has_a_value() {
        let sheet = stylesheet();
        let used = sheet.split("var(").skip(1).filter_map(|rest| rest.split(')').next());
        for name in used {
            assert!(sheet.contains(&format!("{name}:")), "{name}");
        }
        assert_eq!(sheet.matches('{').count(), sheet.matches('}').count());
    }
}

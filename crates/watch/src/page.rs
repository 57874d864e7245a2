//! The files of the page, which are part of the program.

use std::fmt::Write;
use std::sync::OnceLock;

use epgt_report::chart::palette::{SERIES, TONES};

/// A file of the page by its path behind the token, with its kind.
pub fn file(path: &str) -> Option<(&'static str, &'static str)> {
    static COLOURS: OnceLock<String> = OnceLock::new();
    let script = "text/javascript; charset=utf-8";
    let style = "text/css; charset=utf-8";
    Some(match path {
        "/" => ("text/html; charset=utf-8", include_str!("page/page.html")),
        "/page.css" => (style, include_str!("page/page.css")),
        "/colours.css" => (style, COLOURS.get_or_init(colours)),
        "/page.js" => (script, include_str!("page/page.js")),
        "/chart.js" => (script, include_str!("page/chart.js")),
        "/picture.js" => (script, include_str!("page/picture.js")),
        _ => return None,
    })
}

/// The colours of reports, which methods have here too: light or dark as the reader prefers, from the first paint on, or
/// as the page was told.
fn colours() -> String {
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
    let (light, dark) = (face(false), face(true));
    let dark = format!("color-scheme:dark;{dark}");
    format!(
        ":root{{color-scheme:light;{light}}}\n\
         @media (prefers-color-scheme: dark){{:root:not([data-face]){{{dark}}}}}\n\
         :root[data-face=dark]{{{dark}}}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_refers_to_its_own_files_alone() {
        let html = file("/").unwrap().1;
        let names = html.split("src=\"").chain(html.split("href=\"")).skip(1);
        let names: Vec<&str> = names.filter_map(|rest| rest.split('"').next()).collect();
        assert!(names.len() >= 5, "{names:?}");
        for name in names
            .iter()
            .filter(|name| !name.starts_with("data:") && !name.starts_with('<'))
        {
            assert!(file(&format!("/{name}")).is_some(), "{name}");
        }
        for path in ["/", "/page.css", "/colours.css", "/page.js", "/chart.js", "/picture.js"] {
            let text = file(path).unwrap().1.replace("http://www.w3.org/2000/svg", "");
            for part in [
                "http:",
                "https:",
                "//cdn",
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "eval(",
            ] {
                assert!(!text.contains(part), "'{part}' in {path}");
            }
        }
    }
}

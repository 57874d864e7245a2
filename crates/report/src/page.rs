//! One HTML file that needs nothing else: no network, no fonts, no scripts.
//!
//! A [`Page`] is written from top to bottom: headings, sentences, pictures side by side, tables. It is narrow on a
//! phone, dark where the reader prefers it, and light on paper.

use std::fmt::Write;

use crate::chart::{Drawing, svg};
use crate::text::html;
use crate::text_table::TextTable;

/// The line by which a page is known to be one of this program's.
pub const GENERATOR: &str = "<meta name=\"generator\" content=\"epgt\">";

/// A page that is being written.
///
/// ```
/// use epgt_report::page::Page;
/// let mut page = Page::new("Two methods");
/// page.heading("CartPole-v1").paragraph("Nobody is < anybody.");
/// let html = page.finish();
/// assert!(html.contains("<h2 id=\"cartpole-v1\">CartPole-v1</h2>") && html.contains("is &lt; anybody"));
/// ```
#[derive(Clone, Debug)]
pub struct Page {
    title: String,
    /// Headings and their names within the page.
    contents: Vec<(String, String)>,
    body: String,
}

impl Page {
    /// An empty page.
    pub fn new(title: &str) -> Self {
        Self {
            title: title.to_string(),
            contents: Vec::new(),
            body: String::new(),
        }
    }

    /// Begins a part, listed at the top of the page.
    pub fn heading(&mut self, text: &str) -> &mut Self {
        let mut name = anchor(text);
        while self.contents.iter().any(|(_, other)| *other == name) {
            name.push('-');
        }
        let _ = writeln!(self.body, "<h2 id=\"{name}\">{}</h2>", html(text));
        self.contents.push((text.to_string(), name));
        self
    }

    /// Begins a part of a part.
    pub fn subheading(&mut self, text: &str) -> &mut Self {
        self.element("h3", "", text)
    }

    /// A sentence that says what the part comes to.
    pub fn headline(&mut self, text: &str) -> &mut Self {
        self.element("p", " class=\"headline\"", text)
    }

    /// Plain sentences.
    pub fn paragraph(&mut self, text: &str) -> &mut Self {
        self.element("p", "", text)
    }

    /// Small print.
    pub fn note(&mut self, text: &str) -> &mut Self {
        self.element("p", " class=\"note\"", text)
    }

    fn element(&mut self, name: &str, attributes: &str, text: &str) -> &mut Self {
        let _ = writeln!(self.body, "<{name}{attributes}>{}</{name}>", html(text));
        self
    }

    /// Pictures beside each other, below each other where the page is narrow.
    pub fn pictures(&mut self, drawings: &[Drawing]) -> &mut Self {
        if drawings.is_empty() {
            return self;
        }
        self.body.push_str("<div class=\"pictures\">\n");
        for drawing in drawings {
            let wide = if drawing.width > 450.0 { " class=\"wide\"" } else { "" };
            let _ = writeln!(self.body, "<figure{wide}>{}</figure>", svg::inline(drawing));
        }
        self.body.push_str("</div>\n");
        self
    }

    /// A table; it scrolls for itself where the page is narrow.
    pub fn table(&mut self, table: &TextTable) -> &mut Self {
        let _ = writeln!(self.body, "<div class=\"table\">{}</div>", table.html());
        self
    }

    /// Begins what is only shown when it is asked for.
    pub fn fold(&mut self, summary: &str) -> &mut Self {
        let _ = writeln!(self.body, "<details><summary>{}</summary>", html(summary));
        self
    }

    /// Ends it.
    pub fn end_fold(&mut self) -> &mut Self {
        self.body.push_str("</details>\n");
        self
    }

    /// A text as it is.
    pub fn verbatim(&mut self, text: &str) -> &mut Self {
        self.element("pre", "", text)
    }

    /// The file.
    pub fn finish(&self) -> String {
        let title = html(&self.title);
        let link = |(text, name): &(String, String)| format!("<a href=\"#{name}\">{}</a>", html(text));
        let links: Vec<String> = self.contents.iter().map(link).collect();
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             {GENERATOR}\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
             <link rel=\"icon\" href=\"data:,\">\n\
             <style>\n{}{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n<nav>{}</nav>\n{}</main>\n</body>\n</html>\n",
            svg::colours(),
            links.join(" "),
            self.body
        )
    }
}

/// A heading's name within the page.
fn anchor(text: &str) -> String {
    let letter = |c: char| {
        if c.is_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            '-'
        }
    };
    text.chars().map(letter).collect()
}

const STYLE: &str = "\
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.5 system-ui,-apple-system,\"Segoe UI\",Roboto,Helvetica,Arial,sans-serif}
main{max-width:1360px;margin:0 auto;padding:1.5rem clamp(.8rem,3vw,2.5rem) 4rem}
h1{font-size:1.9rem;line-height:1.2;margin:.3rem 0 .6rem}
h2{font-size:1.45rem;margin:2.8rem 0 .4rem;padding-top:.9rem;border-top:2px solid var(--grid)}
h3{font-size:1.05rem;margin:1.6rem 0 .3rem}
nav{display:flex;flex-wrap:wrap;gap:.3rem 1.1rem}
nav a{color:var(--s0)}
p{max-width:75ch;margin:.5rem 0}
.headline{font-size:1.2rem;line-height:1.4;font-weight:600}
.note{color:var(--muted);font-size:.9rem}
.pictures{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,300px),1fr));gap:1rem;margin:1rem 0}
.pictures:has(.wide){grid-template-columns:repeat(auto-fill,minmax(min(100%,420px),1fr))}
figure{margin:0;padding:.6rem;border:1px solid var(--grid);border-radius:10px;min-width:0;display:flex;align-items:start;align-self:start}
figure svg{display:block;width:100%;height:auto;max-width:660px;margin:0 auto}
.table{overflow-x:auto;margin:.8rem 0}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.92rem}
th,td{padding:.35rem .8rem;text-align:left;border-bottom:1px solid var(--grid);white-space:nowrap}
th{color:var(--muted);font-weight:600}
td.n,th.n{text-align:right}
details{margin:.6rem 0}
summary{cursor:pointer;color:var(--s0)}
pre{overflow-x:auto;font-size:.8rem;padding:.8rem;border:1px solid var(--grid);border-radius:8px}
@media print{body{font-size:11pt}figure,tr{break-inside:avoid}nav{display:none}.pictures{display:block}figure{margin-bottom:.6rem}}
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_headings_never_share_a_name() {
        let mut page = Page::new("t");
        let html = page.heading("a b").heading("a-b").finish();
        assert!(html.contains("id=\"a-b\"") && html.contains("id=\"a-b-\"") && html.contains("href=\"#a-b-\""));
    }

    #[test]
    fn a_page_refers_to_nothing_outside_and_no_text_breaks_it() {
        let mut page = Page::new("<script>alert(1)</script>");
        page.heading("a&b").fold("more").verbatim("</pre>").end_fold();
        let html = page.finish();
        let outside = html.replace("http://www.w3.org/2000/svg", "");
        assert!(!outside.contains("http:") && !outside.contains("https:") && !html.contains("<script"));
        assert_eq!(html.matches("</pre>").count(), 1);
    }
}

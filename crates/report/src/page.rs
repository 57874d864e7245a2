//! One HTML file that needs nothing else: no network, no fonts, no scripts.
//!
//! A [`Page`] is written from top to bottom: headings, sentences, figures, tables. It is narrow on a phone, dark where the
//! reader prefers it, and light on paper.

use std::fmt::Write;

use crate::chart::{Figure, svg};
use crate::style::stylesheet;
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

    /// What the page is about.
    pub fn question(&mut self, text: &str) -> &mut Self {
        self.element("p", " class=\"question\"", text)
    }

    /// A sentence that says what the part comes to.
    pub fn verdict(&mut self, text: &str) -> &mut Self {
        self.element("p", " class=\"verdict\"", text)
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

    /// Figures beside each other, below each other where the page is narrow; one of several panels has the whole width.
    pub fn figures(&mut self, figures: &[Figure]) -> &mut Self {
        if figures.is_empty() {
            return self;
        }
        self.body.push_str("<div class=\"figures\">\n");
        for figure in figures {
            let (kind, panels) = match figure.panels.len() {
                1 => ("", "panels one"),
                2 => (" class=\"wide\"", "panels two"),
                4 => (" class=\"wide\"", "panels four"),
                3 | 5 | 6 | 9 => (" class=\"wide\"", "panels three"),
                _ => (" class=\"wide\"", "panels"),
            };
            let _ = write!(self.body, "<figure{kind}><figcaption>{}", html(&figure.title));
            if !figure.note.is_empty() {
                let _ = write!(self.body, "<small>{}</small>", html(&figure.note));
            }
            let _ = writeln!(self.body, "</figcaption><div class=\"{panels}\">");
            for drawing in figure.on_page() {
                self.body.push_str(&svg::inline(&drawing));
            }
            self.body.push_str("</div>");
            if !figure.key.is_empty() {
                self.body.push_str("<ul class=\"key\">");
                for (name, index) in &figure.key {
                    let _ = write!(self.body, "<li>{}<span>{}</span></li>", svg::swatch(*index), html(name));
                }
                self.body.push_str("</ul>");
            }
            self.body.push_str("</figure>\n");
        }
        self.body.push_str("</div>\n");
        self
    }

    /// The methods by name and number, each with what is one click away: a sentence and a text as it is.
    ///
    /// ```
    /// use epgt_report::page::Page;
    /// let mut page = Page::new("Methods");
    /// let html = page.methods([("gamma=0.9", 0, "3 runs", "gamma = 0.9\n")]).finish();
    /// assert!(html.contains("<span class=\"method\">gamma=0.9</span>") && html.contains("<pre>gamma = 0.9"));
    /// ```
    pub fn methods<'a>(&mut self, methods: impl IntoIterator<Item = (&'a str, usize, &'a str, &'a str)>) -> &mut Self {
        self.body.push_str("<ul class=\"methods\">\n");
        for (name, index, sentence, whole) in methods {
            let _ = writeln!(
                self.body,
                "<li><details><summary>{}<span class=\"method\">{}</span> <span class=\"note\">{}</span></summary><pre>{}</pre></details></li>",
                svg::swatch(index),
                html(name),
                html(sentence),
                html(whole)
            );
        }
        self.body.push_str("</ul>\n");
        self
    }

    /// A table; where the page is too narrow for its columns, each row is a list of fields.
    pub fn table(&mut self, table: &TextTable) -> &mut Self {
        let _ = writeln!(self.body, "<div class=\"table\">{}</div>", table.html());
        self
    }

    /// A table of methods, each row with the line of its method, as `number` knows it by name.
    pub fn method_table(&mut self, table: &TextTable, number: impl Fn(&str) -> Option<usize>) -> &mut Self {
        let first = |name: &str| match number(name) {
            Some(index) => format!("{}{}", svg::swatch(index), html(name)),
            None => html(name),
        };
        let _ = writeln!(self.body, "<div class=\"table\">{}</div>", table.html_with(first));
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

    /// A moment, such as `2026-01-31T12:00:00Z`, and a sentence before it.
    pub fn moment(&mut self, before: &str, date: &str) -> &mut Self {
        let (before, date) = (html(before), html(date));
        let _ = writeln!(
            self.body,
            "<p class=\"note\">{before} <time datetime=\"{date}\">{date}</time>.</p>"
        );
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
             <style>\n{}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n<nav>{}</nav>\n{}</main>\n</body>\n</html>\n",
            stylesheet(),
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

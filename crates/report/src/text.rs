//! Words for a page and a document: what comes from outside (names, failures) is escaped for them here and nowhere
//! else. What a terminal would act on is taken out by [`one_line`].

use epgt_settings::one_line;

/// A text for HTML and SVG, between tags or within an attribute's quotes.
///
/// ```
/// assert_eq!(epgt_report::text::html("<b> & 'c'"), "&lt;b&gt; &amp; &#39;c&#39;");
/// ```
pub fn html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // XML has no control characters but these.
            c if c.is_control() && !matches!(c, '\n' | '\t') => {}
            c => escaped.push(c),
        }
    }
    escaped
}

/// A text for one line of Markdown, also for a field of a table: it is shown as it is, whatever signs it has. An
/// underscore within a word and brackets that make no link mean nothing there and stay.
///
/// ```
/// use epgt_report::text::markdown;
/// assert_eq!(markdown("a|b\n<i>`c`"), "a\\|b &lt;i>\\`c\\`");
/// assert_eq!(markdown("learning_rate [1, 2]"), "learning_rate [1, 2]");
/// ```
pub fn markdown(text: &str) -> String {
    let line = one_line(text);
    let mut escaped = String::with_capacity(line.len());
    let mut before = ' ';
    let mut rest = line.chars().peekable();
    while let Some(character) = rest.next() {
        let after = rest.peek().copied().unwrap_or(' ');
        match character {
            '<' => escaped.push_str("&lt;"),
            '&' => escaped.push_str("&amp;"),
            '|' | '`' | '*' | '~' | '\\' => escaped.extend(['\\', character]),
            '_' if !(before.is_alphanumeric() && after.is_alphanumeric()) => escaped.push_str("\\_"),
            ']' if matches!(after, '(' | '[' | ':') => escaped.push_str("\\]"),
            // At the beginning of a line these make headings, quotes and lists.
            '#' | '>' | '+' | '-' if escaped.is_empty() && line.len() > 1 && !after.is_ascii_digit() => {
                escaped.extend(['\\', character]);
            }
            c => escaped.push(c),
        }
        before = character;
    }
    escaped
}

/// A text as code in a document, between fences that it cannot end.
///
/// ```
/// assert_eq!(epgt_report::text::fenced("toml", "a = 1\n"), "```toml\na = 1\n```\n");
/// assert!(epgt_report::text::fenced("", "```").starts_with("````\n"));
/// ```
pub fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}\n", text.trim_end())
}

/// The lines of a text that is broken between words, none wider than `width`; a word that is wider is broken too.
///
/// ```
/// use epgt_report::text::wrapped;
/// assert_eq!(wrapped("one two three", 8), ["one two", "three"]);
/// assert_eq!(wrapped("abcdefgh i", 5), ["abcde", "fgh i"]);
/// assert_eq!(wrapped("", 5), [""]);
/// ```
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split_whitespace() {
        let mut word: Vec<char> = word.chars().collect();
        if used > 0 && used + 1 + word.len() > width {
            lines.push(String::new());
            used = 0;
        }
        let gap = usize::from(used > 0);
        lines
            .last_mut()
            .unwrap_or(&mut String::new())
            .push_str(&" ".repeat(gap));
        used += gap;
        while !word.is_empty() {
            if used == width {
                lines.push(String::new());
                used = 0;
            }
            let part: String = word.drain(..word.len().min(width - used)).collect();
            used += part.chars().count();
            if let Some(line) = lines.last_mut() {
                line.push_str(&part);
            }
        }
    }
    lines
}

/// Sentences of which a line that is wider than `columns` is broken between words and keeps its indentation.
///
/// ```
/// use epgt_report::text::filled;
/// assert_eq!(filled("short\n\n  one two three\n", 10), "short\n\n  one two\n  three\n");
/// assert_eq!(filled("  one two three", 15), "  one two three");
/// ```
pub fn filled(text: &str, columns: usize) -> String {
    let fill = |line: &str| {
        if line.chars().count() <= columns {
            return line.to_string();
        }
        let margin = " ".repeat((line.len() - line.trim_start_matches(' ').len()).min(columns / 2));
        let lines = wrapped(line, columns - margin.len());
        lines
            .iter()
            .map(|line| format!("{margin}{line}"))
            .collect::<Vec<_>>()
            .join("\n")
    };
    text.split('\n').map(fill).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_markdown_would_act_on_is_escaped() {
        for (text, shown) in [
            ("**bold**", "\\*\\*bold\\*\\*"),
            ("_x_ a_b", "\\_x\\_ a_b"),
            ("[a](javascript:b)", "[a\\](javascript:b)"),
            ("# heading", "\\# heading"),
            ("-5.0", "-5.0"),
            ("-", "-"),
            ("&lt;", "&amp;lt;"),
            ("a\\b", "a\\\\b"),
            ("<script>alert(1)</script>", "&lt;script>alert(1)&lt;/script>"),
        ] {
            assert_eq!(markdown(text), shown);
        }
    }

    #[test]
    fn no_line_is_wider_than_it_may_be_and_no_letter_is_lost() {
        let text = "a few words, averyveryverylongone and ünïcode";
        for width in 1..50 {
            let lines = wrapped(text, width);
            assert!(
                lines.iter().all(|line| line.chars().count() <= width),
                "{width}: {lines:?}"
            );
            let letters = |text: &str| text.chars().filter(|c| *c != ' ').collect::<String>();
            assert_eq!(letters(&lines.concat()), letters(text));
        }
    }
}

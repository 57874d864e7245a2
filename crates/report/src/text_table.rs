//! Tables of text, for terminals and for Markdown.
//!
//! A column whose fields are numbers is aligned to the right, so that digits stand below each other; any other to the
//! left.

use epgt_settings::one_line;

use crate::text::{html, markdown, wrapped};

/// A table that is filled row by row and then laid out.
///
/// ```
/// use epgt_report::text_table::TextTable;
/// let mut table = TextTable::new(&["task", "score"]);
/// table.row(&["Hopper-v4", "3253.0"]);
/// table.row(&["Ant-v4", "-5.0"]);
/// assert_eq!(table.plain(), "\
/// task        score
/// ---------  ------
/// Hopper-v4  3253.0
/// Ant-v4       -5.0
/// ");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TextTable {
    columns: usize,
    /// All fields, row after row; the header is the first row.
    fields: Vec<String>,
}

/// A terminal that is narrower gets lines of this width.
const NARROWEST: usize = 20;

/// Words that are longer may be broken where there is no room.
const LONGEST_WORD: usize = 24;

/// A column of text that is wider holds sentences, and is not made narrower.
const SENTENCE: usize = 28;

/// What stands before a field that is written below its row.
const BELOW: &str = "    ";

/// How one column is laid out.
#[derive(Clone, Copy)]
struct Column {
    width: usize,
    numeric: bool,
}

impl TextTable {
    /// A table with this header and no rows.
    ///
    /// ```
    /// let table = epgt_report::text_table::TextTable::new(&["task", "score"]);
    /// assert_eq!(table.markdown(), "| task | score |\n| ---- | ----- |\n");
    /// ```
    pub fn new(header: &[&str]) -> Self {
        let mut table = Self {
            columns: header.len(),
            fields: Vec::new(),
        };
        table.row(header);
        table
    }

    /// Adds a row, as wide as the header. Line breaks become spaces, and other control characters go.
    ///
    /// ```
    /// let mut table = epgt_report::text_table::TextTable::new(&["a", "b"]);
    /// table.row(&["1", "x"]).row(&["2", "y"]);
    /// assert_eq!(table.plain().lines().count(), 4);
    /// ```
    pub fn row(&mut self, fields: &[&str]) -> &mut Self {
        assert_eq!(fields.len(), self.columns, "fields in a row of the table");
        self.fields.extend(fields.iter().map(|field| one_line(field)));
        self
    }

    /// The table for a terminal: columns two spaces apart, a rule below the header.
    ///
    /// ```
    /// let mut table = epgt_report::text_table::TextTable::new(&["n", "name"]);
    /// table.row(&["10", "ten"]);
    /// assert_eq!(table.plain(), " n  name\n--  ----\n10  ten\n");
    /// ```
    pub fn plain(&self) -> String {
        let columns = lay_out(&self.fields, self.columns);
        let mut text = String::new();
        for (index, row) in self.fields.chunks(self.columns.max(1)).enumerate() {
            push_line(&mut text, row, &columns);
            if index == 0 {
                push_rule(&mut text, &columns);
            }
        }
        text
    }

    /// The table for a terminal of so many columns: text is broken within its column, never a number. A last column of
    /// sentences that would become a thin one is written below each row instead; where even that is too wide, the
    /// columns stand in several blocks below each other, each with the first one.
    ///
    /// ```
    /// let mut table = epgt_report::text_table::TextTable::new(&["task", "what to do", "limit"]);
    /// table.row(&["CartPole-v1", "keep the pole up", "500"]);
    /// assert_eq!(table.fitted(40), table.plain());
    /// assert_eq!(table.fitted(30), "\
    /// task         what to do  limit
    /// -----------  ----------  -----
    /// CartPole-v1  keep the      500
    ///              pole up
    /// ");
    /// let mut table = epgt_report::text_table::TextTable::new(&["task", "limit", "what to do"]);
    /// table.row(&["CartPole-v1", "500", "keep the pole on the cart up by pushing it"]);
    /// assert_eq!(table.fitted(34), "\
    /// task         limit
    ///     what to do
    /// -----------  -----
    /// CartPole-v1    500
    ///     keep the pole on the cart up
    ///     by pushing it
    /// ");
    /// ```
    pub fn fitted(&self, width: usize) -> String {
        let width = width.max(NARROWEST);
        let columns = lay_out(&self.fields, self.columns);
        if total(columns.iter().map(|column| column.width)) <= width {
            return self.plain();
        }
        let floors: Vec<usize> = (0..self.columns)
            .map(|at| self.floor(at, &columns[at], width))
            .collect();
        let last = self.columns - 1;
        let others = total(columns[..last].iter().map(|column| column.width));
        let is_thin = !columns[last].numeric && columns[last].width > SENTENCE && others + 2 + SENTENCE > width;
        if is_thin && others <= width {
            let block: Vec<usize> = (0..last).collect();
            return self.block(&block, Some(last), &columns, &floors, width);
        }
        let mut blocks: Vec<Vec<usize>> = vec![vec![0]];
        for at in 1..self.columns {
            let mut block = blocks.pop().unwrap_or_default();
            let needed = total(block.iter().chain([&at]).map(|&at| floors[at]));
            if needed > width && block.len() > 1 {
                blocks.push(std::mem::replace(&mut block, vec![0]));
            }
            block.push(at);
            blocks.push(block);
        }
        let texts: Vec<String> = blocks
            .iter()
            .map(|block| self.block(block, None, &columns, &floors, width))
            .collect();
        texts.join("\n")
    }

    /// The least width of a column: of its longest word, or of its numbers as they are.
    fn floor(&self, at: usize, column: &Column, width: usize) -> usize {
        let fields = || self.fields.iter().skip(at).step_by(self.columns);
        let word = |field: &String| {
            field
                .split_whitespace()
                .map(|word| word.chars().count())
                .max()
                .unwrap_or(0)
        };
        let header = fields().next().map_or(0, word);
        let body = match column.numeric {
            true => fields().skip(1).map(|field| field.chars().count()).max().unwrap_or(0),
            false => fields().skip(1).map(word).max().unwrap_or(0).min(LONGEST_WORD),
        };
        // The first column leaves room for another, whatever is in it.
        let most = if at == 0 { width / 2 } else { width - width / 2 - 2 };
        header.min(LONGEST_WORD).max(body).clamp(1, most)
    }

    /// Some of the columns, the widest made narrower until all fit, and perhaps one that is written below each row.
    fn block(
        &self,
        block: &[usize],
        below: Option<usize>,
        columns: &[Column],
        floors: &[usize],
        width: usize,
    ) -> String {
        let mut widths: Vec<usize> = block.iter().map(|&at| columns[at].width).collect();
        while total(widths.iter().copied()) > width {
            let shrinkable = (0..block.len()).filter(|&i| widths[i] > floors[block[i]]);
            match shrinkable.max_by_key(|&i| widths[i]) {
                Some(widest) => widths[widest] -= 1,
                None => break,
            }
        }
        let layout: Vec<Column> = block
            .iter()
            .zip(&widths)
            .map(|(&at, &width)| Column { width, ..columns[at] })
            .collect();
        let mut text = String::new();
        for (index, row) in self.fields.chunks(self.columns.max(1)).enumerate() {
            let cells: Vec<Vec<String>> = block
                .iter()
                .zip(&widths)
                .map(|(&at, &width)| wrapped(&row[at], width))
                .collect();
            for line in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
                let part: Vec<String> = cells
                    .iter()
                    .map(|cell| cell.get(line).cloned().unwrap_or_default())
                    .collect();
                push_line(&mut text, &part, &layout);
            }
            for line in below.iter().flat_map(|&at| wrapped(&row[at], width - BELOW.len())) {
                text.push_str(format!("{BELOW}{line}").trim_end());
                text.push('\n');
            }
            if index == 0 {
                push_rule(&mut text, &layout);
            }
        }
        text
    }

    /// The table as GitHub's Markdown, aligned in the source as well; fields are shown as they are, whatever signs they
    /// have.
    ///
    /// ```
    /// let mut table = epgt_report::text_table::TextTable::new(&["name", "n"]);
    /// table.row(&["|A|", "144"]);
    /// assert_eq!(table.markdown(), "\
    /// | name  |   n |
    /// | ----- | --: |
    /// | \\|A\\| | 144 |
    /// ");
    /// ```
    pub fn markdown(&self) -> String {
        let escaped: Vec<String> = self.fields.iter().map(|field| markdown(field)).collect();
        let mut columns = lay_out(&escaped, self.columns);
        for column in &mut columns {
            // Room for a rule of at least "--:".
            column.width = column.width.max(3);
        }
        let mut text = String::new();
        for (index, row) in escaped.chunks(self.columns.max(1)).enumerate() {
            text.push_str("| ");
            push_row(&mut text, row, &columns, " | ");
            text.push_str(" |\n");
            if index == 0 {
                let rule = |column: &Column| {
                    let end = if column.numeric { ":" } else { "-" };
                    "-".repeat(column.width - 1) + end
                };
                let rules: Vec<String> = columns.iter().map(rule).collect();
                text.push_str(&format!("| {} |\n", rules.join(" | ")));
            }
        }
        text
    }

    /// The table as CSV; a field with a comma or a quote is quoted.
    ///
    /// ```
    /// let mut table = epgt_report::text_table::TextTable::new(&["task", "interval"]);
    /// table.row(&["Ant-v4", "[1, 2]"]);
    /// assert_eq!(table.csv(), "task,interval\nAnt-v4,\"[1, 2]\"\n");
    /// ```
    pub fn csv(&self) -> String {
        let field = |field: &String| match field.contains([',', '"']) {
            true => format!("\"{}\"", field.replace('"', "\"\"")),
            false => field.clone(),
        };
        let row = |row: &[String]| row.iter().map(field).collect::<Vec<_>>().join(",") + "\n";
        self.fields.chunks(self.columns.max(1)).map(row).collect()
    }

    /// The table as HTML; fields of columns of numbers have the class `n`, and every field but the first of a row says the
    /// name of its column, for pages too narrow for columns.
    ///
    /// ```
    /// let mut table = epgt_report::text_table::TextTable::new(&["a", "b"]);
    /// table.row(&["<", "1"]);
    /// assert_eq!(
    ///     table.html(),
    ///     "<table><thead><tr><th>a</th><th class=\"n\">b</th></tr></thead>\
    ///      <tbody><tr><td>&lt;</td><td class=\"n\" data-label=\"b\">1</td></tr></tbody></table>"
    /// );
    /// ```
    pub fn html(&self) -> String {
        self.html_with(html)
    }

    /// The same with the first field of a row as `first` writes it, which has to escape it. A column that says nothing of
    /// any row is left out.
    pub(crate) fn html_with(&self, first: impl Fn(&str) -> String) -> String {
        let columns = lay_out(&self.fields, self.columns);
        let mut rows = self.fields.chunks(self.columns.max(1));
        let header = rows.next().unwrap_or_default();
        let class = |column: &Column| if column.numeric { " class=\"n\"" } else { "" };
        let body = |at: usize| rows.clone().filter_map(move |row| row.get(at));
        let says = |at: &usize| *at == 0 || rows.len() == 0 || !body(*at).all(|field| is_blank(field));
        let shown: Vec<usize> = (0..self.columns).filter(says).collect();
        let mut text = String::from("<table><thead><tr>");
        for (field, column) in shown.iter().map(|&at| (&header[at], &columns[at])) {
            text.push_str(&format!("<th{}>{}</th>", class(column), html(field)));
        }
        text.push_str("</tr></thead><tbody>");
        for row in rows {
            text.push_str("<tr>");
            for (at, field, column) in shown.iter().map(|&at| (at, &row[at], &columns[at])) {
                text.push_str(&match at {
                    0 => format!("<td{}>{}</td>", class(column), first(field)),
                    _ => format!(
                        "<td{} data-label=\"{}\">{}</td>",
                        class(column),
                        html(&header[at]),
                        html(field)
                    ),
                });
            }
            text.push_str("</tr>");
        }
        text + "</tbody></table>"
    }
}

fn lay_out(fields: &[String], columns: usize) -> Vec<Column> {
    let column = |index| {
        let in_column = fields.iter().skip(index).step_by(columns);
        let body = || in_column.clone().skip(1).filter(|field| !is_blank(field));
        Column {
            width: in_column.clone().map(|f| f.chars().count()).max().unwrap_or(0),
            numeric: body().next().is_some() && body().all(|field| is_number(field)),
        }
    };
    (0..columns).map(column).collect()
}

/// The width of a line with columns of these widths.
fn total(widths: impl Iterator<Item = usize>) -> usize {
    widths.map(|width| width + 2).sum::<usize>().saturating_sub(2)
}

fn push_line(text: &mut String, row: &[String], columns: &[Column]) {
    push_row(text, row, columns, "  ");
    text.truncate(text.trim_end_matches(' ').len());
    text.push('\n');
}

fn push_rule(text: &mut String, columns: &[Column]) {
    let rules: Vec<String> = columns.iter().map(|column| "-".repeat(column.width)).collect();
    text.push_str(&rules.join("  "));
    text.push('\n');
}

fn push_row(text: &mut String, row: &[String], columns: &[Column], between: &str) {
    for (index, (field, column)) in row.iter().zip(columns).enumerate() {
        if index > 0 {
            text.push_str(between);
        }
        let padding = " ".repeat(column.width.saturating_sub(field.chars().count()));
        if column.numeric {
            text.push_str(&padding);
            text.push_str(field);
        } else {
            text.push_str(field);
            text.push_str(&padding);
        }
    }
}

/// Says nothing of a column's kind.
fn is_blank(field: &str) -> bool {
    matches!(field, "" | "-")
}

/// A number, perhaps followed by something: `-5`, `45%`, `282 ± 3`, `[1.2, 3.4]`.
fn is_number(field: &str) -> bool {
    let first = field.split_whitespace().next().unwrap_or_default();
    let bare = first.trim_matches(['[', ']', '(', ')', ',', '%']);
    bare.parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_leaves_out_a_column_that_says_nothing_and_a_file_has_it() {
        let mut table = TextTable::new(&["method", "mean", "P", "d"]);
        table.row(&["a", "1.0", "-", ""]).row(&["b", "-", "-", "-"]);
        let page = table.html();
        assert!(
            page.contains(">mean<") && !page.contains(">P<") && !page.contains(">d<"),
            "{page}"
        );
        assert_eq!(page.matches("<td").count(), 4);
        assert!(table.csv().starts_with("method,mean,P,d\n"));
        assert!(TextTable::new(&["method", "mean"]).html().contains(">mean<"));
    }

    #[test]
    fn numbers_with_signs_units_and_intervals_are_aligned_to_the_right() {
        for numeric in ["-5", "1e-4", "45%", "282 ± 3", "[1.2, 3.4]", "(5)", "NaN"] {
            assert!(is_number(numeric), "{numeric}");
        }
        for text in ["Hopper-v4", "PPO", "a 1", "±"] {
            assert!(!is_number(text), "{text}");
        }
    }

    #[test]
    fn a_missing_number_does_not_turn_its_column_into_text() {
        let mut table = TextTable::new(&["score"]);
        table.row(&["12.5"]).row(&["-"]).row(&[""]);
        assert_eq!(table.plain(), "score\n-----\n 12.5\n    -\n\n");
    }

    #[test]
    fn one_word_among_numbers_makes_a_column_of_text() {
        let mut table = TextTable::new(&["value"]);
        table.row(&["1"]).row(&["auto"]);
        assert_eq!(table.plain(), "value\n-----\n1\nauto\n");
    }

    #[test]
    fn letters_outside_ascii_count_as_one_place() {
        let mut table = TextTable::new(&["λ", "n"]);
        table.row(&["σσσ", "1"]).row(&["aaa", "22"]);
        let widths: Vec<usize> = table.plain().lines().map(|l| l.chars().count()).collect();
        assert_eq!(widths, [7, 7, 7, 7]);
    }

    #[test]
    fn no_line_of_a_fitted_table_is_wider_than_the_terminal_and_no_number_is_broken() {
        let mut table = TextTable::new(&[
            "method",
            "runs",
            "95% interval",
            "P(better than first)",
            "notes",
            "mean",
        ]);
        table.row(&[
            "a2c epgt learning_rate=log:1e-4..5e-3:7",
            "10",
            "[-1234.5, 9876.5]",
            "0.75",
            "some words about it that go on for a while",
            "123.4",
        ]);
        for width in [20, 33, 40, 60, 80, 100, 200] {
            let text = table.fitted(width);
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= width, "{width}: {widest}\n{text}");
            let whole = width < 40 || text.contains("[-1234.5, 9876.5]") && text.contains("123.4");
            assert!(whole, "{width}:\n{text}");
        }
    }

    #[test]
    fn a_line_break_cannot_tear_a_row() {
        let mut table = TextTable::new(&["note"]);
        table.row(&["two\nlines"]);
        assert_eq!(table.markdown().lines().count(), 3);
    }
}

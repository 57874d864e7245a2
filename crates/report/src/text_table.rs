//! Tables of text, for terminals and for Markdown.
//!
//! A column whose fields are numbers is aligned to the right, so that digits stand below each other; any other to the left.

use crate::chart::svg::escape;

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

/// How one column is laid out.
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

    /// Adds a row, as wide as the header. Line breaks become spaces.
    ///
    /// ```
    /// let mut table = epgt_report::text_table::TextTable::new(&["a", "b"]);
    /// table.row(&["1", "x"]).row(&["2", "y"]);
    /// assert_eq!(table.plain().lines().count(), 4);
    /// ```
    pub fn row(&mut self, fields: &[&str]) -> &mut Self {
        assert_eq!(fields.len(), self.columns, "fields in a row of the table");
        let one_line = |field: &&str| field.trim().replace(['\n', '\r', '\t'], " ");
        self.fields.extend(fields.iter().map(one_line));
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
            push_row(&mut text, row, &columns, "  ");
            text.truncate(text.trim_end_matches(' ').len());
            text.push('\n');
            if index == 0 {
                let rules: Vec<String> = columns.iter().map(|c| "-".repeat(c.width)).collect();
                text.push_str(&rules.join("  "));
                text.push('\n');
            }
        }
        text
    }

    /// The table as GitHub's Markdown, aligned in the source as well; a `|` in a field is escaped.
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
        let escaped: Vec<String> = self.fields.iter().map(|f| f.replace('|', "\\|")).collect();
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

    /// The table as HTML; fields of columns of numbers have the class `n`.
    ///
    /// ```
    /// let mut table = epgt_report::text_table::TextTable::new(&["a"]);
    /// table.row(&["<"]);
    /// assert_eq!(table.html(), "<table><tr><th>a</th></tr><tr><td>&lt;</td></tr></table>");
    /// ```
    pub fn html(&self) -> String {
        let columns = lay_out(&self.fields, self.columns);
        let mut text = String::from("<table>");
        for (index, row) in self.fields.chunks(self.columns.max(1)).enumerate() {
            let name = if index == 0 { "th" } else { "td" };
            text.push_str("<tr>");
            for (field, column) in row.iter().zip(&columns) {
                let class = if column.numeric { " class=\"n\"" } else { "" };
                text.push_str(&format!("<{name}{class}>{}</{name}>", escape(field)));
            }
            text.push_str("</tr>");
        }
        text + "</table>"
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

fn push_row(text: &mut String, row: &[String], columns: &[Column], between: &str) {
    for (index, (field, column)) in row.iter().zip(columns).enumerate() {
        if index > 0 {
            text.push_str(between);
        }
        let padding = " ".repeat(column.width - field.chars().count());
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
    fn a_line_break_cannot_tear_a_row() {
        let mut table = TextTable::new(&["note"]);
        table.row(&["two\nlines"]);
        assert_eq!(table.markdown().lines().count(), 3);
    }
}

//! A document in parts: blocks of code, code in running text, links and headings.

use std::path::{Path, PathBuf};

/// The project's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// README.md and what is in docs/, in order.
pub fn documents() -> Vec<String> {
    let folder = std::fs::read_dir(root().join("docs")).expect("the folder of documents");
    let names = folder.map(|entry| {
        entry
            .expect("an entry")
            .file_name()
            .into_string()
            .expect("a plain name")
    });
    let mut names: Vec<String> = names
        .filter(|name| name.ends_with(".md"))
        .map(|name| format!("docs/{name}"))
        .collect();
    names.sort();
    names.insert(0, "README.md".to_string());
    names
}

/// A block of code between two fences.
pub struct Block {
    pub language: String,
    /// The line of the document after the opening fence, counted from 0.
    pub first: usize,
    pub lines: Vec<String>,
}

/// A document that was read.
pub struct Page {
    pub name: String,
    pub lines: Vec<String>,
    pub blocks: Vec<Block>,
    /// The text outside of blocks.
    pub prose: String,
}

impl Page {
    pub fn read(name: &str) -> Self {
        let text = std::fs::read_to_string(root().join(name)).expect(name);
        let lines: Vec<String> = text.lines().map(String::from).collect();
        let (mut blocks, mut prose) = (Vec::new(), String::new());
        let mut rest = lines.iter().enumerate();
        while let Some((number, line)) = rest.next() {
            match line.strip_prefix("```") {
                Some(language) => blocks.push(Block {
                    language: language.to_string(),
                    first: number + 1,
                    lines: rest
                        .by_ref()
                        .map(|(_, line)| line.clone())
                        .take_while(|line| line != "```")
                        .collect(),
                }),
                None => prose.extend([line, "\n"]),
            }
        }
        Self {
            name: name.to_string(),
            lines,
            blocks,
            prose,
        }
    }

    /// What stands between backticks in running text.
    pub fn code_in_prose(&self) -> Vec<String> {
        let paragraphs = self.prose.split("\n\n").map(|paragraph| paragraph.replace('\n', " "));
        let code = |text: String| text.split('`').skip(1).step_by(2).map(String::from).collect::<Vec<_>>();
        paragraphs.flat_map(code).collect()
    }

    /// Where its links lead.
    pub fn links(&self) -> impl Iterator<Item = &str> {
        self.prose
            .split("](")
            .skip(1)
            .map(|rest| rest.split(')').next().unwrap_or(rest))
    }

    /// The names by which links reach its headings: small letters, hyphens for blanks, and nothing else but letters and
    /// digits.
    pub fn anchors(&self) -> Vec<String> {
        let headings = self.prose.lines().filter(|line| line.starts_with('#'));
        let name = |line: &str| {
            let text = line.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
            text.chars()
                .filter(|letter| letter.is_alphanumeric() || "-_".contains(*letter))
                .collect()
        };
        headings.map(name).collect()
    }
}

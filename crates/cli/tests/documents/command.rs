//! A command of a document: its words, what it is cut down to, and what of its output is a matter of the machine.

/// The tasks whose steps are slow: they get few, and no evaluations, which play whole games.
const GAMES: [&str; 2] = ["NoFrameskip-v4", "ALE/"];

/// One command line.
#[derive(Clone, PartialEq)]
pub struct Line {
    /// The program and its arguments, without quotes.
    pub words: Vec<String>,
    /// What comes after them, for the shell: a pipe, a redirection.
    pub tail: String,
}

impl Line {
    /// Reads a line as a shell would, as far as documents need it: blanks, quotes, comments, `>` and `|`.
    pub fn parse(text: &str) -> Self {
        let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
        let mut tail = "";
        for (at, letter) in text.char_indices() {
            match (letter, quote) {
                (_, Some(open)) if letter == open => quote = None,
                ('"' | '\'', None) => {
                    quote = Some(letter);
                    word.get_or_insert_default();
                }
                (' ', None) => words.extend(word.take()),
                ('#', None) if word.is_none() => break,
                ('>' | '|', None) if word.is_none() => {
                    tail = text[at..].split(" # ").next().unwrap_or_default().trim_end();
                    break;
                }
                _ => word.get_or_insert_default().push(letter),
            }
        }
        words.extend(word);
        let mut line = Self {
            words,
            tail: tail.to_string(),
        };
        // From a checkout the program is run like this.
        if line
            .words
            .starts_with(&["cargo", "run", "--release", "--"].map(String::from))
        {
            line.words.splice(..4, ["epgt".to_string()]);
        }
        line
    }

    /// The line for a shell.
    pub fn shell(&self) -> String {
        let quoted = self
            .words
            .iter()
            .map(|word| format!("'{}'", word.replace('\'', r"'\''")));
        format!("{} {}", quoted.collect::<Vec<_>>().join(" "), self.tail)
    }

    pub fn program(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    /// The words after the program that say which of its commands is meant.
    pub fn command(&self) -> Vec<&str> {
        let word = |i: usize| self.words.get(i).map_or("", String::as_str);
        match (word(1), word(2)) {
            ("experiment", second) => vec!["experiment", second],
            (first, _) => vec![first],
        }
    }

    pub fn has(&self, word: &str) -> bool {
        self.words.iter().any(|other| other == word)
    }

    /// Whether a word stands for what a reader is to put there: DIR, NAME, gym:ID, `..`.
    pub fn has_placeholder(&self) -> bool {
        let capitals =
            |part: &str| !part.is_empty() && part != "ALE" && part.chars().all(|letter| letter.is_ascii_uppercase());
        let parts = |word: &String| word.contains("..") || word.split([':', '=', '/', ',', '_']).any(capitals);
        self.words[1..].iter().any(parts)
    }

    /// Sets an option, in place of what is there.
    fn set(&mut self, option: &str, value: &str) {
        self.remove(option);
        self.words.extend([option.to_string(), value.to_string()]);
    }

    fn remove(&mut self, option: &str) {
        if let Some(at) = self.words.iter().position(|word| word == option) {
            self.words.drain(at..(at + 2).min(self.words.len()));
        }
    }

    /// The same command with less to do.
    pub fn shortened(&self) -> Self {
        let mut line = self.clone();
        let game = self
            .words
            .iter()
            .any(|word| GAMES.iter().any(|game| word.contains(game)));
        match self.command()[..] {
            ["train"] if !self.has("--resume") && !self.has("--print-config") && !self.has("--help") => {
                line.set("--steps", if game { "1024" } else { "8192" });
                if game {
                    line.words.extend(["--set", "eval_interval=0"].map(String::from));
                }
                if self.has("pbt") || self.has("pb2") {
                    line.words.extend(["--set", "population.ready=4096"].map(String::from));
                }
            }
            ["eval"] if game => line.set("--episodes", "1"),
            ["experiment", "run"] => line.set("--scale", "0.01"),
            ["watch"] => line.set("--idle", "0"),
            ["bench"] => {
                line.set("--repeat", "1");
                line.set("--steps", "2000");
            }
            _ => {}
        }
        line
    }

    /// What checks the command's names and settings without doing its work.
    pub fn checked(&self) -> Self {
        let mut line = self.clone();
        match self.command()[..] {
            ["train"] if !self.has("--help") => line.words.push("--print-config".to_string()),
            ["experiment", "run"] => {
                line.words[2] = "cells".to_string();
                line.remove("--only");
            }
            ["bench"] => {
                for option in ["--peer", "--peer-steps", "--repeat"] {
                    line.remove(option);
                }
                line.words.push("--simulator-only".to_string());
            }
            _ => {}
        }
        line
    }
}

/// A line of output without what the machine decides: seconds, speeds, sizes of files.
pub fn mask(line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let is_number = |word: &str| {
        word.chars()
            .all(|letter| letter.is_ascii_digit() || ".kM".contains(letter))
            && !word.is_empty()
    };
    let masked = words.iter().enumerate().map(|(i, word)| {
        let measured = matches!(words.get(i + 1), Some(&("s" | "kB" | "MB"))) && is_number(word);
        match word.trim_start_matches('(').split_once("/s") {
            Some((speed, rest)) if is_number(speed) => format!("#/s{rest}"),
            _ if measured => "#".to_string(),
            _ => word.to_string(),
        }
    });
    masked.collect::<Vec<_>>().join(" ")
}

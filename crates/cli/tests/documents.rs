//! README.md and docs/ are true: their commands are run as they stand there, in order, in one directory for each
//! document, and print what is shown; what they name in running text exists; their links lead somewhere.
//!
//! Commands of `sh` blocks are run with less to do ([`Line::shortened`]). A `text` block whose first line is `$
//! COMMAND` is a sample: the command is run in full, and what it prints is compared. With the variable
//! EPGT_WRITE_SAMPLES set to 1, samples that differ are written anew. Bits of a training run depend on the width of the
//! processor's vectors, so samples are those of AVX-512 and are compared where there is such a processor.
//!
//! The variable EPGT_PYTHON names a Python interpreter that has Gymnasium and TensorBoard; without it, no command is
//! run.

#[path = "documents/command.rs"]
mod command;
mod common;
#[path = "documents/page.rs"]
mod page;

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use command::{Line, mask};
use common::{Ended, Place};
use epgt_testing::needs;
use page::{Page, documents, root};

/// The programs of blocks whose commands are run.
const RUN: [&str; 2] = ["epgt", "tensorboard"];

/// Commands of blocks that are not run, and why.
const NOT_RUN: [(&str, &str); 6] = [
    ("tools/test", "it runs this test"),
    ("tools/wheel", "tools/test-wheel runs it"),
    (
        "pip",
        "tools/test-wheel installs what docs/python.md has the reader install",
    ),
    (
        "tools/release",
        "it builds for minutes, and tries out itself what it has built",
    ),
    ("tools/package", "it builds every package for minutes"),
    ("cargo", "examples are run by the tests of their crates"),
];

/// What begins with the program's name in running text and is no command, and what it is.
const NO_COMMANDS: [(&str, &str); 3] = [
    (
        "epgt --preset paper",
        "a row of the speed tables: the scheduler epgt with the preset paper",
    ),
    ("epgt delta", "a method of an experiment"),
    ("epgt paper", "a method of an experiment"),
];

/// What a document presumes: commands that were run before, as another document says.
const PRESUMED: [(&str, &str); 1] = [("docs/runs.md", "epgt train CartPole-v1")];

/// The module that docs/bridge.md has the reader bring.
const MY_PACKAGE: &str = "import gymnasium\nfrom corridor import Corridor\ngymnasium.register('MyEnv-v0', Corridor)\n";

/// `tensorboard` serves until it is stopped; this one reads the same files and ends.
const TENSORBOARD: &str = "exec \"$EPGT_PYTHON\" -m tensorboard.main --inspect \"$@\"\n";

/// The real peer of the bench takes gigabytes; this one has trained at once. What else it is asked, Python answers.
const PEER: &str = r#"case "$3" in
versions) echo '{"versions": "a stand-in"}' ;;
train) echo '{"steps": 2000, "cpu_seconds": 1.0, "wall_seconds": 1.0, "peak_memory_mb": 700.0}' ;;
*) exec "$EPGT_REAL_PYTHON" "$@" ;;
esac
"#;

/// A directory in which the commands of one document are run.
struct Reader {
    place: Place,
    page: Page,
}

impl Reader {
    /// What the reader of the document has before its first command.
    fn new(name: &str) -> Self {
        let (place, page) = (Place::new(), Page::read(name));
        place.write("corridor.py", common::corridor());
        place.write("my_package.py", MY_PACKAGE);
        std::fs::create_dir(place.path("bin")).expect("a directory");
        symlink(env!("CARGO_BIN_EXE_epgt"), place.path("bin/epgt")).expect("a link");
        executable(&place, "bin/tensorboard", TENSORBOARD);
        executable(&place, "bin/python-with-peer", PEER);
        let reader = Self { place, page };
        let presumed = PRESUMED.iter().filter(|(document, _)| *document == name);
        presumed.for_each(|(_, text)| drop(reader.run(&Line::parse(text))));
        reader
    }

    /// Runs a command line, which must work; returns what a terminal would show.
    fn run(&self, line: &Line) -> String {
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new("bash");
        command.args(["-o", "pipefail", "-c", &format!("exec 2>&1; {}", line.shell())]);
        command.current_dir(self.place.path(".")).stdin(Stdio::null());
        command.env("PATH", format!("{}:{path}", self.place.path("bin").display()));
        command.env("XDG_CACHE_HOME", cache());
        if line.has("--peer") {
            command.env("EPGT_REAL_PYTHON", std::env::var_os("EPGT_PYTHON").unwrap_or_default());
            command.env("EPGT_PYTHON", self.place.path("bin/python-with-peer"));
        }
        if line.command() == ["setup"] {
            // What the tests have would be found to be there already.
            command.env_remove("PYTHONPATH");
        }
        let begun = Instant::now();
        let ended = Ended::of(command.output().expect("bash starts"));
        println!(
            "{:5.1} s  {}: {}",
            begun.elapsed().as_secs_f64(),
            self.page.name,
            line.shell()
        );
        assert_eq!(
            ended.code,
            Some(0),
            "{}: {}\n{}",
            self.page.name,
            line.shell(),
            ended.stdout
        );
        ended.stdout
    }

    /// Runs all commands and compares all samples; returns the samples that differ, as the block's first line and its
    /// new content.
    fn read(&self) -> Vec<(usize, usize, Vec<String>)> {
        let samples: Vec<Line> = self.page.blocks.iter().filter_map(sample).collect();
        let mut differ = Vec::new();
        for block in &self.page.blocks {
            if let Some(line) = sample(block) {
                let printed = self.run(&line);
                // A slow machine shows more of the progress than a fast one.
                let printed: Vec<String> = printed
                    .lines()
                    .filter(|line| !line.contains(" left  "))
                    .map(String::from)
                    .collect();
                let masked = |lines: &[String]| lines.iter().map(|line| mask(line)).collect::<Vec<_>>();
                if masked(&block.lines[1..]) != masked(&printed) {
                    differ.push((block.first + 1, block.lines.len() - 1, printed));
                }
            }
            for text in block
                .lines
                .iter()
                .filter(|line| block.language == "sh" && !line.is_empty())
            {
                let line = Line::parse(text);
                // Of some a sample follows.
                if RUN.contains(&line.program()) && !samples.contains(&line) {
                    self.run(&line.shortened());
                }
            }
        }
        differ
    }
}

/// Writes a script that can be run.
fn executable(place: &Place, name: &str, script: &str) {
    let path = place.write(name, &format!("#!/bin/sh\n{script}"));
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("an executable");
}

/// The command whose output the block shows.
fn sample(block: &page::Block) -> Option<Line> {
    let line = block.lines.first()?.strip_prefix("$ ")?;
    Some(Line::parse(line))
}

/// What is downloaded is downloaded once.
fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("documents-cache")
}

/// Whether training runs here as where the samples were made.
fn has_the_vectors_of_the_samples() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::is_x86_feature_detected!("avx512f") && std::is_x86_feature_detected!("avx512dq");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// Runs the commands of a document and compares its samples, or writes them anew.
fn is_true(name: &str) {
    let reader = Reader::new(name);
    let differ = reader.read();
    if !has_the_vectors_of_the_samples() {
        println!("not compared: samples are those of a processor with AVX-512");
    } else if std::env::var_os("EPGT_WRITE_SAMPLES").is_some_and(|value| value == "1") {
        let mut lines = reader.page.lines;
        for (first, count, printed) in differ.into_iter().rev() {
            lines.splice(first..first + count, printed);
        }
        std::fs::write(root().join(name), lines.join("\n") + "\n").expect("the document is written");
    } else if let Some((first, count, printed)) = differ.first() {
        let shown = reader.page.lines[*first..first + count].join("\n");
        panic!(
            "{name}, line {}: the sample shows\n{shown}\nand the program prints\n{}\nEPGT_WRITE_SAMPLES=1 writes it anew",
            first + 1,
            printed.join("\n")
        );
    }
}

#[needs(python)]
#[test]
fn the_commands_of_the_readme_work_and_print_what_it_shows() {
    is_true("README.md");
}

#[needs(python)]
#[test]
fn the_commands_of_the_other_documents_work_and_print_what_they_show() {
    documents()
        .iter()
        .filter(|name| *name != "README.md")
        .for_each(|name| is_true(name));
}

#[needs(python)]
#[test]
fn commands_in_running_text_have_names_and_settings_that_exist() {
    let place = Place::new();
    for page in documents().iter().map(|name| Page::read(name)) {
        for text in page.code_in_prose().iter().filter(|text| text.starts_with("epgt ")) {
            let line = Line::parse(text);
            if NO_COMMANDS.iter().any(|(name, _)| *name == text) {
                continue;
            }
            let told = |ended: &Ended| format!("{}: `{text}`: {ended:?}", page.name);
            let command = line.command();
            let help = place.run(&[&command[..], &["--help"]].concat());
            assert_eq!(help.code, Some(0), "{}", told(&help));
            for option in line.words.iter().filter(|word| word.starts_with("--")) {
                assert!(help.stdout.contains(option.as_str()), "{} of {}", option, told(&help));
            }
            // What is left out, or stands for something else, cannot be checked any further.
            let whole = line.words.len() > command.len() + 1 && !line.has_placeholder();
            if !whole || !["train", "experiment", "bench", "tasks"].contains(&command[0]) {
                continue;
            }
            let checked = line.checked();
            let ended = place.run(&checked.words[1..].iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(ended.code, Some(0), "{}", told(&ended));
            let only = line.words.iter().skip_while(|word| *word != "--only").nth(1);
            for part in only.iter().flat_map(|only| only.split(',')) {
                assert!(ended.stdout.contains(part), "there is no {part}: {}", told(&ended));
            }
        }
    }
}

#[test]
fn every_command_of_a_block_is_run_or_listed_with_the_reason() {
    let pages: Vec<Page> = documents().iter().map(|name| Page::read(name)).collect();
    let blocks = || {
        pages
            .iter()
            .flat_map(|page| page.blocks.iter().map(|block| (&page.name, block)))
    };
    for (name, block) in blocks().filter(|(_, block)| block.language == "sh") {
        for line in block
            .lines
            .iter()
            .filter(|line| !line.is_empty())
            .map(|line| Line::parse(line))
        {
            let listed = NOT_RUN.iter().any(|(program, _)| *program == line.program());
            assert!(
                listed || RUN.contains(&line.program()),
                "{name}: nobody runs `{}`",
                line.shell()
            );
        }
    }
    // A list that names what is no longer there hides what comes to be there.
    let lists = NOT_RUN.iter().chain(&NO_COMMANDS).map(|(text, _)| text);
    for text in lists.chain(PRESUMED.iter().map(|(name, _)| name)) {
        let named = pages
            .iter()
            .any(|page| page.name == *text || page.lines.iter().any(|line| line.contains(text)));
        assert!(named, "no document names {text} any more");
    }
}

#[test]
fn other_programs_that_documents_name_are_there() {
    for page in documents().iter().map(|name| Page::read(name)) {
        let blocks = page
            .blocks
            .iter()
            .filter(|block| block.language == "sh")
            .flat_map(|block| &block.lines);
        for line in blocks
            .cloned()
            .chain(page.code_in_prose())
            .map(|text| Line::parse(&text))
        {
            let after = |option: &str| line.words.iter().skip_while(|word| *word != option).nth(1);
            let mut files = Vec::new();
            if line.program().starts_with("tools/") {
                files.push(line.program().to_string());
                let script = root().join(line.program());
                let read = Command::new("bash")
                    .arg("-n")
                    .arg(script)
                    .status()
                    .expect("bash starts");
                assert!(read.success(), "{} cannot be read by bash", line.program());
            } else if line.program() == "cargo" {
                files.extend(after("--path").map(|path| format!("{path}/Cargo.toml")));
                let package = after("-p").map(|name| name.trim_start_matches("epgt-"));
                for (option, folder) in [("--bench", "benches"), ("--example", "examples"), ("--test", "tests")] {
                    let named = after(option).zip(package);
                    files.extend(named.map(|(name, at)| format!("crates/{at}/{folder}/{name}.rs")));
                }
                files.extend(package.map(|at| format!("crates/{at}/Cargo.toml")));
                assert!(
                    !files.is_empty() || line.words == ["cargo", "test"],
                    "{}: what does `{}` need?",
                    page.name,
                    line.words.join(" ")
                );
            }
            for file in files {
                assert!(root().join(&file).is_file(), "{} names {file}", page.name);
            }
        }
    }
}

#[test]
fn nothing_is_installed_for_the_whole_machine_unasked() {
    let place = Place::new();
    for folder in ["bin", "tools", ".python"] {
        std::fs::create_dir(place.path(folder)).expect("a directory");
    }
    for name in ["tools/test", "tools/python", "tools/requirements.txt"] {
        std::fs::copy(root().join(name), place.path(name)).expect("a copy");
    }
    std::fs::copy(
        place.path("tools/requirements.txt"),
        place.path(".python/requirements.txt"),
    )
    .expect("a copy");
    // A machine with no browser, on which nothing is really called.
    for name in ["bash", "dirname", "cmp", "mktemp", "cat", "rm"] {
        let found = std::env::var("PATH").unwrap_or_default();
        let found = found
            .split(':')
            .map(|folder| Path::new(folder).join(name))
            .find(|path| path.is_file());
        symlink(found.expect(name), place.path("bin").join(name)).expect("a link");
    }
    for name in ["bin/cargo", "bin/apt-get", "tools/test-wheel"] {
        executable(
            &place,
            name,
            &format!("echo {name} \"$@\" EPGT_BROWSER=$EPGT_BROWSER >>called\n"),
        );
    }
    let called = |variables: &[(&str, &str)]| {
        let mut command = Command::new(place.path("bin/bash"));
        command
            .arg("tools/test")
            .current_dir(place.path("."))
            .env_remove("EPGT_BROWSER")
            .env_remove("EPGT_INSTALL_BROWSER");
        let ended = Ended::of(
            command
                .env("PATH", place.path("bin"))
                .envs(variables.to_vec())
                .output()
                .expect("bash starts"),
        );
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let called = std::fs::read_to_string(place.path("called")).expect("what was called");
        std::fs::remove_file(place.path("called")).expect("a file");
        (called, ended.stdout)
    };
    let (plain, said) = called(&[]);
    assert!(
        plain.contains("bin/cargo test --workspace --no-run EPGT_BROWSER=none\n") && !plain.contains("apt-get"),
        "{plain}"
    );
    assert!(
        said.contains("there is no browser") && said.contains("EPGT_INSTALL_BROWSER=1"),
        "{said}"
    );
    let (asked, said) = called(&[("EPGT_INSTALL_BROWSER", "1")]);
    assert!(asked.contains("bin/apt-get -qq install -y chromium"), "{asked}");
    assert!(
        said.contains("installing the package chromium with apt-get, for all users"),
        "{said}"
    );
}

#[test]
fn links_between_documents_lead_to_files_and_headings() {
    for name in documents()
        .iter()
        .map(String::as_str)
        .chain(["ARCHITECTURE.md", "CHANGELOG.md"])
    {
        let page = Page::read(name);
        for link in page.links().filter(|link| !link.contains("://")) {
            let (file, anchor) = link
                .split_once('#')
                .map_or((link, None), |(file, anchor)| (file, Some(anchor)));
            let folder = Path::new(name).parent().unwrap_or(Path::new(""));
            let target = if file.is_empty() {
                PathBuf::from(name)
            } else {
                folder.join(file)
            };
            assert!(root().join(&target).exists(), "{name}: {link} leads nowhere");
            if let Some(anchor) = anchor {
                let page = Page::read(target.to_str().expect("a plain name"));
                assert!(
                    page.anchors().iter().any(|name| name == anchor),
                    "{name}: {link} has no such heading"
                );
            }
        }
    }
}

//! One page that shows what runs have come to, and its figures and tables as files of their own.
//!
//! It goes from what a reader asks to what a reviewer checks: the question, who is ahead and whether that can be claimed,
//! the curves, the table, what was scheduled, and then the details, the settings and where everything comes from.

mod figures;
mod memory;
mod paper;
mod settings;
mod signal;

use std::fs;
use std::path::{Path, PathBuf};

use epgt_report::aggregate::normalised;
use epgt_report::chart::{Figure, Panel, Rows, png, svg};
use epgt_report::numbers::counted;
use epgt_report::page::{GENERATOR, Page};
use epgt_report::statistics::LEAST_SCORES;
use epgt_report::text_table::TextTable;
use epgt_train::Provenance;
use epgt_train::artifact::{reason, write_atomically};

use crate::comparison::{self, Comparison, Summary};
use crate::error::ExperimentError;
use crate::groups::{self, Collection, Group, Task};
use crate::measure::Measure;
use crate::{runs, verdict};
use figures::Picture;
pub use paper::{Format, Paper, Width};

/// What [`write()`] has made.
pub struct Written {
    /// The page.
    pub page: PathBuf,
    /// The folder of pictures and tables.
    pub folder: PathBuf,
    /// Runs shown.
    pub runs: usize,
    /// Figures, each as SVG and PNG.
    pub pictures: usize,
    /// Tables, each as CSV and Markdown.
    pub tables: usize,
    /// Files for a paper.
    pub printed: usize,
    /// A sentence for each run that could not be read or whose seed was there already.
    pub left_out: Vec<String>,
}

/// What a report is asked for besides its runs.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The page; `report.html` in the first directory where it is not named.
    pub out: Option<PathBuf>,
    /// Its title.
    pub title: Option<String>,
    /// What the runs are to show, such as an experiment's description.
    pub question: Option<String>,
    /// Sentences for the top of the page, such as that budgets were scaled.
    pub notes: Vec<String>,
    /// Figures for a paper.
    pub paper: Option<Paper>,
}

/// Writes the report on all runs below some directories, and its pictures and tables into the folder of the same name beside it.
pub fn write(directories: &[PathBuf], request: &Request) -> Result<Written, ExperimentError> {
    let (found, broken) = runs::find(directories)?;
    if found.is_empty() {
        return Err(ExperimentError::NoRun {
            directories: directories.to_vec(),
            broken: broken.into_iter().next(),
        });
    }
    let collection = groups::collect(found, directories);
    let count = all_groups(&collection).map(|group| group.runs.len()).sum();
    let page = match &request.out {
        Some(path) => path.clone(),
        None => directories[0].join("report.html"),
    };
    let folder = folder_of(&page);
    refuse_foreign(&page, &folder)?;
    let mut report = Report {
        page: Page::new(request.title.as_deref().unwrap_or("What the runs have come to")),
        figures: Vec::new(),
        tables: Vec::new(),
    };
    report.introduce(&collection, count, request);
    report.suite(&collection);
    let (mut maps, problems) = memory::maps(&collection.tasks);
    for (task, maps) in collection.tasks.iter().zip(&mut maps) {
        report.task(task, std::mem::take(maps));
    }
    for sentence in &problems {
        report.page.note(sentence);
    }
    report.settings(&collection);
    report.provenance(&collection, &broken);

    let save = |path: &Path, bytes: &[u8]| write_atomically(path, bytes);
    // The page first: where it lies, the folder beside it is the program's own.
    save(&page, report.page.finish().as_bytes())?;
    fs::create_dir_all(&folder).map_err(|error| ExperimentError::system("make", &folder, reason(&error)))?;
    for picture in &report.figures {
        let drawing = picture.figure.for_screen();
        let file = |ending: &str| folder.join(format!("{}.{ending}", picture.file));
        save(&file("svg"), svg::standalone(&drawing, false).as_bytes())?;
        save(&file("png"), &png::encode(&drawing, png::SCREEN)?)?;
    }
    for (name, table) in &report.tables {
        save(&folder.join(format!("{name}.csv")), table.csv().as_bytes())?;
        save(&folder.join(format!("{name}.md")), table.markdown().as_bytes())?;
    }
    let printed = match &request.paper {
        Some(paper) => paper.print(&report.figures)?,
        None => 0,
    };
    Ok(Written {
        page,
        folder,
        runs: count,
        pictures: report.figures.len(),
        tables: report.tables.len(),
        printed,
        left_out: broken.into_iter().chain(collection.twice).collect(),
    })
}

/// The folder that belongs to a page, so that two pages beside each other have their own: its name without the ending,
/// `report` where it has none.
fn folder_of(page: &Path) -> PathBuf {
    match page.extension() {
        Some(_) => page.with_extension(""),
        None => page.with_file_name("report"),
    }
}

fn all_groups(collection: &Collection) -> impl Iterator<Item = &Group> {
    collection.tasks.iter().flat_map(|task| &task.groups)
}

/// Refuses to write over a page that this program did not make, or into a folder without such a page that is not empty.
fn refuse_foreign(page: &Path, folder: &Path) -> Result<(), ExperimentError> {
    let foreign = |path: &Path| Err(ExperimentError::ForeignPage(path.to_path_buf()));
    match fs::read(page) {
        Ok(bytes) if !String::from_utf8_lossy(&bytes).contains(GENERATOR) => foreign(page),
        Ok(_) => Ok(()),
        Err(_) => match fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
            true => foreign(folder),
            false => Ok(()),
        },
    }
}

/// Bytes of a file's name without its ending; most file systems take 255.
const LONGEST_FILE_NAME: usize = 150;

/// A name as a file has it, of letters, digits and a few signs, and not too long for any file system.
fn file_part(name: &str) -> String {
    let letter = |c: char| match c.is_alphanumeric() || "-_.".contains(c) {
        true => c,
        false => '-',
    };
    let mut part = String::new();
    for letter in name.chars().map(letter) {
        if part.len() + letter.len_utf8() > LONGEST_FILE_NAME {
            break;
        }
        part.push(letter);
    }
    part
}

/// The name with what sets it apart from those that are taken: two methods may differ in what a file's name cannot
/// hold.
fn free_name<'a>(name: &str, taken: impl Iterator<Item = &'a str> + Clone) -> String {
    let mut free = file_part(name);
    while taken.clone().any(|other| other == free) {
        free.push('_');
    }
    free
}

/// A page in the making, with what also becomes files.
struct Report {
    page: Page,
    figures: Vec<Picture>,
    tables: Vec<(String, TextTable)>,
}

impl Report {
    fn introduce(&mut self, collection: &Collection, runs: usize, request: &Request) {
        match &request.question {
            Some(question) => self.page.question(question),
            None if collection.methods.len() > 1 => self.page.question("Which of these methods earns more?"),
            None => self.page.question("What has this method earned?"),
        };
        for sentence in &request.notes {
            self.page.paragraph(sentence);
        }
        self.page.note(&format!(
            "{} of {} on {}. Intervals are 95% bootstrap intervals over seeds, given from {LEAST_SCORES} runs on; colours and line \
             patterns stand for the same method throughout.",
            counted(runs, "run", "runs"),
            counted(collection.methods.len(), "method", "methods"),
            counted(collection.tasks.len(), "task", "tasks")
        ));
        let all = all_groups(collection).flat_map(|group| &group.runs);
        let unfinished = all.filter(|run| run.record.result.is_none()).count();
        if unfinished > 0 {
            self.page.note(&format!(
                "{} unfinished: in the curves, but not in the scores.",
                counted(unfinished, "run is", "runs are")
            ));
        }
        if let Some(sentence) = settings::shared(collection) {
            self.page.note(&sentence);
        }
    }

    /// All tasks together, for the methods that have scores on each of them.
    fn suite(&mut self, collection: &Collection) {
        if collection.tasks.len() < 2 {
            return;
        }
        let of = |method: usize| -> Option<Vec<Vec<f64>>> {
            let groups = collection
                .tasks
                .iter()
                .map(|task| task.groups.iter().find(|group| group.index == method));
            let scores = groups.map(|group| {
                group
                    .map(|group| group.scores(Measure::Final))
                    .filter(|s| !s.is_empty())
            });
            scores.collect()
        };
        let kept: Vec<(usize, Vec<Vec<f64>>)> = (0..collection.methods.len())
            .filter_map(|method| Some((method, of(method)?)))
            .collect();
        // One method alone has nothing that its scores could be held against.
        if kept.len() < 2 {
            return;
        }
        let left_out: Vec<&str> = (0..collection.methods.len())
            .filter(|method| kept.iter().all(|(at, _)| at != method))
            .map(|method| collection.methods[method].as_str())
            .collect();
        let names: Vec<(&str, usize)> = kept
            .iter()
            .map(|(at, _)| (collection.methods[*at].as_str(), *at))
            .collect();
        let scaled = normalised(&kept.into_iter().map(|(_, scores)| scores).collect::<Vec<_>>());
        let (table, headline, rows) = comparison::suite(&names, &scaled);
        let label = &format!(
            "normalised {}",
            Measure::Final.title_for(all_groups(collection).flat_map(Group::episodes))
        );
        self.page.heading("All tasks together").verdict(&headline);
        self.page
            .note("Scores are normalised per task: 0 is the worst of these runs, 1 the best.");
        if !left_out.is_empty() {
            self.page.note(&format!(
                "Without a score on every task, and so not here: {}.",
                left_out.join(", ")
            ));
        }
        let note = match rows.iter().any(|row| row.interval.is_known()) {
            true => "dot: the mean of the middle half of all scores; bar: its 95% interval",
            false => "dot: the mean of the middle half of all scores",
        };
        let label_of_rows = label.clone();
        let bars = Figure {
            note: note.to_string(),
            ..Figure::of(
                "Interquartile mean over tasks and seeds",
                vec![Panel::Rows(Rows {
                    label: label_of_rows,
                    rows,
                })],
            )
        };
        self.show(figures::learning_by_task(&collection.tasks).into_iter().collect());
        let profile = figures::profile("Performance profile over all tasks", label, "profile", &names, &scaled);
        self.show(vec![Picture::new("scores-all-tasks".to_string(), bars), profile]);
        self.tabulate_methods("scores-all-tasks".to_string(), table, &names);
    }

    fn task(&mut self, task: &Task, maps: Vec<Picture>) {
        let ranked = comparison::ranked(task, Measure::Final);
        self.page.heading(&task.name).verdict(&verdict::of_task(&ranked));
        self.show(figures::learning(task));
        let mut scores = Vec::new();
        // One number is said, not drawn.
        if ranked.iter().map(|summary| summary.scores.len()).sum::<usize>() > 1 {
            scores.push(figures::scores(task, Measure::Final, &ranked));
        }
        if ranked.len() > 1 {
            scores.push(profile_of(task, &ranked));
        }
        self.show(scores);
        let names: Vec<(&str, usize)> = task
            .groups
            .iter()
            .map(|group| (group.name.as_str(), group.index))
            .collect();
        for measure in Measure::ALL {
            let ranked = comparison::ranked(task, measure);
            if ranked.is_empty() {
                continue;
            }
            let fold = measure != Measure::Final;
            let caption = format!("Table: {}", task.measure(measure));
            match fold {
                true => self.page.fold(&caption),
                false => self.page.note(&caption),
            };
            let table = comparison::table(&ranked, 0, Comparison::ReferenceOverEach);
            self.tabulate_methods(format!("scores-{}-{}", measure.slug(), task.name), table, &names);
            if fold {
                self.page.end_fold();
            }
        }
        self.part("What was scheduled", figures::schedules(task));
        let known = signal::sentences(task);
        if !known.is_empty() {
            self.page.fold("What the returns say of the choices");
            for sentence in &known {
                self.page.note(sentence);
            }
            self.page.end_fold();
        }
        self.part("How far the steps moved the policy", figures::steps(task));
        self.part(
            "The hyper-agent",
            figures::hyper_agent(task).into_iter().chain(maps).collect(),
        );
    }

    fn part(&mut self, title: &str, pictures: Vec<Picture>) {
        if !pictures.is_empty() {
            self.page.subheading(title);
            self.show(pictures);
        }
    }

    fn show(&mut self, pictures: Vec<Picture>) {
        let figures: Vec<Figure> = pictures.iter().map(|picture| picture.figure.clone()).collect();
        self.page.figures(&figures);
        for mut picture in pictures {
            picture.file = free_name(&picture.file, self.figures.iter().map(|other| other.file.as_str()));
            self.figures.push(picture);
        }
    }

    fn tabulate(&mut self, name: String, table: TextTable) {
        self.page.table(&table);
        self.keep(name, table);
    }

    fn tabulate_methods(&mut self, name: String, table: TextTable, methods: &[(&str, usize)]) {
        let number = |name: &str| methods.iter().find(|method| method.0 == name).map(|method| method.1);
        self.page.method_table(&table, number);
        self.keep(name, table);
    }

    fn keep(&mut self, name: String, table: TextTable) {
        let name = free_name(&name, self.tables.iter().map(|(other, _)| other.as_str()));
        self.tables.push((name, table));
    }

    /// The methods with all that they were set to, and where they differ.
    fn settings(&mut self, collection: &Collection) {
        self.page.heading("Methods and settings");
        let of = |index: usize| settings::method(collection, index);
        let told: Vec<(String, String)> = (0..collection.methods.len()).map(of).collect();
        let methods = collection.methods.iter().zip(&told).enumerate();
        let methods =
            methods.map(|(index, (name, (said, whole)))| (name.as_str(), index, said.as_str(), whole.as_str()));
        self.page.methods(methods);
        let several = collection.tasks.len() > 1;
        for task in &collection.tasks {
            let (differences, scheduled) = (settings::differences(task), settings::scheduled(task));
            if differences.is_none() && scheduled.is_empty() {
                continue;
            }
            // Of several tasks much is told several times, so each is one click away.
            if several {
                self.page.fold(&format!("Where the methods differ on {}", task.name));
            }
            if let Some(table) = differences {
                if !several {
                    self.page.note("Where the methods differ:");
                }
                self.tabulate(format!("settings-{}", task.name), table);
            }
            for sentence in &scheduled {
                self.page.note(sentence);
            }
            if several {
                self.page.end_fold();
            }
        }
        let shared = settings::all_shared(collection);
        if !shared.is_empty() {
            self.page
                .fold("All settings that the runs share")
                .verbatim(&shared)
                .end_fold();
        }
        if let Some(table) = settings::costs(&collection.tasks) {
            self.page.subheading("What a run costs").note(
                "Means over runs. Memory is the peak of the process that made a run: of other runs too, where it made several.",
            );
            self.tabulate("costs".to_string(), table);
        }
    }

    /// Who made this, of what, and how it is made again.
    fn provenance(&mut self, collection: &Collection, broken: &[String]) {
        self.page.heading("Where this comes from");
        let here = Provenance::now();
        self.page.paragraph(&format!(
            "Written by {} on {}. {}",
            here.program(),
            here.machine(),
            settings::makers(&collection.tasks)
        ));
        self.page.moment("Written at", &here.date);
        let commands = settings::commands(&collection.tasks, &here.command);
        self.page
            .fold("The commands that make it again")
            .verbatim(&commands.join("\n"))
            .end_fold();
        let unfinished: Vec<_> = all_groups(collection)
            .flat_map(|group| &group.runs)
            .filter(|run| run.record.result.is_none())
            .collect();
        let twice = &collection.twice;
        let mut told = Vec::new();
        if !unfinished.is_empty() {
            told.push(format!(
                "{} unfinished, in the curves but not in the scores",
                counted(unfinished.len(), "run", "runs")
            ));
        }
        if !broken.is_empty() {
            told.push(format!("{} unreadable, left out", counted(broken.len(), "run", "runs")));
        }
        if !twice.is_empty() {
            told.push(format!(
                "{} with a seed that is there already, left out",
                counted(twice.len(), "run", "runs")
            ));
        }
        if told.is_empty() {
            return;
        }
        self.page.fold(&told.join("; "));
        for run in unfinished {
            let place = run.record.directory.display();
            let why = run
                .failure()
                .map(|sentence| format!(": {sentence}"))
                .unwrap_or_default();
            let (step, seed) = (run.steps(), &run.record.seed);
            self.page
                .note(&format!("{place} has come to step {step:.0} (seed {seed}){why}"));
        }
        for sentence in broken.iter().chain(twice) {
            self.page.note(sentence);
        }
        self.page.end_fold();
    }
}

fn profile_of(task: &Task, ranked: &[Summary<'_>]) -> Picture {
    let mut ordered: Vec<&Summary<'_>> = ranked.iter().collect();
    ordered.sort_by_key(|summary| summary.index);
    let names: Vec<(&str, usize)> = ordered.iter().map(|summary| (summary.name, summary.index)).collect();
    let scores: Vec<Vec<Vec<f64>>> = ordered.iter().map(|summary| vec![summary.scores.clone()]).collect();
    figures::profile(
        &format!("Performance profile on {}", task.name),
        &task.measure(Measure::Final),
        &format!("profile-{}", task.name),
        &names,
        &scores,
    )
}

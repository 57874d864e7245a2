//! One page that shows what runs have come to, and its pictures and tables as files of their own.

mod figures;
mod memory;
mod settings;
mod signal;

use std::fs;
use std::path::{Path, PathBuf};

use epgt_report::aggregate::normalised;
use epgt_report::chart::{png, svg};
use epgt_report::page::{GENERATOR, Page};
use epgt_report::statistics::LEAST_SCORES;
use epgt_report::text_table::TextTable;
use epgt_train::artifact::{reason, write_atomically};

use crate::comparison::{self, Comparison, Summary};
use crate::error::ExperimentError;
use crate::groups::{self, Collection, Group, Task};
use crate::measure::Measure;
use crate::{runs, verdict};
use figures::Figure;

/// What [`write()`] has made.
pub struct Written {
    /// The page.
    pub page: PathBuf,
    /// The folder of pictures and tables.
    pub folder: PathBuf,
    /// Runs shown.
    pub runs: usize,
    /// Pictures, each as SVG and PNG.
    pub pictures: usize,
    /// Tables, each as CSV and Markdown.
    pub tables: usize,
    /// A sentence for each run that could not be read or whose seed was there already.
    pub left_out: Vec<String>,
}

/// Writes the report on all runs below some directories to `out`, or to `report.html` in the first of them, and its
/// pictures and tables into the folder `report` beside it. `notes` are sentences for the top of the page, such as that
/// budgets were scaled.
pub fn write(
    directories: &[PathBuf],
    out: Option<&Path>,
    title: Option<&str>,
    notes: &[String],
) -> Result<Written, ExperimentError> {
    let (found, broken) = runs::find(directories)?;
    if found.is_empty() {
        return Err(ExperimentError::NoRun {
            directories: directories.to_vec(),
            broken: broken.into_iter().next(),
        });
    }
    let collection = groups::collect(found, directories);
    let count = collection
        .tasks
        .iter()
        .flat_map(|task| &task.groups)
        .map(|group| group.runs.len())
        .sum();
    let page = match out {
        Some(path) => path.to_path_buf(),
        None => directories[0].join("report.html"),
    };
    let folder = page.parent().unwrap_or(Path::new("")).join("report");
    refuse_foreign(&page, &folder)?;
    let mut report = Report {
        page: Page::new(title.unwrap_or("What the runs have come to")),
        figures: Vec::new(),
        tables: Vec::new(),
    };
    report.introduce(&collection, count, notes, &broken);
    report.suite(&collection);
    let (mut maps, problems) = memory::maps(&collection.tasks);
    for (task, maps) in collection.tasks.iter().zip(&mut maps) {
        report.task(task, std::mem::take(maps));
    }
    for sentence in &problems {
        report.page.note(sentence);
    }
    report.settings(&collection);

    let save = |path: &Path, bytes: &[u8]| write_atomically(path, bytes);
    // The page first: where it lies, the folder beside it is the program's own.
    save(&page, report.page.finish().as_bytes())?;
    fs::create_dir_all(&folder).map_err(|error| ExperimentError::system("make", &folder, reason(&error)))?;
    for figure in &report.figures {
        save(
            &folder.join(format!("{}.svg", figure.name)),
            svg::standalone(&figure.drawing).as_bytes(),
        )?;
        save(
            &folder.join(format!("{}.png", figure.name)),
            &png::encode(&figure.drawing)?,
        )?;
    }
    for (name, table) in &report.tables {
        save(&folder.join(format!("{name}.csv")), table.csv().as_bytes())?;
        save(&folder.join(format!("{name}.md")), table.markdown().as_bytes())?;
    }
    Ok(Written {
        page,
        folder,
        runs: count,
        pictures: report.figures.len(),
        tables: report.tables.len(),
        left_out: broken.into_iter().chain(collection.twice).collect(),
    })
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
    figures: Vec<Figure>,
    tables: Vec<(String, TextTable)>,
}

impl Report {
    fn introduce(&mut self, collection: &Collection, runs: usize, notes: &[String], broken: &[String]) {
        let counted = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        self.page.paragraph(&format!(
            "{} of {} on {}. Intervals are 95% bootstrap intervals over seeds, given from {LEAST_SCORES} runs on; colours and line \
             patterns stand for the same method throughout.",
            counted(runs, "run"),
            counted(collection.methods.len(), "method"),
            counted(collection.tasks.len(), "task")
        ));
        for sentence in notes {
            self.page.paragraph(sentence);
        }
        let all = collection
            .tasks
            .iter()
            .flat_map(|task| &task.groups)
            .flat_map(|group| &group.runs);
        let unfinished: Vec<_> = all.filter(|run| run.record.result.is_none()).collect();
        let twice = &collection.twice;
        if !unfinished.is_empty() || !broken.is_empty() || !twice.is_empty() {
            let mut told = Vec::new();
            if !unfinished.is_empty() {
                told.push(format!(
                    "{} unfinished, in the curves but not in the scores",
                    counted(unfinished.len(), "run")
                ));
            }
            if !broken.is_empty() {
                told.push(format!("{} unreadable, left out", counted(broken.len(), "run")));
            }
            if !twice.is_empty() {
                told.push(format!(
                    "{} with a seed that is there already, left out",
                    counted(twice.len(), "run")
                ));
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
        let episodes = collection.tasks.iter().flat_map(|task| &task.groups);
        let label = &format!(
            "normalised {}",
            Measure::Final.title_for(episodes.flat_map(Group::episodes))
        );
        self.page.heading("All tasks together").headline(&headline);
        self.page
            .note("Scores are normalised per task: 0 is the worst of these runs, 1 the best.");
        if !left_out.is_empty() {
            self.page.note(&format!(
                "Without a score on every task, and so not here: {}.",
                left_out.join(", ")
            ));
        }
        let interval = match rows.iter().any(|row| row.interval.is_known()) {
            true => ", 95% interval",
            false => "",
        };
        let title = format!("Interquartile mean over tasks and seeds{interval}");
        let bars = epgt_report::chart::rows(&title, label, &rows);
        let profile = figures::profile("Performance profile over all tasks", label, "profile", &names, &scaled);
        self.show(vec![Figure::new("scores-all-tasks".to_string(), bars), profile]);
        self.tabulate("scores-all-tasks".to_string(), table);
    }

    fn task(&mut self, task: &Task, maps: Vec<Figure>) {
        let ranked = comparison::ranked(task, Measure::Final);
        self.page.heading(&task.name).headline(&verdict::of_task(&ranked));
        let mut first = Vec::new();
        if !ranked.is_empty() {
            first.push(figures::scores(task, Measure::Final, &ranked));
        }
        first.extend(figures::learning(task));
        if ranked.len() > 1 {
            first.push(profile_of(task, &ranked));
        }
        self.show(first);
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
            self.tabulate(format!("scores-{}-{}", measure.slug(), task.name), table);
            if fold {
                self.page.end_fold();
            }
        }
        self.part(
            "What was scheduled: every run thin, their mean bold",
            figures::schedules(task),
        );
        self.part("How far the steps moved the policy", figures::steps(task));
        self.part("The hyper-agent", figures::hyper_agent(task));
        let known = signal::sentences(task);
        if !known.is_empty() {
            self.page.subheading("What the returns say of the choices");
        }
        for sentence in &known {
            self.page.note(sentence);
        }
        self.part(
            "The episodic memory of one run, on a map that keeps neighbours together (t-SNE)",
            maps,
        );
    }

    fn part(&mut self, title: &str, figures: Vec<Figure>) {
        if !figures.is_empty() {
            self.page.subheading(title);
            self.show(figures);
        }
    }

    fn show(&mut self, figures: Vec<Figure>) {
        let drawings: Vec<_> = figures.iter().map(|figure| figure.drawing.clone()).collect();
        self.page.pictures(&drawings);
        for mut figure in figures {
            figure.name = free_name(&figure.name, self.figures.iter().map(|other| other.name.as_str()));
            self.figures.push(figure);
        }
    }

    fn tabulate(&mut self, name: String, table: TextTable) {
        self.page.table(&table);
        let name = free_name(&name, self.tables.iter().map(|(other, _)| other.as_str()));
        self.tables.push((name, table));
    }

    fn settings(&mut self, collection: &Collection) {
        self.page.heading("Settings");
        for task in &collection.tasks {
            self.page.subheading(&task.name);
            if let Some(table) = settings::differences(task) {
                self.page.note("Where the methods differ:");
                self.tabulate(format!("settings-{}", task.name), table);
            }
            for group in &task.groups {
                if let Some(sentence) = settings::scheduled(&group.runs[0]) {
                    self.page.note(&format!("{} schedules {sentence}.", group.name));
                }
                self.page.fold(&format!("All settings of {}", group.name));
                self.page.verbatim(&group.runs[0].record.config_text).end_fold();
            }
        }
        self.page
            .heading("Machine and version")
            .paragraph(&settings::colophon(&collection.tasks));
        if let Some(table) = settings::costs(&collection.tasks) {
            self.page.note(
                "Mean cost of a run. Memory is the peak of the process that made it: of other runs too, where it made several.",
            );
            self.tabulate("costs".to_string(), table);
        }
    }
}

fn profile_of(task: &Task, ranked: &[Summary<'_>]) -> Figure {
    let mut ordered: Vec<&Summary<'_>> = ranked.iter().collect();
    ordered.sort_by_key(|summary| summary.index);
    let names: Vec<(&str, usize)> = ordered.iter().map(|summary| (summary.name, summary.index)).collect();
    let scores: Vec<Vec<Vec<f64>>> = ordered.iter().map(|summary| vec![summary.scores.clone()]).collect();
    let title = format!("{}: performance profile", task.name);
    figures::profile(
        &title,
        &task.measure(Measure::Final),
        &format!("profile-{}", task.name),
        &names,
        &scores,
    )
}

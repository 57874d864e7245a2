//! Looks at the directories again and again, and tells whoever waits that something has changed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use epgt_experiments::groups;
use epgt_experiments::runs::Run;
use epgt_train::record::{self, State};

use crate::follow::Followed;

/// Between two looks at the files of runs.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Between two searches for runs that have appeared.
const SEARCH_EVERY: Duration = Duration::from_millis(1000);

/// A look or a search that takes long is followed by so many times as long a pause.
const REST: u32 = 20;

/// Runs that nobody trains in and nobody looks at, of which so many are looked at in one turn.
const IDLE_RUNS: usize = 64;

/// Runs after which the page is told, where many are read for the first time.
const BATCH: usize = 50;

/// Takes a mutex; what another thread left behind when it panicked is as good as what is there.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the watcher and the server share.
pub struct Shared {
    /// The directories that are followed.
    pub directories: Vec<PathBuf>,
    /// The runs in the order in which they are shown.
    pub runs: Mutex<Vec<Arc<Mutex<Followed>>>>,
    /// Rises with every change.
    version: Mutex<u64>,
    changed: Condvar,
    /// How many look at each run.
    wanted: Mutex<BTreeMap<u32, usize>>,
    /// Set where the watcher should look at once.
    hurry: Mutex<bool>,
    hurried: Condvar,
    /// Pages that are open.
    pub pages: AtomicUsize,
    /// Runs in which somebody trains.
    pub training: AtomicUsize,
    /// All directories were looked at once.
    pub ready: AtomicBool,
}

impl Shared {
    pub fn new(directories: &[PathBuf]) -> Self {
        Self {
            directories: directories.to_vec(),
            runs: Mutex::default(),
            version: Mutex::default(),
            changed: Condvar::new(),
            wanted: Mutex::default(),
            hurry: Mutex::default(),
            hurried: Condvar::new(),
            pages: AtomicUsize::new(0),
            training: AtomicUsize::new(0),
            ready: AtomicBool::new(false),
        }
    }

    /// Waits until something is newer than `seen`, or for so long; returns what is newest.
    pub fn wait(&self, seen: u64, longest: Duration) -> u64 {
        let waited = self
            .changed
            .wait_timeout_while(lock(&self.version), longest, |version| *version <= seen);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Begins or ends to want all curves of a run.
    pub fn want(&self, run: u32, begins: bool) {
        let mut wanted = lock(&self.wanted);
        let count = wanted.entry(run).or_default();
        *count = if begins { *count + 1 } else { count.saturating_sub(1) };
        wanted.retain(|_, count| *count > 0);
        drop(wanted);
        *lock(&self.hurry) = true;
        self.hurried.notify_all();
    }

    /// A run by its number.
    pub fn run(&self, id: u32) -> Option<Arc<Mutex<Followed>>> {
        let runs = lock(&self.runs);
        runs.iter().find(|run| lock(run).id == id).cloned()
    }

    fn next_version(&self) -> u64 {
        *lock(&self.version) + 1
    }

    /// Says that what has this version is there.
    fn tell(&self, version: u64) {
        *lock(&self.version) = version;
        self.changed.notify_all();
    }

    /// Waits for so long, or until somebody wants to see a run.
    fn rest(&self, longest: Duration) {
        let waited = self
            .hurried
            .wait_timeout_while(lock(&self.hurry), longest, |hurry| !*hurry);
        *waited.unwrap_or_else(PoisonError::into_inner).0 = false;
    }
}

/// Follows the runs below the shared directories.
pub struct Watcher {
    shared: Arc<Shared>,
    /// Numbers of runs that were given.
    given: u32,
    searched: Option<(Instant, Duration)>,
    turns: usize,
    known: BTreeMap<PathBuf, Arc<Mutex<Followed>>>,
}

impl Watcher {
    pub fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            given: 0,
            searched: None,
            turns: 0,
            known: BTreeMap::new(),
        }
    }

    /// Looks once at everything, and rests.
    pub fn turn(&mut self) {
        let begun = Instant::now();
        let mut regroup = self.search_if_due();
        let runs = lock(&self.shared.runs).clone();
        let wanted = lock(&self.shared.wanted).clone();
        let mut version = self.shared.next_version();
        let (mut changed, mut more, mut training) = (regroup, false, 0);
        let first = !self.shared.ready.load(Ordering::Relaxed);
        self.turns += 1;
        let every = 1 + runs.len() / IDLE_RUNS;
        for (place, run) in runs.iter().enumerate() {
            let mut run = lock(run);
            let detailed = wanted.contains_key(&run.id);
            let idle = run.version > 0 && !detailed && run.live.state() != State::Training;
            if idle && !(self.turns + place).is_multiple_of(every) {
                continue;
            }
            let found = run.look(detailed);
            if found.changed {
                run.version = version;
            }
            training += usize::from(run.live.state() == State::Training);
            changed |= found.changed;
            regroup |= found.head;
            more |= found.more;
            drop(run);
            if first && (place + 1).is_multiple_of(BATCH) {
                self.shared.tell(version);
                // What is read from now on is newer than what was told.
                version += 1;
            }
        }
        if regroup {
            self.group(&runs, version);
        }
        self.shared.training.store(training, Ordering::Relaxed);
        if first {
            self.shared.ready.store(true, Ordering::Relaxed);
            changed = true;
        }
        if changed {
            self.shared.tell(version);
        }
        if !more {
            self.shared.rest(LOOK_EVERY.max(begun.elapsed() * REST));
        }
    }

    /// Searches the directories where that is due; whether runs have come or gone.
    fn search_if_due(&mut self) -> bool {
        let begun = Instant::now();
        if let Some((last, took)) = self.searched
            && last.elapsed() < SEARCH_EVERY.max(took * REST)
        {
            return false;
        }
        let mut found = Vec::new();
        let mut paths = BTreeSet::new();
        let mut changed = false;
        for (origin, directory) in self.shared.directories.iter().enumerate() {
            // A directory that is not there, or no longer, holds no runs.
            for path in record::find(directory).unwrap_or_default() {
                if paths.insert(path.clone()) {
                    found.push((path, origin));
                }
            }
        }
        let mut order = Vec::new();
        let mut known = BTreeMap::new();
        for (path, origin) in found {
            let run = self.known.remove(&path).unwrap_or_else(|| {
                changed = true;
                self.given += 1;
                let name = self.name(&path, origin);
                Arc::new(Mutex::new(Followed::new(self.given, &path, name, origin)))
            });
            order.push(run.clone());
            known.insert(path, run);
        }
        changed |= !self.known.is_empty();
        self.known = known;
        *lock(&self.shared.runs) = order;
        self.searched = Some((Instant::now(), begun.elapsed()));
        changed
    }

    /// The name of a run: its path below the directory that is followed, with that directory's where there are several.
    fn name(&self, path: &Path, origin: usize) -> String {
        let directory = &self.shared.directories[origin];
        let last = |path: &Path| {
            let whole = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
            whole.file_name().unwrap_or_default().to_string_lossy().into_owned()
        };
        let below = path.strip_prefix(directory).unwrap_or(path);
        match (below.as_os_str().is_empty(), self.shared.directories.len()) {
            (true, _) => last(path),
            (false, 1) => below.display().to_string(),
            (false, _) => Path::new(&last(directory)).join(below).display().to_string(),
        }
    }

    /// Sorts the runs into methods, as reports do, and notes which have another name or number than before.
    fn group(&self, runs: &[Arc<Mutex<Followed>>], version: u64) {
        let heads = runs.iter().filter_map(|run| {
            let run = lock(run);
            let record = run.live.record()?.clone();
            Some(Run {
                record,
                origin: run.origin,
            })
        });
        let collection = groups::collect(heads.collect(), &self.shared.directories);
        let mut methods: BTreeMap<PathBuf, (usize, String, String)> = BTreeMap::new();
        let mut alike = Vec::new();
        for task in &collection.tasks {
            for group in &task.groups {
                let method = (group.index, group.name.clone(), task.name.clone());
                for run in &group.runs {
                    methods.insert(run.record.directory.clone(), method.clone());
                }
                alike.extend(group.runs.first().map(|run| (run.record.clone(), method)));
            }
        }
        for run in runs {
            let mut run = lock(run);
            let Some(record) = run.live.record() else { continue };
            // A report leaves out a run whose seed is there already; here it is one of its method.
            let same = |other: &&(record::Record, _)| {
                (&other.0.task, &other.0.algo, &other.0.scheduler) == (&record.task, &record.algo, &record.scheduler)
                    && other.0.settings == record.settings
            };
            let found = methods.get(&record.directory).cloned();
            let found = found.or_else(|| alike.iter().find(same).map(|(_, method)| method.clone()));
            if let Some(method) = found
                && method != run.method
            {
                run.method = method;
                run.version = version;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use epgt_train::{Assignment, Config, Run};

    fn make(directory: &Path, seed: u64) {
        let said = [("task", "CartPole-v1"), ("steps", "500"), ("seed", &seed.to_string())];
        let config = Config::build(&said.map(|(key, value)| Assignment::new(key, value))).unwrap();
        let mut run = Run::create(config, directory, false).unwrap();
        run.train(&Default::default(), &mut ()).unwrap();
    }

    #[test]
    fn runs_come_and_go_and_keep_their_numbers() {
        let place = tempfile::tempdir().unwrap();
        let directories = ["a", "b"].map(|name| place.path().join(name));
        make(&directories[0].join("x"), 0);
        make(&directories[1], 1);
        let shared = Arc::new(Shared::new(&directories));
        let mut watcher = Watcher::new(shared.clone());
        let mut look = || {
            watcher.searched = None;
            watcher.turn();
            let runs = lock(&shared.runs);
            let told = |run: &Arc<Mutex<Followed>>| {
                let run = lock(run);
                (run.id, run.name.clone(), run.live.state(), run.method.1.clone())
            };
            runs.iter().map(told).collect::<Vec<_>>()
        };
        let named = |id, name: &str, method: &str| (id, name.to_string(), State::Finished, method.to_string());
        // The run that is named itself and those of a directory are told apart, as in a report.
        assert_eq!(look(), [named(1, "a/x", "a"), named(2, "b", "a2c epgt")]);
        make(&directories[0].join("w"), 2);
        std::fs::remove_dir_all(&directories[1]).unwrap();
        assert_eq!(look(), [named(3, "a/w", "a2c epgt"), named(1, "a/x", "a2c epgt")]);
        std::fs::remove_dir_all(&directories[0]).unwrap();
        assert_eq!(look(), []);
    }
}

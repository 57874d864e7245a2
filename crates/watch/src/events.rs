//! Keeps a page current: what has changed, as soon as it has (server-sent events).

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::request::Outlet;
use crate::series::Cursor;
use crate::watcher::{Shared, lock};

/// How soon it is noticed that a page was closed.
const NOTICE: Duration = Duration::from_secs(1);

/// Times of [`NOTICE`] after which something is sent although nothing has changed, so that the page knows that it is
/// current.
const QUIET: u32 = 5;

/// Between two events, so that a page has time to draw.
const PAUSE: Duration = Duration::from_millis(100);

/// Counts a page, and the run that it shows, as long as it lives.
struct Open<'a> {
    shared: &'a Shared,
    run: Option<u32>,
}

impl<'a> Open<'a> {
    fn new(shared: &'a Shared, run: Option<u32>) -> Self {
        shared.pages.fetch_add(1, Ordering::Relaxed);
        run.inspect(|&run| shared.want(run, true));
        Self { shared, run }
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.shared.pages.fetch_sub(1, Ordering::Relaxed);
        self.run.inspect(|&run| self.shared.want(run, false));
    }
}

/// What a page has been told.
#[derive(Default)]
struct Told {
    version: u64,
    order: Option<Vec<u32>>,
    curves: BTreeMap<u32, [Cursor; 2]>,
    about: Option<Value>,
    epoch: u64,
    detail: Vec<Cursor>,
}

/// Sends everything, and then what changes, until the page is closed. `run` is the one whose curves it shows.
pub fn send(outlet: &Outlet, shared: &Shared, run: Option<u64>) -> io::Result<()> {
    let run = run.and_then(|run| u32::try_from(run).ok());
    let _open = Open::new(shared, run);
    outlet.send("retry: 1000\n\n")?;
    let mut told = Told::default();
    let mut quiet = 0;
    loop {
        let version = shared.wait(0, Duration::ZERO);
        let news = told.news(shared, run);
        told.version = version;
        quiet += 1;
        if !news.is_empty() || quiet >= QUIET {
            quiet = 0;
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let mut news = news;
            news.insert("now".to_string(), json!(now.as_secs_f64()));
            outlet.send(format!("data: {}\n\n", Value::Object(news)))?;
            std::thread::sleep(PAUSE);
        }
        shared.wait(told.version, NOTICE);
        if outlet.is_closed() {
            return Ok(());
        }
    }
}

impl Told {
    /// What is new since the last time.
    fn news(&mut self, shared: &Shared, shown: Option<u32>) -> serde_json::Map<String, Value> {
        let mut news = serde_json::Map::new();
        let runs = lock(&shared.runs).clone();
        let (mut order, mut changed) = (Vec::new(), Vec::new());
        for run in &runs {
            let run = lock(run);
            order.push(run.id);
            let is_new = !self.curves.contains_key(&run.id);
            if run.version > self.version || is_new {
                let cursors = self.curves.entry(run.id).or_default();
                changed.push(run.glance(cursors));
                if Some(run.id) == shown {
                    let about = run.about();
                    if self.about.as_ref() != Some(&about) {
                        news.insert("about".to_string(), about.clone());
                        self.about = Some(about);
                    }
                }
            }
            if Some(run.id) == shown
                && let Some(detail) = &run.detail
            {
                let begins = detail.epoch != self.epoch;
                if begins {
                    self.epoch = detail.epoch;
                    self.detail.clear();
                }
                let curves = detail.since(&mut self.detail);
                if begins || !curves.is_empty() {
                    news.insert(
                        "detail".to_string(),
                        json!({"id": run.id, "begins": begins, "curves": curves}),
                    );
                }
            }
        }
        self.curves.retain(|id, _| order.contains(id));
        if !changed.is_empty() {
            news.insert("runs".to_string(), Value::Array(changed));
        }
        if self.order.as_ref() != Some(&order) {
            news.insert("order".to_string(), json!(order));
            news.insert(
                "directories".to_string(),
                json!(
                    shared
                        .directories
                        .iter()
                        .map(|path| path.display().to_string())
                        .collect::<Vec<_>>()
                ),
            );
            self.order = Some(order);
        }
        if !news.is_empty() {
            news.insert("ready".to_string(), json!(shared.ready.load(Ordering::Relaxed)));
        }
        news
    }
}

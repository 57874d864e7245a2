//! `epgt report` and `epgt compare` on real runs, and the page in a real browser.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::Place;

/// Two methods with two seeds each in an experiment's layout, one run that was stopped and one directory that is broken.
fn experiment() -> Place {
    let place = Place::new();
    for (method, arguments) in [
        ("scheduled", ["--preset", "paper", "--set", "write_interval=1"]),
        ("kept <b>", ["--preset", "paper", "--scheduler", "fixed"]),
    ] {
        for seed in ["0", "1"] {
            let out = format!("runs/CartPole-v1/{method}/seed-{seed}");
            let mut all = vec!["--steps", "6000", "--seed", seed, "--set", "eval_interval=3000"];
            all.extend(arguments);
            place.train(&out, &all);
        }
    }
    place.train("runs/CartPole-v1/scheduled/seed-2", &["--steps", "3000", "--seed", "2"]);
    std::fs::remove_file(place.path("runs/CartPole-v1/scheduled/seed-2/result.json")).unwrap();
    std::fs::create_dir_all(place.path("runs/CartPole-v1/scheduled/seed-3")).unwrap();
    place.write("runs/CartPole-v1/scheduled/seed-3/config.toml", "task = ");
    place
}

#[test]
fn a_report_is_one_page_with_its_pictures_and_tables_beside_it() {
    let place = experiment();
    let ended = place.run(&["report", "runs"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.starts_with("runs/report.html: 5 runs, "), "{ended:?}");
    assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
    assert!(
        ended.stderr.contains("seed-3/config.toml: it is not valid TOML"),
        "{ended:?}"
    );

    let page = std::fs::read_to_string(place.path("runs/report.html")).unwrap();
    let outside = page.replace("http://www.w3.org/2000/svg", "");
    for reference in ["http:", "https:", "src=", "url(", "@import", "<script", "<b>"] {
        assert!(!outside.contains(reference), "'{reference}' in the page");
    }
    for part in [
        "2 runs per method are too few to rest a claim on",
        "seed-2 has come to step 3000",
        "it is not valid TOML",
        "scheduled: learning_rate",
        "keys by value",
        "reconstruction loss",
        "performance profile",
        "All settings of kept &lt;b&gt;",
        "Written by epgt",
    ] {
        assert!(page.contains(part), "'{part}' is missing");
    }

    let files = common::files(&place.path("runs/report"));
    let count = |end: &str| files.keys().filter(|name| name.ends_with(end)).count();
    assert_eq!((count(".svg"), count(".csv")), (count(".png"), count(".md")));
    assert_eq!(count(".svg"), page.matches("<figure").count());
    assert!(
        files
            .iter()
            .all(|(name, bytes)| !name.ends_with(".png") || bytes.starts_with(b"\x89PNG"))
    );
    let table = String::from_utf8(files["scores-final-CartPole-v1.csv"].clone()).unwrap();
    let rows: Vec<&str> = table.lines().collect();
    assert!(
        rows[0].starts_with("method,runs,mean,sd,95% interval,median,IQM,"),
        "{table}"
    );
    assert_eq!(rows.len(), 3, "{table}");
    assert!(
        rows[1..].iter().all(|row| row.contains(",2,")),
        "the unfinished run is not counted: {table}"
    );
    let markdown = String::from_utf8(files["scores-final-CartPole-v1.md"].clone()).unwrap();
    assert!(markdown.starts_with("| method "), "{markdown}");

    // Written again it has the same bytes, and the folder that it left is no run.
    place.run(&["report", "runs"]);
    assert!(std::fs::read_to_string(place.path("runs/report.html")).unwrap() == page);
}

#[test]
fn methods_outside_an_experiment_are_named_by_what_sets_them_apart() {
    let place = Place::new();
    let common = ["--steps", "2000", "--scheduler", "fixed"];
    for (name, more) in [
        ("a", ["--seed", "0", "--set", "gamma=0.9"]),
        ("b", ["--seed", "1", "--set", "gamma=0.9"]),
        ("c", ["--seed", "0", "--set", "gamma=0.99"]),
    ] {
        place.train(name, &[&common[..], &more[..]].concat());
    }
    let ended = place.run(&["report", "a", "b", "c", "--out", "page.html", "--title", "Discounts"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let page = std::fs::read_to_string(place.path("page.html")).unwrap();
    assert!(
        page.contains("<h1>Discounts</h1>") && page.contains("3 runs of 2 methods on 1 task"),
        "{ended:?}"
    );
    assert!(page.contains("fixed gamma=0.9<") && page.contains("fixed gamma=0.99<"));
}

#[test]
fn a_comparison_has_a_row_per_directory() {
    let place = experiment();
    let ended = place.run(&["compare", "runs/CartPole-v1/scheduled", "runs/CartPole-v1/kept <b>"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert_eq!(lines[0], "CartPole-v1, return of the last 100 training episodes");
    assert!(
        lines[2].contains("P(better than first)") && lines[2].contains("Cohen's d"),
        "{ended:?}"
    );
    assert!(lines[4].starts_with("runs/CartPole-v1/scheduled") && lines[5].starts_with("runs/CartPole-v1/kept <b>"));
    assert!(ended.stderr.contains("1 run has not finished"), "{ended:?}");
}

#[test]
fn what_holds_no_run_is_refused_in_a_sentence() {
    let place = Place::new();
    place
        .run(&["report", "nowhere"])
        .is_refused_with(&["cannot read nowhere: no such file or directory"]);
    std::fs::create_dir(place.path("empty")).unwrap();
    place
        .run(&["report", "empty"])
        .is_refused_with(&["there is no run to report on below empty"]);
    place
        .run(&["compare", "empty"])
        .is_refused_with(&["there is no finished run with a score", "below empty"]);
}

/// Tells, once the page has been laid out, how many pictures there are, how many of them are empty, how wide the window and the
/// page are, and what was fetched.
const CHECK: &str = r#"<script>addEventListener("load", () => {
    const pictures = [...document.querySelectorAll("figure svg")];
    const empty = pictures.filter(svg => {
        const place = svg.getBoundingClientRect(), drawn = svg.getBBox();
        return place.width < 200 || place.height < 60 || place.right > innerWidth || drawn.width < 100 || drawn.height < 40;
    });
    const fetched = performance.getEntriesByType("resource").filter(entry => !entry.name.startsWith("data:"));
    const facts = [pictures.length, empty.length, innerWidth, document.documentElement.scrollWidth, fetched.length];
    parent.document.body.dataset.facts = facts.join(" ");
})</script></body>"#;

#[test]
fn in_a_browser_every_picture_is_drawn_and_nothing_is_fetched() {
    let Some(browser) = browser() else {
        eprintln!("skipped: EPGT_BROWSER=none says that there is no browser");
        return;
    };
    let place = experiment();
    assert_eq!(place.run(&["report", "runs"]).code, Some(0));
    let page = std::fs::read_to_string(place.path("runs/report.html")).unwrap();
    // In a frame, since a window cannot be as narrow as a phone.
    let framed = page
        .replace("</body>", CHECK)
        .replace('&', "&amp;")
        .replace('"', "&quot;");
    for width in [1280, 390] {
        let frame =
            format!("<body><iframe width={width} height=900 style=\"border:0\" srcdoc=\"{framed}\"></iframe></body>");
        let checked = place.write("checked.html", &frame);
        let [pictures, empty, window, whole, fetched] = facts(&browser, &place.path("profile"), &checked);
        assert_eq!(pictures, page.matches("<figure").count(), "at {width}");
        assert_eq!(empty, 0, "empty or overflowing pictures at {width}");
        assert_eq!(window, width);
        assert!(whole <= width, "the page is {whole} wide in a window of {width}");
        assert_eq!(fetched, 0, "at {width}");
    }
}

/// Opens a page without any network and reads what [`CHECK`] found.
fn facts(browser: &Path, profile: &Path, page: &Path) -> [usize; 5] {
    let output = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--hide-scrollbars",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ])
        .arg("--host-resolver-rules=MAP * ~NOTFOUND")
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg("--window-size=1400,1000")
        .args(["--virtual-time-budget=5000", "--dump-dom"])
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("the browser starts");
    let dom = String::from_utf8_lossy(&output.stdout);
    let found = dom
        .split("data-facts=\"")
        .nth(1)
        .and_then(|rest| rest.split('"').next());
    let found = found.unwrap_or_else(|| panic!("no facts: {}", String::from_utf8_lossy(&output.stderr)));
    let numbers: Vec<usize> = found
        .split(' ')
        .map(|number| number.parse::<f64>().unwrap() as usize)
        .collect();
    numbers.try_into().expect("five numbers")
}

/// The browser that EPGT_BROWSER names, or the first that is installed; `None` only if EPGT_BROWSER is `none`.
fn browser() -> Option<PathBuf> {
    match std::env::var("EPGT_BROWSER") {
        Ok(name) if name == "none" => return None,
        Ok(name) => return Some(PathBuf::from(name)),
        Err(_) => {}
    }
    let folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let found = names
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    let found = found.into_iter().find(|path| path.is_file());
    Some(
        found.expect(
            "a browser: install chromium, name one in EPGT_BROWSER, or set EPGT_BROWSER=none to leave this out",
        ),
    )
}

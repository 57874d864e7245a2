//! `epgt watch` as a process, spoken to as a browser does, and its page in a real browser.

#[path = "watch/browser.rs"]
mod browser;
mod common;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use browser::Browser;
use common::Place;
use epgt_report::chart::palette::TONES;
use epgt_testing::needs;
use serde_json::Value;

/// A watcher that runs until the test ends.
struct Watcher {
    child: Child,
    port: u16,
    token: String,
}

impl Watcher {
    fn start(place: &Place, arguments: &[&str]) -> Self {
        let mut command = place.command(&[&["watch"], arguments].concat());
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the program starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let rest = line.strip_prefix("http://127.0.0.1:").expect(&line);
        let (port, rest) = rest.split_once('/').unwrap();
        let token = rest.trim_end().strip_suffix('/').unwrap().to_string();
        let port = port.parse().unwrap();
        Self { child, port, token }
    }

    /// CPU seconds that it has used.
    fn cpu_seconds(&self) -> f64 {
        let told = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).expect("Linux tells");
        let fields: Vec<&str> = told.rsplit(')').next().unwrap().split_whitespace().collect();
        let ticks = |field: usize| fields[field].parse::<f64>().unwrap();
        (ticks(11) + ticks(12)) / 100.0
    }

    fn address(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.token)
    }

    /// Sends a request and reads the whole answer, as its head and its body.
    fn ask(&self, method: &str, path: &str, host: &str) -> (String, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("a connection");
        write!(stream, "{method} {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        (head.to_string(), body.to_string())
    }

    fn get(&self, path: &str) -> (String, String) {
        self.ask("GET", &format!("/{}{path}", self.token), "127.0.0.1")
    }

    fn events(&self, query: &str) -> Events {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("a connection");
        let path = format!("/{}/events{query}", self.token);
        // To a reader of this version the body comes as it is, in no chunks.
        write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Events(BufReader::new(stream))
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a page is told.
struct Events(BufReader<TcpStream>);

impl Events {
    fn next(&mut self) -> Value {
        loop {
            let mut line = String::new();
            assert!(
                self.0.read_line(&mut line).expect("an event in time") > 0,
                "the watcher has closed"
            );
            if let Some(data) = line.strip_prefix("data: ") {
                return serde_json::from_str(data).expect("JSON");
            }
        }
    }

    /// Waits for an event of which `wanted` makes something.
    fn until<T>(&mut self, wanted: impl Fn(&Value) -> Option<T>) -> T {
        let begun = Instant::now();
        loop {
            assert!(begun.elapsed() < Duration::from_secs(20), "the event does not come");
            if let Some(found) = wanted(&self.next()) {
                return found;
            }
        }
    }

    /// Waits until a run is told of in this way.
    fn run(&mut self, name: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        self.until(|news| {
            let mut runs = news["runs"].as_array()?.iter();
            runs.find(|run| run["name"] == name && wanted(run)).cloned()
        })
    }
}

/// Appends a row like the last one, at more steps and with another return.
fn append(run: &Path, steps: u64, mean: f64) {
    let path = run.join("metrics.csv");
    let text = fs::read_to_string(&path).unwrap();
    let header: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    let mut fields: Vec<String> = text.lines().last().unwrap().split(',').map(String::from).collect();
    let place = |name: &str| header.iter().position(|column| *column == name).unwrap();
    fields[place("time/total_timesteps")] = steps.to_string();
    fields[place("rollout/ep_rew_mean")] = mean.to_string();
    let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
    writeln!(file, "{}", fields.join(",")).unwrap();
}

/// The settings of a short run, whose steps are whole rollouts.
const SMALL: [&str; 6] = [
    "--steps",
    "3000",
    "--set",
    "defaults=task",
    "--set",
    "eval_interval=1000",
];

/// A small run.
fn small(place: &Place, name: &str) -> PathBuf {
    place.train(name, &SMALL)
}

/// Copies the files of a run.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from)
        .unwrap()
        .map(Result::unwrap)
        .filter(|entry| entry.path().is_file())
    {
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

#[test]
fn only_who_has_the_token_and_means_this_machine_can_read_and_nobody_can_write() {
    let place = Place::new();
    fs::create_dir(place.path("runs")).unwrap();
    let watcher = Watcher::start(&place, &[]);
    assert_eq!(watcher.token.len(), 32);
    let (head, body) = watcher.get("/");
    assert!(
        head.starts_with("HTTP/1.1 200 OK\r\n") && body.starts_with("<!DOCTYPE html>"),
        "{head}"
    );
    for header in [
        "Content-Type: text/html; charset=utf-8",
        "Cache-Control: no-store",
        "X-Content-Type-Options: nosniff",
        "X-Frame-Options: DENY",
        "Referrer-Policy: no-referrer",
        "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';",
    ] {
        assert!(head.contains(&format!("\r\n{header}")), "{header} in {head}");
    }
    assert!(!head.contains("Access-Control"), "{head}");
    let whole = format!("/{}/", watcher.token);
    let wrong = format!("/{}/", "0".repeat(32));
    for (method, path, host, status, sentence) in [
        ("GET", "/", "127.0.0.1", "403 Forbidden", "lacks the right token"),
        (
            "GET",
            wrong.as_str(),
            "127.0.0.1",
            "403 Forbidden",
            "lacks the right token",
        ),
        (
            "GET",
            "/favicon.ico",
            "127.0.0.1",
            "403 Forbidden",
            "lacks the right token",
        ),
        (
            "GET",
            whole.as_str(),
            "evil.example",
            "403 Forbidden",
            "127.0.0.1 or localhost",
        ),
        (
            "GET",
            whole.as_str(),
            "evil.example:8000",
            "403 Forbidden",
            "127.0.0.1 or localhost",
        ),
        (
            "POST",
            whole.as_str(),
            "127.0.0.1",
            "405 Method Not Allowed",
            "can only be read",
        ),
        (
            "DELETE",
            whole.as_str(),
            "127.0.0.1",
            "405 Method Not Allowed",
            "can only be read",
        ),
    ] {
        let (head, body) = watcher.ask(method, path, host);
        assert!(
            head.starts_with(&format!("HTTP/1.1 {status}\r\n")),
            "{method} {path} {host}: {head}"
        );
        assert!(head.contains("nosniff") && head.contains("no-store"), "{head}");
        assert!(body.contains(sentence) && body.lines().count() == 1, "{body}");
    }
    // An answer to HEAD has no body.
    let (head, body) = watcher.ask("HEAD", &whole, "127.0.0.1");
    assert!(head.starts_with("HTTP/1.1 405 ") && body.is_empty(), "{head}");
    // What is no HTTP is told so, and no more.
    let (head, body) = watcher.ask("nonsense\0", "x", "127.0.0.1");
    assert!(
        head.starts_with("HTTP/1.1 400 Bad Request\r\n") && body.is_empty(),
        "{head}"
    );
    for path in ["/../../etc/passwd", "/page.rs", "/events/1", "/picture?run=99"] {
        assert!(watcher.get(path).0.starts_with("HTTP/1.1 404 Not Found\r\n"), "{path}");
    }
    let (head, _) = watcher.ask("GET", &format!("/{}", watcher.token), "localhost:9999");
    assert!(
        head.contains(&format!("\r\nLocation: /{}/\r\n", watcher.token)),
        "{head}"
    );
    // A head that never ends is refused.
    let long = format!("/{}", "x".repeat(20_000));
    assert!(watcher.ask("GET", &long, "127.0.0.1").0.starts_with("HTTP/1.1 431 "));
    // Only this machine is listened to.
    let outside: Vec<std::net::IpAddr> = local_addresses();
    for address in outside {
        let tried = TcpStream::connect_timeout(&(address, watcher.port).into(), Duration::from_millis(300));
        assert!(tried.is_err(), "{address}");
    }
}

/// The addresses of this machine that others can reach, as far as `hostname` tells them.
fn local_addresses() -> Vec<std::net::IpAddr> {
    let told = Command::new("hostname").arg("-I").output();
    let told = told.map_or(String::new(), |output| {
        String::from_utf8_lossy(&output.stdout).into_owned()
    });
    told.split_whitespace()
        .filter_map(|address| address.parse().ok())
        .collect()
}

#[test]
fn a_row_that_is_appended_reaches_the_page_within_a_second() {
    let place = Place::new();
    let run = small(&place, "runs/a");
    let watcher = Watcher::start(&place, &["runs"]);
    let mut events = watcher.events("");
    let told = events.run("a", |run| run["curve"].is_object());
    assert_eq!(
        (&told["state"], &told["steps"]),
        (&Value::from("finished"), &Value::from(3000.0))
    );
    let mut detail = watcher.events(&format!("?run={}", told["id"]));
    let curves = detail.until(|news| {
        news["detail"]["curves"]
            .as_object()
            .filter(|curves| !curves.is_empty())
            .cloned()
    });
    for name in ["rollout/ep_rew_mean", "train/divergence", "hyper/memory", "chosen/step"] {
        assert!(curves.contains_key(name), "{name} in {:?}", curves.keys());
    }
    let mut fastest = Duration::MAX;
    for round in 1..=3 {
        std::thread::sleep(Duration::from_millis(77 * round));
        let begun = Instant::now();
        append(&run, 3000 + round, 1000.0 + round as f64);
        let wanted = Value::from(1000.0 + round as f64);
        events.run("a", |run| run["score"] == wanted);
        let curve = detail.until(|news| news["detail"]["curves"].get("rollout/ep_rew_mean").cloned());
        fastest = fastest.min(begun.elapsed());
        // It is told of what is new, not of all.
        let newest: Vec<f64> = curve["last"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_f64)
            .collect();
        assert_eq!(newest, [3000.0 + round as f64, 1000.0 + round as f64]);
        assert!(curve["points"].as_array().unwrap().len() <= 6, "{curve}");
    }
    // A busy machine may delay one of them.
    assert!(fastest < Duration::from_secs(1), "{fastest:?}");
}

#[test]
fn runs_appear_are_killed_resumed_and_removed_while_they_are_watched() {
    let place = Place::new();
    let watcher = Watcher::start(&place, &[]);
    let mut events = watcher.events("");
    // The usual directory may appear later.
    assert_eq!(events.until(|news| news["order"].as_array().cloned()), [Value::Null; 0]);
    let start = |arguments: &[&str]| {
        let mut command = place.command(&[&["train", "--quiet"], arguments].concat());
        command.stderr(Stdio::null()).spawn().expect("the program starts")
    };
    let settings = [
        "--set",
        "eval_interval=0",
        "--set",
        "checkpoint_interval=40000",
        "--set",
        "log_interval=2000",
        "--steps",
        "900000000",
    ];
    let mut child = start(&[&["CartPole-v1", "--out", "runs/long"], &settings[..]].concat());
    let told = events.run("long", |run| {
        run["state"] == "training" && run["steps"].as_f64() > Some(100_000.0)
    });
    assert!(
        told["left"].as_f64() > Some(1.0) && told["rate"].as_f64() > Some(100.0),
        "{told}"
    );
    let mut detail = watcher.events(&format!("?run={}", told["id"]));
    detail.until(|news| (news["detail"]["begins"] == true).then_some(()));
    child.kill().unwrap();
    child.wait().unwrap();
    let stopped = events.run("long", |run| run["state"] == "stopped");
    // A run that was killed right after a checkpoint has no row beyond it, and nothing of it is cut. One row makes sure.
    let beyond = stopped["steps"].as_f64().unwrap() + 1.0;
    append(&place.path("runs/long"), beyond as u64, 4242.0);
    events.run("long", |run| run["score"] == 4242.0);
    // Its tables are cut back to the checkpoint, and are read again from their start.
    let mut child = start(&["--resume", "runs/long"]);
    let curves = detail.until(|news| (news["detail"]["begins"] == true).then(|| news["detail"]["curves"].clone()));
    let returns = curves["rollout/ep_rew_mean"]["points"].as_array().unwrap();
    assert!(
        !returns.is_empty() && !returns.contains(&Value::from(4242.0)),
        "{returns:?}"
    );
    events.run("long", |run| {
        run["state"] == "training" && run["steps"].as_f64() > Some(beyond)
    });
    child.kill().unwrap();
    child.wait().unwrap();
    fs::remove_dir_all(place.path("runs")).unwrap();
    assert_eq!(events.until(|news| news["order"].as_array().cloned()), [Value::Null; 0]);
    small(&place, "runs/again");
    events.run("again", |run| run["state"] == "finished");
}

#[test]
fn a_page_is_told_of_the_names_of_runs_as_they_are_and_of_what_cannot_be_read() {
    let place = Place::new();
    let whole = small(&place, "runs/whole");
    let name = "<img src=x onerror=alert(1)> & \"quoted\"";
    copy(&whole, &place.path(&format!("runs/{name}")));
    copy(&whole, &place.path("runs/broken"));
    place.write("runs/broken/config.toml", "task = ");
    copy(&whole, &place.path("runs/failed"));
    fs::remove_file(place.path("runs/failed/result.json")).unwrap();
    place.write("runs/failed/failure.txt", "the reward was NaN\nat step 7");
    let watcher = Watcher::start(&place, &["runs"]);
    let (mut found, mut events) = (std::collections::BTreeMap::<String, Value>::new(), watcher.events(""));
    while found.len() < 4 || found["broken"]["problem"].is_null() || found["failed"]["problem"].is_null() {
        for run in events.next()["runs"].as_array().into_iter().flatten() {
            found.insert(run["name"].as_str().unwrap().to_string(), run.clone());
        }
    }
    assert_eq!(found[name]["state"], "finished");
    assert!(
        found["broken"]["problem"]
            .as_str()
            .unwrap()
            .contains("config.toml: it is not valid TOML")
    );
    assert_eq!(
        (&found["failed"]["state"], &found["failed"]["problem"]),
        (&Value::from("failed"), &Value::from("the reward was NaN at step 7"))
    );
    // No file of the page makes markup of a text.
    let (_, script) = watcher.get("/page.js");
    assert!(script.contains("textContent") && !script.contains("innerHTML"));
}

#[test]
fn a_port_that_is_taken_is_refused_and_a_second_watcher_has_a_page_of_its_own() {
    let place = Place::new();
    small(&place, "runs/a");
    let first = Watcher::start(&place, &["runs"]);
    place
        .run(&["watch", "runs", "--port", &first.port.to_string()])
        .is_refused_with(&[&format!(
            "port {} is taken by another program; choose another one, or none",
            first.port
        )]);
    place
        .run(&["watch", "nowhere"])
        .is_refused_with(&["cannot read nowhere: no such file or directory"]);
    let second = Watcher::start(&place, &["runs"]);
    assert!(second.token != first.token && second.port != first.port);
    for watcher in [&first, &second] {
        watcher.events("").run("a", |run| run["state"] == "finished");
    }
    let other = first.ask("GET", &format!("/{}/", second.token), "127.0.0.1");
    assert!(other.0.starts_with("HTTP/1.1 403 "), "{}", other.0);
    // One that nobody needs ends by itself.
    let begun = Instant::now();
    assert_eq!(place.run(&["watch", "runs", "--idle", "0"]).code, Some(0));
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[test]
fn five_hundred_runs_are_told_in_two_seconds_and_a_million_rows_in_few_points() {
    let place = Place::new();
    let whole = small(&place, "one");
    let config = fs::read_to_string(whole.join("config.toml")).unwrap();
    for seed in 0..500 {
        let run = place.path(&format!("runs/seed-{seed}"));
        fs::create_dir_all(&run).unwrap();
        fs::write(
            run.join("config.toml"),
            config.replace("\nseed = 0", &format!("\nseed = {seed}")),
        )
        .unwrap();
        for name in ["metrics.csv", "result.json"] {
            fs::copy(whole.join(name), run.join(name)).unwrap();
        }
    }
    let begun = Instant::now();
    let watcher = Watcher::start(&place, &["runs"]);
    let mut events = watcher.events("");
    let mut told = 0;
    while told < 500 {
        let news = events.next();
        told += news["runs"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|run| run["curve"].is_object())
            .count();
    }
    println!("500 runs in {:?}", begun.elapsed());
    // What others do on this machine is not counted.
    assert!(watcher.cpu_seconds() < 2.0, "{}", watcher.cpu_seconds());
    drop(watcher);

    let long = place.path("long/run");
    copy(&whole, &long);
    let mut table = String::from("time/total_timesteps,time/time_elapsed,rollout/ep_rew_mean,train/n_updates\n");
    for row in 0..1_000_000_u64 {
        let mean = match row {
            777_777 => -5000.0,
            _ => (row % 1000) as f64,
        };
        table.push_str(&format!("{},{}.5,{mean},{row}\n", 8 * row, row / 100));
    }
    fs::write(long.join("metrics.csv"), table).unwrap();
    let begun = Instant::now();
    let watcher = Watcher::start(&place, &["long"]);
    let mut events = watcher.events("?run=1");
    let mut kept: Vec<Value> = Vec::new();
    let whole = |kept: &[Value]| kept.len() > 2 && kept[kept.len() - 2].as_f64() > Some(7_900_000.0);
    while !whole(&kept) {
        let news = events.next();
        if let Some(curve) = news["detail"]["curves"].get("rollout/ep_rew_mean") {
            kept.truncate(2 * curve["from"].as_u64().unwrap() as usize);
            kept.extend(curve["points"].as_array().unwrap().iter().cloned());
        }
    }
    println!("a million rows in {:?}", begun.elapsed());
    assert!(kept.len() <= 2 * 1000, "{}", kept.len());
    let has = |x: f64, y: f64| kept.chunks(2).any(|pair| pair[0] == x && pair[1] == y);
    assert!(has(8.0 * 777_777.0, -5000.0), "the lowest is kept");
}

#[test]
fn a_policy_is_played_where_it_is_looked_at() {
    let place = Place::new();
    small(&place, "runs/a");
    let watcher = Watcher::start(&place, &["runs"]);
    let told = watcher.events("").run("a", |_| true);
    let mut stream = TcpStream::connect(("127.0.0.1", watcher.port)).unwrap();
    write!(
        stream,
        "GET /{}/picture?run={} HTTP/1.0\r\nHost: localhost\r\n\r\n",
        watcher.token, told["id"]
    )
    .unwrap();
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    while line != "\r\n" {
        line.clear();
        reader.read_line(&mut line).unwrap();
    }
    let mut piece = || {
        let mut head = [0; 5];
        reader.read_exact(&mut head).unwrap();
        let mut bytes = vec![0; u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize];
        reader.read_exact(&mut bytes).unwrap();
        (head[0], bytes)
    };
    let (kind, about) = piece();
    let about: Value = serde_json::from_slice(&about).unwrap();
    assert!(kind == b'j' && about["width"].as_u64() > Some(100), "{about}");
    let (kind, image) = piece();
    assert!(kind == b'p' && image.starts_with(b"\x89PNG"));
    // One is played at a time.
    let (_, body) = watcher.get(&format!("/picture?run={}", told["id"]));
    assert!(body.contains("{\"busy\":true}"), "{body}");
}

#[test]
fn training_with_its_page_has_the_same_bits_and_the_page_outlives_it() {
    let place = Place::new();
    let plain = small(&place, "plain");
    let watched = ["--quiet", "--out", "watched", "--watch"];
    let ended = place.run(&[&["train", "CartPole-v1"], &SMALL[..], &watched[..]].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    common::assert_same_run(&plain, &place.path("watched"));
    let address = ended
        .stderr
        .lines()
        .find_map(|line| line.strip_prefix("Watch at "))
        .expect("an address");
    let (port, token) = address["http://127.0.0.1:".len()..].split_once('/').unwrap();
    let mut stream = TcpStream::connect(("127.0.0.1", port.parse::<u16>().unwrap())).expect("it listens");
    write!(stream, "GET /{token} HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
}

/// Finds what is wrong with the texts of a page: cut off, beyond the window, or on top of each other. What a list has
/// scrolled away is not looked at.
const FAULTS: &str = r#"(() => {
    const boxes = [], faults = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const text = node.textContent.trim(), parent = node.parentElement;
        if (!text || ["SCRIPT", "STYLE", "PRE", "OPTION"].includes(parent.tagName)) continue;
        if (!parent.checkVisibility({ opacityProperty: true, visibilityProperty: true }) || parent.closest(".hidden")) continue;
        const range = document.createRange();
        range.selectNodeContents(node);
        const list = parent.closest(".list"), seen = list && list.getBoundingClientRect();
        for (const box of parent.closest("svg") ? [parent.getBoundingClientRect()] : range.getClientRects()) {
            if (seen && (box.top < seen.top || box.bottom > seen.bottom)) continue;
            if (box.width === 0) continue;
            if (box.left < -0.5 || box.right > innerWidth + 0.5) faults.push("outside: " + text);
            boxes.push({ box, text, parent });
        }
        for (let up = parent; up && up !== document.body; up = up.parentElement) {
            const style = getComputedStyle(up);
            if (style.overflowX === "hidden" && up.scrollWidth > up.clientWidth + 1) faults.push("cut: " + text);
            if (style.overflowY === "hidden" && up.scrollHeight > up.clientHeight + 1) faults.push("cut below: " + text);
        }
    }
    for (let i = 0; i < boxes.length; i++) {
        for (let j = 0; j < i; j++) {
            const a = boxes[i].box, b = boxes[j].box;
            const across = Math.min(a.right, b.right) - Math.max(a.left, b.left), down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
            if (across > 1 && down > 3 && boxes[i].parent !== boxes[j].parent) faults.push("on top of each other: " + boxes[i].text + " | " + boxes[j].text);
        }
    }
    if (document.documentElement.scrollWidth > innerWidth) faults.push("the page is " + document.documentElement.scrollWidth + " wide");
    return { faults, texts: boxes.length, lines: document.querySelectorAll("path.line").length };
})()"#;

/// A tone of the report as a browser tells colours.
fn tone(name: &str, dark: bool) -> String {
    let (_, light, deep) = TONES.iter().find(|tone| tone.0 == name).expect(name);
    let number = u32::from_str_radix(&(if dark { deep } else { light })[1..], 16).unwrap();
    format!("rgb({}, {}, {})", number >> 16, number >> 8 & 255, number & 255)
}

#[needs(browser)]
#[test]
fn in_a_browser_nothing_is_cut_or_overlaps_at_any_width_light_or_dark() {
    let place = Place::new();
    let whole = small(&place, "runs/CartPole-v1-a2c-epgt-s0");
    let name = "<img src=x onerror=alert(1)>";
    copy(&whole, &place.path(&format!("runs/{name}")));
    place.train(
        "runs/kept values/seed-10",
        &["--steps", "3000", "--scheduler", "fixed", "--seed", "10"],
    );
    fs::remove_file(place.path("runs/kept values/seed-10/result.json")).unwrap();
    let watcher = Watcher::start(&place, &["runs"]);
    let mut browser = Browser::start(&place.path("browser"));
    for (width, dark) in [1440, 1280, 768, 390]
        .into_iter()
        .flat_map(|width| [(width, false), (width, true)])
    {
        browser.be(width, dark);
        browser.call("Page.navigate", serde_json::json!({"url": watcher.address()}));
        browser.until(&format!("location.href.startsWith('{}')", watcher.address()));
        browser.until("document.querySelectorAll('#charts path.line').length > 3");
        browser.until("document.querySelectorAll('.row').length === 3");
        std::thread::sleep(Duration::from_millis(100));
        let found = browser.evaluate(FAULTS);
        assert_eq!(found["faults"], serde_json::json!([]), "at {width}, dark: {dark}");
        assert!(
            found["texts"].as_u64() > Some(60) && found["lines"].as_u64() > Some(6),
            "{found}"
        );
        // The page has the report's own tones, of the face that the reader prefers.
        for (of, property, name) in [
            ("body", "backgroundColor", "ground"),
            (".card", "backgroundColor", "surface"),
            ("h1", "color", "ink"),
        ] {
            let painted = format!("getComputedStyle(document.querySelector('{of}')).{property}");
            assert_eq!(
                browser.evaluate(&painted),
                tone(name, dark),
                "{name} at {width}, dark: {dark}"
            );
        }
    }
    // A name is a text, whatever it says; the policy is seen; a new row is drawn.
    let shown = "[...document.querySelectorAll('.name')].map(name => name.textContent)";
    assert!(browser.evaluate(shown).as_array().unwrap().contains(&Value::from(name)));
    assert_eq!(browser.evaluate("document.querySelectorAll('img').length"), 0);
    browser.be(1440, false);
    browser.until("document.getElementById('screen').dataset.frames > 2");
    browser
        .evaluate("[...document.querySelectorAll('.row')].find(row => row.textContent.includes('a2c-epgt')).click()");
    append(&whole, 3001, 4242.0);
    browser.until("document.getElementById('facts').textContent.includes('4242')");
    let events = std::mem::take(&mut browser.events);
    let complaints: Vec<&Value> = events
        .iter()
        .filter(|event| {
            let method = event["method"].as_str().unwrap_or_default();
            ["Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"].contains(&method)
        })
        .collect();
    assert!(complaints.is_empty(), "{complaints:?}");
    let fetched = events
        .iter()
        .filter(|event| event["method"] == "Network.requestWillBeSent");
    let addresses: Vec<&str> = fetched
        .filter_map(|event| event["params"]["request"]["url"].as_str())
        .collect();
    assert!(addresses.len() > 40, "{addresses:?}");
    let own = watcher.address();
    for address in addresses {
        assert!(
            address.starts_with(&own) || address.starts_with("data:") || address.starts_with("blob:"),
            "{address}"
        );
    }
}

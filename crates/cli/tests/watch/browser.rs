//! A real browser without a window, driven by its own protocol through two pipes.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// A browser with one page.
pub struct Browser {
    child: Child,
    commands: File,
    answers: File,
    /// Bytes that were read and belong to the next message.
    rest: Vec<u8>,
    sent: u64,
    session: Option<String>,
    /// What it has told unasked.
    pub events: Vec<Value>,
}

impl Browser {
    /// Starts it, without any network but this machine; what it keeps is in `folder`.
    pub fn start(folder: &Path) -> Self {
        fs::create_dir_all(folder).unwrap();
        let (to, from) = (folder.join("to"), folder.join("from"));
        let made = Command::new("mkfifo").args([&to, &from]).status();
        assert!(made.expect("mkfifo").success());
        // The browser reads commands from descriptor 3 and answers on 4.
        let child = Command::new("bash")
            .args(["-c", "exec \"$0\" \"$@\" 3<\"$TO\" 4>\"$FROM\""])
            .arg(find())
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
            .args([
                "--remote-debugging-pipe",
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            ])
            .arg(format!("--user-data-dir={}", folder.join("profile").display()))
            .env("TO", &to)
            .env("FROM", &from)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("bash starts");
        // Each opens when the other side does.
        let commands = File::options().write(true).open(to).expect("a pipe");
        let answers = File::open(from).expect("a pipe");
        let mut browser = Self {
            child,
            commands,
            answers,
            rest: Vec::new(),
            sent: 0,
            session: None,
            events: Vec::new(),
        };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.call("Target.attachToTarget", attach);
        browser.session = session["sessionId"].as_str().map(String::from);
        for domain in ["Page", "Runtime", "Network", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// Sends a command and waits for its answer.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.sent += 1;
        let mut message = json!({"id": self.sent, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.commands
            .write_all(format!("{message}\0").as_bytes())
            .expect("the browser reads");
        loop {
            let mut message = self.message();
            if message["id"] == self.sent {
                assert!(message.get("error").is_none(), "{method}: {message}");
                return message["result"].take();
            }
            self.events.push(message);
        }
    }

    fn message(&mut self) -> Value {
        loop {
            if let Some(end) = self.rest.iter().position(|&byte| byte == 0) {
                let message: Vec<u8> = self.rest.drain(..=end).collect();
                return serde_json::from_slice(&message[..end]).expect("JSON");
            }
            let mut piece = vec![0; 1 << 16];
            let came = self.answers.read(&mut piece).expect("the browser answers");
            assert!(came > 0, "the browser has ended");
            self.rest.extend(&piece[..came]);
        }
    }

    /// What an expression of the page comes to.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let parameters = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let mut answer = self.call("Runtime.evaluate", parameters);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].take()
    }

    /// Waits until an expression of the page is true.
    pub fn until(&mut self, expression: &str) {
        let begun = Instant::now();
        while self.evaluate(expression) != true {
            assert!(begun.elapsed() < Duration::from_secs(20), "never true: {expression}");
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    /// Makes the window so wide, and the reader prefer a light or a dark page.
    pub fn be(&mut self, width: u32, dark: bool) {
        let size = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size);
        let scheme = if dark { "dark" } else { "light" };
        let preferred = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.call("Emulation.setEmulatedMedia", preferred);
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.session = None;
        let message = json!({"id": self.sent + 1, "method": "Browser.close"});
        let _ = self.commands.write_all(format!("{message}\0").as_bytes());
        let _ = self.child.wait();
    }
}

/// The browser that EPGT_BROWSER names, or the first that is installed.
fn find() -> PathBuf {
    if let Some(name) = std::env::var_os("EPGT_BROWSER") {
        return PathBuf::from(name);
    }
    let folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let mut found = names
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    found
        .find(|path| path.is_file())
        .expect("a browser: install chromium, or name one in EPGT_BROWSER")
}

//! Headless Chromium, driven through chromedriver.

use std::path::PathBuf;

use fantoccini::wd::{Capabilities, WebDriverCompatibleCommand};
use fantoccini::{Client, ClientBuilder};
use http::Method;
use hyper_util::client::legacy::connect::HttpConnector;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;
use tokio::sync::{Semaphore, SemaphorePermit};
use url::{ParseError, Url};

use crate::{DEADLINE, ProcessGroup, program_paths, with_deadline};

/// More than two browsers at a time make every one of them slow.
static BROWSER_SLOTS: Semaphore = Semaphore::const_new(2);

/// What makes Chromium quiet, offline and runnable as root.
const CHROMIUM_FLAGS: [&str; 9] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
];

/// A browser with a fresh profile and a chromedriver of its own. Both end on drop.
#[derive(Debug)]
pub struct Browser {
    client: Client,
    driver: ProcessGroup,
    _profile: TempDir,
    _permit: SemaphorePermit<'static>,
}

/// `prefers-color-scheme`.
#[derive(Clone, Copy, Debug)]
pub enum ColorScheme {
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

impl Browser {
    /// Starts Chromium with one empty window.
    pub async fn open() -> Self {
        Self::open_with(&[]).await
    }

    /// The same with further command-line flags.
    pub async fn open_with(flags: &[&str]) -> Self {
        // Waiting for one's turn has no deadline of its own: the journeys that hold it have theirs.
        let permit = BROWSER_SLOTS.acquire().await.expect("never closed");
        let profile = TempDir::with_prefix("mcp-web-chromium-").unwrap();
        let (driver, port) = start_driver(&profile).await;
        let mut builder = ClientBuilder::new(HttpConnector::new());
        builder.capabilities(capabilities(&profile, flags));
        let url = format!("http://127.0.0.1:{port}");
        let client = with_deadline("Chromium to start", builder.connect(&url))
            .await
            .unwrap_or_else(|error| panic!("Chromium does not start: {error}"));
        Self {
            client,
            driver,
            _profile: profile,
            _permit: permit,
        }
    }

    /// Opens `url` and waits for its `load` event.
    pub async fn goto(&self, url: &str) {
        with_deadline("a page to load", self.client.goto(url))
            .await
            .unwrap_or_else(|error| panic!("cannot open the page: {error}"));
    }

    /// Loads the page again.
    pub async fn reload(&self) {
        with_deadline("the page to reload", self.client.refresh())
            .await
            .unwrap();
    }

    /// Goes back to the page before.
    pub async fn back(&self) {
        with_deadline("the page before", self.client.back())
            .await
            .unwrap();
    }

    /// Opens a second tab and turns to it.
    pub async fn open_tab(&self) {
        let tab = with_deadline("a new tab", self.client.new_window(true))
            .await
            .unwrap();
        self.client.switch_to_window(tab.handle).await.unwrap();
    }

    /// Turns to the tab whose title contains `title`.
    pub async fn switch_to_tab(&self, title: &str) {
        let tabs = with_deadline("the tabs", self.client.windows())
            .await
            .unwrap();
        for tab in tabs {
            self.client.switch_to_window(tab).await.unwrap();
            if self.client.title().await.unwrap().contains(title) {
                return;
            }
        }
        panic!("no tab has the title {title:?}");
    }

    /// Goes into the `nth` frame of the document (or of the frame it is in), from 0: what runs in
    /// the page runs there.
    pub async fn enter_frame(&self, nth: u16) {
        with_deadline("a frame", self.client.enter_frame(nth))
            .await
            .unwrap();
    }

    /// Goes back from a frame to the document of the tab.
    pub async fn leave_frames(&self) {
        // To turn to a tab is to turn to its outermost document.
        let tab = self.client.window().await.unwrap();
        self.client.switch_to_window(tab).await.unwrap();
    }

    /// Closes the tab in front. The browser ends with its last one.
    pub async fn close_tab(&self) {
        with_deadline("the tab to close", self.client.close_window())
            .await
            .unwrap();
    }

    /// Runs `body`, the body of an async function with the parameter `args`, in the page and
    /// returns what it returns. A throw fails the journey.
    pub async fn eval(&self, body: &str, args: Value) -> Value {
        let script = format!(
            "const [args, done] = arguments;
             (async () => {{ {body} }})().then(
               (value) => done({{ value: value ?? null }}),
               (error) => done({{ error: String(error?.stack ?? error) }}));"
        );
        self.run(&script, args).await
    }

    /// Waits in the page until the expression `condition` is truthy, and returns its value.
    ///
    /// The expression may await. While it throws it counts as not yet true.
    pub async fn wait_for(&self, condition: &str) -> Value {
        let script = format!(
            "const [limit, done] = arguments;
             const end = performance.now() + limit;
             let last = 'it was never true';
             const look = async () => {{
               try {{
                 const value = await ({condition});
                 if (value) return done({{ value }});
                 last = `it is ${{JSON.stringify(value)}}`;
               }} catch (error) {{ last = String(error); }}
               if (performance.now() > end) done({{ error: `waited for it in vain: ${{last}}` }});
               else setTimeout(look, 15);
             }};
             look();"
        );
        self.run_named(condition, &script, json!(DEADLINE.as_millis()))
            .await
    }

    /// The text that the page shows.
    pub async fn text(&self) -> String {
        let text = self.eval("return document.body.innerText", json!(null));
        text.await.as_str().unwrap_or_default().to_owned()
    }

    /// Stops the processes in which pages run (SIGSTOP), as a machine that sleeps or a browser that
    /// suspends tabs does. Nothing can be asked of a page until the value is dropped.
    pub fn suspend_pages(&self) -> SuspendedPages {
        let renderers = self.driver.descendants("--type=renderer");
        assert!(!renderers.is_empty(), "there is no page to suspend");
        for renderer in &renderers {
            kill_process(*renderer, Signal::STOP).expect("a renderer can be stopped");
        }
        SuspendedPages(renderers)
    }

    /// Saves what the page looks like, once it stands still, as
    /// `target/e2e-screenshots/<name>.png`.
    pub async fn screenshot(&self, name: &str) -> PathBuf {
        let moving = "document.getAnimations().filter((animation) =>
            animation.playState === 'running'
            && animation.effect.getComputedTiming().endTime < Infinity)";
        self.wait_for(&format!("{moving}.length === 0")).await;
        let image = with_deadline("a screenshot", self.client.screenshot())
            .await
            .unwrap();
        let path = program_paths::screenshots().join(format!("{name}.png"));
        std::fs::write(&path, image).unwrap();
        path
    }

    /// Makes the tab look like one of a device with this colour scheme and size in CSS pixels.
    pub async fn emulate(&self, scheme: ColorScheme, width: u32, height: u32) {
        let scheme = match scheme {
            ColorScheme::Light => "light",
            ColorScheme::Dark => "dark",
        };
        let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
        self.devtools(
            "Emulation.setEmulatedMedia",
            json!({ "features": [feature] }),
        )
        .await;
        let mobile = width < 600;
        self.devtools(
            "Emulation.setDeviceMetricsOverride",
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile }),
        )
        .await;
    }

    /// What the page wrote to its console (and the browser about it) since the last look.
    pub async fn console(&self) -> Vec<String> {
        let entries = self
            .send_command("se/log", json!({ "type": "browser" }))
            .await;
        let messages = entries.as_array().into_iter().flatten();
        messages
            .map(|entry| entry["message"].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    /// A command of the Chrome DevTools Protocol.
    pub async fn devtools(&self, command: &str, parameters: Value) -> Value {
        let body = json!({ "cmd": command, "params": parameters });
        self.send_command("goog/cdp/execute", body).await
    }

    async fn send_command(&self, path: &'static str, body: Value) -> Value {
        let command = DriverCommand { path, body };
        with_deadline(path, self.client.issue_cmd(command))
            .await
            .unwrap()
    }

    async fn run(&self, script: &str, argument: Value) -> Value {
        self.run_named("a script in the page", script, argument)
            .await
    }

    async fn run_named(&self, what: &str, script: &str, argument: Value) -> Value {
        let answer = self.client.execute_async(script, vec![argument]).await;
        let mut answer = answer.unwrap_or_else(|error| panic!("{what}: {error}"));
        if let Some(error) = answer["error"].as_str() {
            let console = self.console().await.join("\n");
            panic!("{what}: {error}; the console says:\n{console}");
        }
        answer["value"].take()
    }
}

/// chromedriver, and the port on which it listens.
async fn start_driver(profile: &TempDir) -> (ProcessGroup, u16) {
    loop {
        let mut command = Command::new(program_paths::chromedriver());
        command.arg("--port=0");
        // What Chromium leaves behind goes with its profile.
        command.env("TMPDIR", profile.path());
        let mut driver = ProcessGroup::start("chromedriver", command);
        let line = driver
            .wait_for_line_or_end("started successfully on port")
            .await;
        let Some(line) = line else {
            // It takes a free port of IPv6, and ends when that of IPv4 is not free.
            let log = driver.log();
            assert!(log.contains("Address already in use"), "{log}");
            continue;
        };
        let port = line.rsplit(' ').next();
        let port = port.and_then(|word| word.trim_end_matches('.').parse().ok());
        return (
            driver,
            port.unwrap_or_else(|| panic!("no port in {line:?}")),
        );
    }
}

/// Pages that stand still. They go on when this is dropped.
#[derive(Debug)]
pub struct SuspendedPages(Vec<Pid>);

impl Drop for SuspendedPages {
    fn drop(&mut self) {
        for renderer in &self.0 {
            // One that has ended meanwhile is no error.
            let _ = kill_process(*renderer, Signal::CONT);
        }
    }
}

fn capabilities(profile: &TempDir, flags: &[&str]) -> Capabilities {
    let all = CHROMIUM_FLAGS.iter().chain(flags);
    let mut args: Vec<String> = all.map(|&flag| flag.to_owned()).collect();
    args.push(format!("--user-data-dir={}", profile.path().display()));
    let capabilities = json!({
        "goog:chromeOptions": { "binary": program_paths::chromium(), "args": args },
        "goog:loggingPrefs": { "browser": "ALL" },
        // A wait inside the page ends by its own deadline, which says more.
        "timeouts": { "script": 2 * DEADLINE.as_millis(), "pageLoad": DEADLINE.as_millis() },
    });
    match capabilities {
        Value::Object(capabilities) => capabilities,
        _ => unreachable!("an object was written above"),
    }
}

/// A command that chromedriver has beyond WebDriver.
#[derive(Debug)]
struct DriverCommand {
    path: &'static str,
    body: Value,
}

impl WebDriverCompatibleCommand for DriverCommand {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> Result<Url, ParseError> {
        let session = session.unwrap_or_default();
        base.join(&format!("session/{session}/{}", self.path))
    }

    fn method_and_body(&self, _: &Url) -> (Method, Option<String>) {
        (Method::POST, Some(self.body.to_string()))
    }
}

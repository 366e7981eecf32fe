//! A Chromium with its chromedriver.

use fantoccini::error::CmdError;
use fantoccini::wd::{Capabilities, WebDriverCompatibleCommand};
use fantoccini::{Client, ClientBuilder};
use http::Method;
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;
use url::{ParseError, Url};

use crate::{DEADLINE, ProcessGroup, VirtualDisplay, program_paths, with_deadline};

/// Flags for a Chromium without background traffic that can run as root.
const CHROMIUM_FLAGS: &str = include_str!("../../../web-sdk/tests/chromium-flags.txt");

/// Flags of chromedriver that keep hidden tabs fast. A real window does without them, like a user's.
const THROTTLING_SWITCHES: [&str; 3] = [
    "disable-background-timer-throttling",
    "disable-backgrounding-occluded-windows",
    "disable-renderer-backgrounding",
];

/// Runs chromedriver, and ends it and its browser when the standard input closes: with the process of
/// the tests, however that ends. It also ends with chromedriver. A browser that is ending still writes
/// into its profile.
const WITH_ITS_TESTS: &str = r#"
    { trap : TERM; "$0" --port=0; kill $$; } & read _
    trap '' TERM; kill -TERM 0; wait
    for _ in 1 2 3 4 5 6 7 8 9; do rm -rf "$1" 2>&- && break; sleep 0.1; done"#;

/// A Chromium with its chromedriver. Both stop when this is dropped.
#[derive(Debug)]
pub(super) struct Chromium {
    pub(super) client: Client,
    pub(super) driver: ProcessGroup,
    _profile: TempDir,
}

impl Chromium {
    /// Starts Chromium with a fresh profile, more command-line flags, and a display if it is not
    /// headless.
    pub(super) async fn start(flags: &[&str], display: Option<&VirtualDisplay>) -> Self {
        let profile = TempDir::with_prefix("mcp-web-chromium-").unwrap();
        let (driver, port) = start_driver(&profile, display).await;
        let mut builder = ClientBuilder::new(HttpConnector::new());
        builder.capabilities(capabilities(&profile, flags, display.is_none()));
        let url = format!("http://127.0.0.1:{port}");
        let client = with_deadline("Chromium to start", builder.connect(&url))
            .await
            .unwrap_or_else(|error| panic!("Chromium does not start: {error}"));
        Self {
            client,
            driver,
            _profile: profile,
        }
    }

    /// Runs a command of chromedriver that is not part of WebDriver.
    async fn command(&self, path: &'static str, body: Value) -> Result<Value, CmdError> {
        let command = DriverCommand { path, body };
        self.client.issue_cmd(command).await
    }

    /// Runs a command of the Chrome DevTools Protocol.
    pub(super) async fn devtools(
        &self,
        command: &str,
        parameters: Value,
    ) -> Result<Value, CmdError> {
        let body = json!({ "cmd": command, "params": parameters });
        self.command("goog/cdp/execute", body).await
    }

    /// Takes the console messages since the last call.
    pub(super) async fn console(&self) -> Result<Value, CmdError> {
        self.command("se/log", json!({ "type": "browser" })).await
    }
}

/// Starts chromedriver, and returns the port on which it listens.
async fn start_driver(profile: &TempDir, display: Option<&VirtualDisplay>) -> (ProcessGroup, u16) {
    loop {
        let mut command = Command::new("sh");
        command.args(["-c", WITH_ITS_TESTS]);
        command
            .arg(program_paths::chromedriver())
            .arg(profile.path());
        // Files that Chromium leaves behind are deleted with its profile.
        command.env("TMPDIR", profile.path());
        if let Some(display) = display {
            command.env("DISPLAY", display.name());
        }
        let mut driver = ProcessGroup::start_with_input("chromedriver", command);
        let line = driver
            .wait_for_line_or_end("started successfully on port")
            .await;
        let Some(line) = line else {
            // It chooses a port that is free on IPv6, and exits if that is not free on IPv4.
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

fn capabilities(profile: &TempDir, flags: &[&str], is_headless: bool) -> Capabilities {
    let headless: &[&str] = if is_headless { &["--headless"] } else { &[] };
    let all = CHROMIUM_FLAGS
        .lines()
        .chain(headless.iter().copied())
        .chain(flags.iter().copied());
    let mut args: Vec<String> = all.map(str::to_owned).collect();
    args.push(format!("--user-data-dir={}", profile.path().display()));
    let capabilities = json!({
            "goog:chromeOptions": {
                "binary": program_paths::chromium(),
                "args": args,
                "excludeSwitches": if is_headless { &[][..] } else { &THROTTLING_SWITCHES },
            },
            "goog:loggingPrefs": { "browser": "ALL" },
    // A wait in the page times out before, with a better message.
            "timeouts": { "script": 2 * DEADLINE.as_millis(), "pageLoad": DEADLINE.as_millis() },
        });
    match capabilities {
        Value::Object(capabilities) => capabilities,
        _ => unreachable!("the macro creates an object"),
    }
}

/// A command of chromedriver that is not part of WebDriver.
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

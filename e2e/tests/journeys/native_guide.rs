//! docs/native.md from an empty folder: the files and commands are those of the guide, and only the
//! paths and the address of the bridge differ.

use std::path::Path;
use std::time::Duration;

use e2e::{ProcessGroup, TestBed, program_paths, with_deadline};
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::Command;

use crate::code_block;

const GUIDE: &str = include_str!("../../../docs/native.md");

/// How long Cargo may take to build the program and its dependencies for the first time.
const BUILD_TIMEOUT: Duration = Duration::from_secs(900);

/// The folder in which a person follows the guide.
struct Folder {
    home: TempDir,
    bridge_url: String,
}

impl Folder {
    fn project(&self) -> std::path::PathBuf {
        self.home.path().join("counter")
    }

    /// Creates a terminal that runs commands.
    fn shell(&self, script: &str, folder: &Path) -> Command {
        let workspace = program_paths::workspace();
        let script = script
            .replace("/path/to/mcp-web", &workspace.display().to_string())
            .replace("http://localhost:3001", &self.bridge_url);
        let mut command = Command::new("sh");
        command
            .args(["-euc", &script])
            .current_dir(folder)
            .env("XDG_CONFIG_HOME", self.home.path().join(".config"))
            // The crates are those that the workspace has: the journey needs no registry.
            .env("CARGO_NET_OFFLINE", "true")
            .env("CARGO_TARGET_DIR", workspace.join("target/native-guide"));
        command
    }

    /// Runs commands that end, and returns what they print to stdout.
    async fn run(&self, script: &str, folder: &Path) -> String {
        let output = self.shell(script, folder).output();
        let output = tokio::time::timeout(BUILD_TIMEOUT, output).await;
        let output = output.unwrap().unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{script}\n{stdout}{stderr}");
        stdout
    }

    /// Sends the request of the guide, with another number, until the program has registered its tool.
    async fn call(&self, by: u32) -> Value {
        let script = code_block(GUIDE, "sh", r#""by": 2"#)
            .replace(r#""by": 2"#, &format!(r#""by": {by}"#))
            .replace("~/", &self.home_prefix());
        with_deadline("the tool to be registered", async {
            loop {
                let answer = self.run(&script, &self.project()).await;
                let answer: Value = serde_json::from_str(&answer).unwrap();
                let code = &answer["_meta"]["mcp-web/error"]["code"];
                if answer["content"].is_array() && *code != "NoSessionsFound" {
                    return answer;
                }
            }
        })
        .await
    }

    fn home_prefix(&self) -> String {
        format!("{}/", self.home.path().display())
    }
}

#[tokio::test]
async fn from_an_empty_folder_to_a_call() {
    let bed = TestBed::bridge().await;
    let folder = Folder {
        home: TempDir::with_prefix("mcp-web-native-guide-").unwrap(),
        bridge_url: bed.url(),
    };
    let lock = program_paths::workspace().join("Cargo.lock");
    let commands = code_block(GUIDE, "sh", "cargo new");
    let (new, add) = commands.split_once("cd counter").unwrap();
    folder.run(new, folder.home.path()).await;
    std::fs::copy(lock, folder.project().join("Cargo.lock")).unwrap();
    folder.run(add, &folder.project()).await;
    let program = code_block(GUIDE, "rust", "fn main()");
    let program = program.replace("http://localhost:3001", &bed.url());
    std::fs::write(folder.project().join("src/main.rs"), program).unwrap();

    let run = code_block(GUIDE, "sh", "cargo run");
    folder
        .run(&run.replace("cargo run", "cargo build"), &folder.project())
        .await;
    let mut app = ProcessGroup::start("counter", folder.shell(run, &folder.project()));
    let line = app.wait_for_line("MCP server: ").await;
    assert!(line.ends_with("/mcp"), "{line}");

    let answer = folder.call(2).await;
    let expected: Value =
        serde_json::from_str(code_block(GUIDE, "json", "structuredContent")).unwrap();
    assert_eq!(answer, expected);
    let refused = folder.call(256).await;
    assert_eq!(
        refused["_meta"]["mcp-web/error"]["code"], "InvalidArguments",
        "{refused}"
    );
    app.interrupt();
    assert!(app.wait_for_end(Duration::from_secs(30)).await);
}

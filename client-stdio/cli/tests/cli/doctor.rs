//! `doctor`: ten broken set-ups, and one that is not.

use std::path::PathBuf;

use bridge_protocol::{Authenticate, PageToBridge};
use raw_page::Page;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};

use crate::kit::*;

const BRIDGE: [&str; 3] = ["bridge", "--bind", "127.0.0.1:0"];

/// A home folder, and the address of a bridge.
struct SetUp {
    home: TempDir,
    url: String,
}

/// The output of the command.
struct Diagnosis {
    code: Option<i32>,
    lines: Vec<String>,
}

impl SetUp {
    fn new(url: &str) -> Self {
        Self {
            home: tempfile::tempdir().unwrap(),
            url: url.to_owned(),
        }
    }

    /// Starts a bridge, and returns its process with the set-up.
    async fn with_bridge(arguments: &[&str]) -> (Child, Self) {
        let (bridge, url) = start(program(&[&BRIDGE, arguments].concat()), "listening on ").await;
        (bridge, Self::new(&url))
    }

    /// The address of a bridge that has ended.
    async fn without_bridge() -> Self {
        let bridge = start_bridge(&[]).await;
        let url = bridge.url();
        bridge.shutdown().await;
        Self::new(&url)
    }

    fn address(&self) -> &str {
        self.url.strip_prefix("http://").unwrap()
    }

    async fn connect_page(&self, token: &str, schema: Value) -> Page {
        let mut page = Page::connect_to(self.address(), "tab", token).await;
        let tool = json!({ "name": "add_card", "inputSchema": schema });
        page.register(&[tool]).await;
        page
    }

    fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.home.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Writes an entry of Cursor.
    fn write_entry(&self, command: &str, arguments: &[&str]) {
        let variables =
            json!({ "MCP_SERVER_URL": format!("{}/mcp", self.url), "AUTH_TOKEN": TOKEN });
        let entry = json!({ "command": command, "args": arguments, "env": variables });
        let file = json!({ "mcpServers": { "web": entry } });
        self.write(".cursor/mcp.json", &file.to_string());
    }

    /// Writes a script that stands for a program.
    fn write_script(&self, path: &str, script: &str) -> String {
        use std::os::unix::fs::PermissionsExt;

        let path = self.write(path, &format!("#!/bin/sh\n{script}\n"));
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&path, mode).unwrap();
        path.display().to_string()
    }

    fn doctor(&self) -> Command {
        let mut command = program(&["doctor", "--url", &self.url]);
        command
            .env("HOME", self.home.path())
            .env("AUTH_TOKEN", TOKEN)
            .env("PATH", self.home.path().join("bin"))
            .current_dir(self.home.path());
        command
    }

    async fn diagnose(&self) -> Diagnosis {
        let ended = run(self.doctor()).await;
        assert_eq!(ended.stderr, "");
        assert!(!ended.stdout.contains(TOKEN), "{ended:?}");
        Diagnosis {
            code: ended.code,
            lines: ended.stdout.lines().map(str::to_owned).collect(),
        }
    }
}

impl Diagnosis {
    /// Checks that the only problem is that of this part, with these words.
    fn assert_problem(&self, subject: &str, words: &[&str]) {
        let problems = self.lines.iter().filter(|line| !line.starts_with("ok: "));
        let problems: Vec<_> = problems.collect();
        let [problem] = problems[..] else {
            panic!("{:#?}", self.lines)
        };
        let start = format!("problem: {subject}");
        assert!(problem.starts_with(&start), "{problem}");
        for words in words {
            assert!(problem.contains(words), "{words}: {problem}");
        }
        assert_eq!(self.code, Some(1));
    }

    fn assert_ok(&self, words: &str) {
        let is_ok = |line: &String| line.starts_with("ok: ") && line.contains(words);
        assert!(self.lines.iter().any(is_ok), "{words}: {:#?}", self.lines);
    }
}

fn plain_schema() -> Value {
    json!({ "type": "object" })
}

#[tokio::test]
async fn a_set_up_that_works_has_no_problem() {
    let (bridge, set_up) = SetUp::with_bridge(&[]).await;
    let page = set_up.connect_page(TOKEN, plain_schema()).await;
    set_up.write_entry(PROGRAM, &["stdio"]);
    let diagnosis = set_up.diagnose().await;
    assert_eq!(diagnosis.code, Some(0), "{:#?}", diagnosis.lines);
    let version = env!("CARGO_PKG_VERSION");
    for words in [
        format!("bridge: version {version} answers"),
        "port ".to_owned(),
        "mcp-web (process ".to_owned(),
        "with 1 tools".to_owned(),
        format!("Cursor, entry `web`: {PROGRAM} is version {version}"),
        "the same token".to_owned(),
        "schemas for Cursor".to_owned(),
    ] {
        diagnosis.assert_ok(&words);
    }
    let mut command = set_up.doctor();
    command.arg("--json");
    let ended = run(command).await;
    let json: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((ended.code, &json["ok"]), (Some(0), &Value::Bool(true)));
    let findings = json["findings"].as_array().unwrap();
    assert_eq!(findings.len(), diagnosis.lines.len());
    assert!(findings.iter().all(|it| it["status"] == "ok"), "{json}");
    assert!(!ended.stdout.contains(TOKEN));
    page.close().await;
    stop(bridge).await;
}

#[tokio::test]
async fn no_bridge() {
    let set_up = SetUp::without_bridge().await;
    let diagnosis = set_up.diagnose().await;
    let words = ["nothing answers", "`mcp-web demo`", "`mcp-web bridge`"];
    // Other tests have bridges of this program at other ports.
    let problem = diagnosis
        .lines
        .iter()
        .find(|it| it.starts_with("problem: bridge"));
    let problem = problem.unwrap();
    let has_others = problem.contains("another port");
    assert!(problem.contains(words[0]), "{problem}");
    assert!(
        has_others || words.iter().all(|it| problem.contains(it)),
        "{problem}"
    );
    assert_eq!(diagnosis.code, Some(1));
}

#[tokio::test]
async fn a_bridge_at_another_port() {
    let (bridge, running) = SetUp::with_bridge(&[]).await;
    let set_up = SetUp::without_bridge().await;
    let diagnosis = set_up.diagnose().await;
    let url = format!("{}/mcp", running.url);
    diagnosis.assert_problem("bridge: nothing answers", &[&url, "--url", "--bind"]);
    stop(bridge).await;
}

/// Answers all requests with this response.
async fn serve(response: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (mut connection, _) = listener.accept().await.unwrap();
            let mut head = [0; 4096];
            let length = connection.read(&mut head).await.unwrap_or_default();
            assert!(!String::from_utf8_lossy(&head[..length]).contains(TOKEN));
            let _ = connection.write_all(response.as_bytes()).await;
        }
    });
    url
}

#[tokio::test]
async fn another_program_at_the_port() {
    let page = "HTTP/1.1 200 OK\r\ncontent-length: 15\r\nconnection: close\r\n\r\n<!doctype html>";
    let set_up = SetUp::new(&serve(page).await);
    let diagnosis = set_up.diagnose().await;
    diagnosis.assert_problem("bridge: another program", &["not a bridge", "--bind"]);
    // It is the program of this test.
    diagnosis.assert_ok(&format!("(process {})", std::process::id()));
}

#[tokio::test]
async fn an_old_version_of_the_bridge() {
    let old = "HTTP/1.1 200 OK\r\ncontent-length: 54\r\nconnection: close\r\n\r\n\
               {\"name\":\"mcp-web\",\"description\":\"x\",\"version\":\"0.0.9\"}";
    let set_up = SetUp::new(&serve(old).await);
    let mut command = set_up.doctor();
    command.env_remove("AUTH_TOKEN");
    let ended = run(command).await;
    let problem = "problem: bridge: the bridge at";
    let line = ended.stdout.lines().find(|it| it.starts_with(problem));
    let line = line.unwrap_or_else(|| panic!("{ended:?}"));
    assert!(
        line.contains("0.0.9") && line.contains("start it again"),
        "{line}"
    );
    assert!(
        ended.stdout.contains("problem: token: no token is set"),
        "{ended:?}"
    );
}

#[tokio::test]
async fn a_closed_page() {
    let (bridge, set_up) = SetUp::with_bridge(&[]).await;
    set_up
        .connect_page(TOKEN, plain_schema())
        .await
        .close()
        .await;
    let diagnosis = set_up.diagnose().await;
    diagnosis.assert_problem("page: no page is connected", &["open the app"]);
    stop(bridge).await;
}

#[tokio::test]
async fn a_page_of_another_token() {
    let (bridge, set_up) = SetUp::with_bridge(&[]).await;
    let other = "another-token-0123456789-0123456789";
    let _page = set_up.connect_page(other, plain_schema()).await;
    let diagnosis = set_up.diagnose().await;
    let own = format!("(process {}) is connected", std::process::id());
    diagnosis.assert_problem(
        "page: no page",
        &[&own, "another token", "configuration panel"],
    );
    stop(bridge).await;
}

#[tokio::test]
async fn a_token_that_the_bridge_refuses() {
    let (bridge, set_up) =
        SetUp::with_bridge(&["--tokens", "some-other-token-0123456789-0123456789"]).await;
    let diagnosis = set_up.diagnose().await;
    diagnosis.assert_problem("token: ", &["refused the token", "configuration panel"]);
    stop(bridge).await;
}

#[tokio::test]
async fn an_entry_with_a_syntax_error() {
    let (bridge, set_up) = SetUp::with_bridge(&[]).await;
    let _page = set_up.connect_page(TOKEN, plain_schema()).await;
    set_up.write(".cursor/mcp.json", "{\n  \"mcpServers\": }");
    let diagnosis = set_up.diagnose().await;
    let words = [
        ".cursor/mcp.json",
        "line 2, column",
        "mcp-web install cursor",
    ];
    diagnosis.assert_problem("Cursor: ", &words);
    stop(bridge).await;
}

#[tokio::test]
async fn a_program_that_has_moved() {
    let (bridge, set_up) = SetUp::with_bridge(&[]).await;
    let _page = set_up.connect_page(TOKEN, plain_schema()).await;
    set_up.write_entry("/no/such/folder/mcp-web", &["stdio"]);
    let diagnosis = set_up.diagnose().await;
    let words = [
        "/no/such/folder/mcp-web does not exist",
        "mcp-web install cursor",
    ];
    diagnosis.assert_problem("Cursor, entry `web`: ", &words);
    stop(bridge).await;
}

#[tokio::test]
async fn a_program_that_the_project_names_is_not_run() {
    let (bridge, set_up) = SetUp::with_bridge(&[]).await;
    let program = set_up.write_script("mcp-web", "touch \"$0.was-run\"; echo mcp-web 0.0.1");
    let entry = json!({ "mcpServers": {
        "web": { "command": program, "args": ["stdio"], "env": {
            "MCP_SERVER_URL": format!("{}/mcp?token=a-secret", set_up.url),
        } },
        "other": { "command": "sh", "args": ["-c", format!("touch {program}.was-run"), "mcp-web", "stdio"] },
    } });
    set_up.write("project/.cursor/mcp.json", &entry.to_string());
    let mut doctor = set_up.doctor();
    doctor.current_dir(set_up.home.path().join("project"));
    let ended = run(doctor).await;
    assert!(ended.stdout.contains("was not run"), "{ended:?}");
    assert!(!ended.stdout.contains("a-secret"), "{ended:?}");
    assert!(!std::path::Path::new(&format!("{program}.was-run")).exists());
    stop(bridge).await;
}

#[tokio::test]
async fn an_old_version_of_the_program() {
    let (bridge, set_up) = SetUp::with_bridge(&[]).await;
    let _page = set_up.connect_page(TOKEN, plain_schema()).await;
    let program = set_up.write_script("old/mcp-web", "echo mcp-web 0.0.9");
    set_up.write_entry(&program, &["stdio"]);
    let diagnosis = set_up.diagnose().await;
    let words = ["is version 0.0.9", "mcp-web install cursor"];
    diagnosis.assert_problem("Cursor, entry `web`: ", &words);
    stop(bridge).await;
}

#[tokio::test]
async fn node_without_the_package_and_no_node() {
    let (bridge, set_up) = SetUp::with_bridge(&[]).await;
    let _page = set_up.connect_page(TOKEN, plain_schema()).await;
    set_up.write_entry("npx", &["-y", "mcp-web@0.1.0", "stdio"]);
    let subject = "Cursor, entry `web`: ";
    let diagnosis = set_up.diagnose().await;
    diagnosis.assert_problem(
        subject,
        &["Node.js", "search path", "mcp-web install cursor"],
    );
    // As npx ends where Node.js is missing, and where its cache has no such package.
    for (script, words) in [
        ("exit 127", "needs Node.js"),
        (
            "[ \"$npm_config_offline $*\" = 'true -y mcp-web@0.1.0 --version' ] && exit 1",
            "cache does not have the package",
        ),
    ] {
        set_up.write_script("bin/npx", script);
        let diagnosis = set_up.diagnose().await;
        diagnosis.assert_problem(subject, &[words, "mcp-web install cursor"]);
    }
    let fitting = concat!("echo mcp-web ", env!("CARGO_PKG_VERSION"));
    set_up.write_script("bin/npx", fitting);
    assert_eq!(set_up.diagnose().await.code, Some(0));
    stop(bridge).await;
}

#[tokio::test]
async fn a_schema_that_a_client_refuses() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("bridge.toml");
    let profile = "[[clients]]\nname = \"codex-mcp-client\"\nroot_unions = true\n";
    std::fs::write(&config, profile).unwrap();
    let (bridge, set_up) = SetUp::with_bridge(&["--config", config.to_str().unwrap()]).await;
    let schema = json!({ "type": "object", "oneOf": [{ "required": ["a"] }] });
    let _page = set_up.connect_page(TOKEN, schema).await;
    set_up.write_entry(PROGRAM, &["stdio"]);
    set_up.write(
        ".codex/config.toml",
        &format!(
            "[mcp_servers.web]\ncommand = {PROGRAM:?}\nargs = [\"stdio\"]\n\
             env = {{ MCP_SERVER_URL = \"{}/mcp\", AUTH_TOKEN = {TOKEN:?} }}\n",
            set_up.url
        ),
    );
    let diagnosis = set_up.diagnose().await;
    let words = ["`add_card`", "oneOf", "root_unions"];
    diagnosis.assert_problem("schemas for Codex: ", &words);
    diagnosis.assert_ok("schemas for Cursor");
    stop(bridge).await;
}

#[tokio::test]
async fn an_entry_with_another_address_and_another_token() {
    let (bridge, set_up) = SetUp::with_bridge(&[]).await;
    let _page = set_up.connect_page(TOKEN, plain_schema()).await;
    let file = json!({ "mcpServers": { "web": {
        "command": PROGRAM, "args": ["stdio"],
        "env": { "MCP_SERVER_URL": "http://127.0.0.1:1/mcp", "AUTH_TOKEN": "some-secret-of-another-page" },
    } } });
    set_up.write(".cursor/mcp.json", &file.to_string());
    let ended = run(set_up.doctor()).await;
    assert_eq!(ended.code, Some(1));
    let problems = ended
        .stdout
        .lines()
        .filter(|it| it.starts_with("problem: Cursor"));
    let problems: Vec<_> = problems.collect();
    assert_eq!(problems.len(), 2, "{ended:?}");
    assert!(
        problems[0].contains("http://127.0.0.1:1/mcp"),
        "{problems:?}"
    );
    assert!(problems[1].contains("token"), "{problems:?}");
    assert!(!ended.stdout.contains("some-secret"), "{ended:?}");
    stop(bridge).await;
}

#[tokio::test]
async fn a_page_with_an_sdk_of_another_version() {
    let (bridge, set_up) = SetUp::with_bridge(&[]).await;
    let message = raw_page::authenticate_message("tab", TOKEN);
    for (version, words) in [
        (
            "0.1.0",
            ["version 0.1.0 of the SDK", "update `mcp-web-sdk`"],
        ),
        (
            "999.0.0",
            ["version 999.0.0 of the SDK", "update the bridge"],
        ),
    ] {
        let mut page = Page::open_with_headers(set_up.address(), "tab", &[]).await;
        let message = Authenticate {
            sdk_version: Some(version.to_owned()),
            ..message.clone()
        };
        page.send(PageToBridge::Authenticate(Box::new(message)))
            .await;
        page.recv_authenticated().await;
        let diagnosis = set_up.diagnose().await;
        diagnosis.assert_problem("page: Test page", &words);
        page.close().await;
    }
    stop(bridge).await;
}

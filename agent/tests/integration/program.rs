//! The program: what it says, and when it does not start.

use std::process::Stdio;

use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::kit::*;

fn program() -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_mcp-web-agent"));
    program.env_clear().kill_on_drop(true).stdin(Stdio::null());
    program
}

fn scripted_program() -> Command {
    let mut program = program();
    program
        .args(["--provider", "commands", "--bind", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    program
}

/// Where it listens.
async fn listening_url(child: &mut Child) -> String {
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = with_deadline("line", lines.next_line())
        .await
        .unwrap()
        .unwrap();
    line.strip_prefix("listening on ").unwrap().to_owned()
}

/// What it says when it does not start.
async fn startup_error(program: &mut Command) -> String {
    let output = with_deadline("end", program.output()).await.unwrap();
    assert_eq!(output.status.code(), Some(2));
    String::from_utf8(output.stderr).unwrap()
}

#[tokio::test]
async fn it_says_where_it_listens_and_stops_on_a_signal() {
    let mut child = scripted_program()
        .env("MCP_WEB_AGENT_TOKEN", CREDENTIAL)
        .spawn()
        .unwrap();
    let url = listening_url(&mut child).await;
    let health = url.replace("/query", "/healthz");
    let (status, health) = status_and_body(http_client().get(health)).await;
    assert_eq!(
        (status, health),
        (200, json!({ "status": "ok", "queries": 0 }))
    );
    let id = child.id().unwrap().to_string();
    let kill = Command::new("kill").args(["-TERM", &id]).status();
    assert!(kill.await.unwrap().success());
    let output = with_deadline("end", child.wait_with_output())
        .await
        .unwrap();
    assert!(output.status.success());
    let log = String::from_utf8(output.stderr).unwrap();
    assert!(log.contains("commands (no language model)"), "{log}");
}

#[tokio::test]
async fn it_stops_when_stdin_ends_if_that_counts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.toml");
    std::fs::write(&path, "until_stdin_ends = true").unwrap();
    let mut child = scripted_program()
        .env("MCP_WEB_AGENT_TOKEN", CREDENTIAL)
        .env("MCP_WEB_AGENT_CONFIG", &path)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    listening_url(&mut child).await;
    assert!(child.try_wait().unwrap().is_none(), "it is still open");
    drop(child.stdin.take());
    assert!(with_deadline("end", child.wait()).await.unwrap().success());

    // Its own is at its end from the beginning, and it listens.
    let mut child = scripted_program()
        .env("MCP_WEB_AGENT_TOKEN", CREDENTIAL)
        .spawn()
        .unwrap();
    let health = listening_url(&mut child)
        .await
        .replace("/query", "/healthz");
    assert_eq!(status_and_body(http_client().get(health)).await.0, 200);
}

#[tokio::test]
async fn it_shares_a_credential_of_the_user_that_nobody_has_given() {
    let home = tempfile::tempdir().unwrap();
    let mut child = scripted_program().env("HOME", home.path()).spawn().unwrap();
    let url = listening_url(&mut child).await;
    let file = home.path().join(".config/mcp-web/agent-token");
    let credential = std::fs::read_to_string(file).unwrap();
    let ask = || http_client().put(&url).json(&prompt("hello"));
    let (status, _) = status_and_body(ask().bearer_auth(credential.trim())).await;
    assert_eq!(status, 400, "it is known, and the query's token is missing");

    let without = startup_error(&mut scripted_program()).await;
    assert!(without.contains("MCP_WEB_AGENT_TOKEN"), "{without}");
}

#[tokio::test]
async fn without_a_model_it_says_what_to_set() {
    let error = startup_error(program().env("MCP_WEB_AGENT_TOKEN", CREDENTIAL)).await;
    for part in [
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "GEMINI_API_KEY",
        "--base-url",
        "ollama",
        "--provider commands",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
}

#[tokio::test]
async fn an_open_address_needs_a_credential_that_is_given() {
    let home = tempfile::tempdir().unwrap();
    let mut open = program();
    open.args(["--provider", "commands", "--bind", "0.0.0.0:0"]);
    open.env("HOME", home.path());
    let error = startup_error(&mut open).await;
    assert!(
        error.contains("MCP_WEB_AGENT_TOKEN") && error.contains("agent_token"),
        "{error}"
    );
    let with = agent::Config {
        bind: ([0, 0, 0, 0], 0).into(),
        ..settings()
    };
    agent::bind(with).await.unwrap();
}

#[tokio::test]
async fn wrong_settings_are_named() {
    for (wrong, part) in [
        (("MCP_WEB_AGENT_MAX_ROUNDS", "0"), "--max-rounds"),
        (("MCP_WEB_AGENT_QUERY_TIMEOUT", "soon"), "250ms"),
        (("MCP_WEB_AGENT_ALLOWED_ORIGINS", "app"), "allowed_origins"),
        (("MCP_WEB_AGENT_ALLOWED_HOSTS", "a b"), "allowed_hosts"),
        (("MCP_WEB_AGENT_BRIDGE_URL", "ftp://a"), "--bridge-url"),
        (("MCP_WEB_AGENT_TOKEN", "hush hush"), "not shown"),
        (("MCP_WEB_AGENT_TOKEN", "hush"), "16"),
        (("MCP_WEB_AGENT_CONFIG", "/no/such.toml"), "cannot be read"),
    ] {
        let mut program = scripted_program();
        program.env("MCP_WEB_AGENT_TOKEN", CREDENTIAL);
        let error = startup_error(program.env(wrong.0, wrong.1)).await;
        assert!(
            error.contains(part) && !error.contains("hush"),
            "{wrong:?}: {error}"
        );
    }
    let taken = agent::bind(settings()).await.unwrap();
    let again = agent::Config {
        bind: taken.local_addr(),
        ..settings()
    };
    let error = agent::bind(again).await.unwrap_err().to_string();
    assert!(error.contains(&taken.local_addr().to_string()), "{error}");
}

#[tokio::test]
async fn a_file_has_what_flags_and_variables_do_not_say() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.toml");
    let write = |text: &str| std::fs::write(&path, text).unwrap();
    let with_file = || {
        let mut program = program();
        program
            .arg("--config")
            .arg(&path)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        program
    };
    write(&format!(
        "provider = \"commands\"\nbind = \"127.0.0.1:0\"\ntoken = \"{CREDENTIAL}\"\n\
         max_queries = 3\nquery_timeout = \"2m\"\nallowed_hosts = [\"loopback\", \"a.example\"]\n\
         max_body_bytes = 100\n"
    ));
    let mut child = with_file()
        .env("MCP_WEB_AGENT_MAX_BODY_BYTES", "50")
        .spawn()
        .unwrap();
    let url = listening_url(&mut child).await;
    let ask = as_bridge(http_client().put(&url).header("host", "a.example"));
    let (status, large) = status_and_body(ask.json(&prompt(&"x".repeat(60)))).await;
    assert_eq!(status, 413);
    let message = large["message"].as_str().unwrap();
    assert!(message.contains("more than 50 bytes"), "{message}");
    for (text, parts) in [
        ("\nmax_querys = 3", [":2: ", "nearest one is `max_queries`"]),
        ("max_queries = 0", [":1: `max_queries`", "from 1 up"]),
        ("bind = 5", [":1: `bind`", "ADDR:PORT"]),
        (
            "thinking = \"much\"",
            ["`thinking`", "off, low, medium, high"],
        ),
        ("query_timeout = 5", ["`query_timeout`", "250ms"]),
        (
            "until_stdin_ends = \"yes\"",
            ["`until_stdin_ends`", "true and false"],
        ),
        ("token = \"hush hush\"", ["`token`", "visible ASCII"]),
        ("token = \"hush", [":1: this is not TOML", ""]),
        ("[agent]\nbind = \"a\"", ["`agent` is not a setting", ""]),
    ] {
        write(text);
        let error = startup_error(&mut with_file()).await;
        for part in parts {
            assert!(error.contains(part), "{text:?}: {error}");
        }
        assert!(!error.contains("hush"), "{error}");
    }
}

#[tokio::test]
async fn no_log_shows_a_key_or_a_token() {
    let key = "sk-hush-hush-0123456789";
    let mut child = scripted_program()
        .args(["--log", "trace"])
        .env("MCP_WEB_AGENT_TOKEN", CREDENTIAL)
        .env("ANTHROPIC_API_KEY", key)
        .spawn()
        .unwrap();
    let url = listening_url(&mut child).await;
    let asked = as_bridge(http_client().put(&url)).json(&prompt("a-secret-of-the-page"));
    let last = EventStream::open(streaming(asked)).await.last().await;
    assert_eq!(last["type"], "query_failure", "{last}");
    let asked = http_client()
        .put(&url)
        .bearer_auth(TOKEN)
        .json(&prompt("hello"));
    let (_, refused) = status_and_body(streaming(asked)).await;
    child.start_kill().unwrap();
    let output = with_deadline("end", child.wait_with_output())
        .await
        .unwrap();
    let log = String::from_utf8(output.stderr).unwrap();
    assert!(log.contains("a query has ended"), "{log}");
    for text in [log, last.to_string(), refused.to_string()] {
        for secret in [key, CREDENTIAL, TOKEN, "mcp-web-query-of", "a-secret-of"] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
    }
}

#[tokio::test]
async fn the_configuration_in_effect_is_a_file_that_gives_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.toml");
    let printed = async |program: &mut Command| {
        let output = with_deadline("end", program.arg("--print-config").output()).await;
        let output = output.unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    let mut first = program();
    first
        .args(["--provider", "commands", "--max-rounds", "3"])
        .env("MCP_WEB_AGENT_TOKEN", CREDENTIAL)
        .env(
            "MCP_WEB_AGENT_ALLOWED_ORIGINS",
            "loopback,https://a.example",
        );
    let first = printed(&mut first).await;
    for line in [
        "max_rounds = 3 # from its flag",
        "allowed_origins = [\"loopback\", \"https://a.example\"] # from its variable",
        "# token is set and not shown # from its variable",
        "# model is not set",
        "query_timeout = \"10m\"",
    ] {
        assert!(first.lines().any(|it| it == line), "{line}: {first}");
    }
    std::fs::write(&path, &first).unwrap();
    let second = printed(program().arg("--config").arg(&path)).await;
    let values = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines
            .map(|line| line.split(" # ").next().unwrap().to_owned())
            .collect()
    };
    assert_eq!(values(&first), values(&second));
}

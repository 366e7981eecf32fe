//! Settings from a file: who wins, what is said about them, and that it can be read back.

use std::path::{Path, PathBuf};
use std::process::Output;

use tempfile::TempDir;
use tokio::process::Command;

use crate::kit::TOKEN;

fn program() -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_mcp-web-bridge"));
    program.env_clear().kill_on_drop(true);
    program
}

fn file(folder: &TempDir, text: &str) -> PathBuf {
    let path = folder.path().join("bridge.toml");
    std::fs::write(&path, text).unwrap();
    path
}

async fn with(path: &Path, action: &str) -> Output {
    let program = program().arg("--config").arg(path).arg(action).output();
    program.await.unwrap()
}

/// What a run said on stdout, after it ended well and said nothing else.
fn said(output: Output) -> String {
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), errors.as_str()), (Some(0), ""));
    String::from_utf8(output.stdout).unwrap()
}

/// What a run said on stderr, after it ended with the code of wrong settings.
fn complaint(output: Output) -> String {
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty(), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// Without comments: the settings alone.
fn settings(printed: &str) -> String {
    let lines = printed
        .lines()
        .map(|line| line.split(" # ").next().unwrap());
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn flags_override_variables_override_the_file_overrides_defaults() {
    let folder = TempDir::new().unwrap();
    let path = file(
        &folder,
        "max_calls = 11\nmax_sessions = 12\nmax_clients = 13\nallow_token_in_url = true\n\
         jwt_audience = [\"a,b\", \"c\"]\nallowed_origins = []\n",
    );
    let output = program()
        .env("MCP_WEB_CONFIG", &path)
        .env("MCP_WEB_MAX_CALLS", "21")
        .env("MCP_WEB_MAX_SESSIONS", "22")
        .env("MCP_WEB_ALLOW_TOKEN_IN_URL", "false")
        .args(["--max-calls", "31", "--print-config"])
        .output();
    let printed = said(output.await.unwrap());
    let from_file = format!("from {}", path.display());
    for line in [
        "max_calls = 31 # from --max-calls",
        "max_sessions = 22 # from MCP_WEB_MAX_SESSIONS",
        &format!("max_clients = 13 # {from_file}"),
        "allow_token_in_url = false # from MCP_WEB_ALLOW_TOKEN_IN_URL",
        &format!("jwt_audience = [\"a,b\", \"c\"] # {from_file}"),
        &format!("allowed_origins = [] # {from_file}"),
        "max_realms = 1000",
        "call_timeout = \"2m\"",
        "# token_file is not set",
    ] {
        assert!(
            printed.lines().any(|printed| printed == line),
            "{line} is not in\n{printed}"
        );
    }
}

#[tokio::test]
async fn printed_configuration_round_trips() {
    let folder = TempDir::new().unwrap();
    let path = file(
        &folder,
        "name = \"a \\\"bridge\\\" # of\\nmine\"\nbind = \"[::1]:0\"\nallow_token_in_url = true\n\
         allowed_hosts = [\"b.example\", \"loopback\"]\nmax_calls = 5\ncall_timeout = \"1m 5s\"\n\
         ambiguous_calls = \"last_active\"\nlog = \"warn,bridge=debug\"\n\
         [[clients]]\nname = \"mine*\"\nmax_result_bytes = 5\nmax_image_edge = 6\npatience = \"90s\"\n",
    );
    let first = said(with(&path, "--print-config").await);
    let second = said(with(&file(&folder, &first), "--print-config").await);
    assert_eq!(settings(&first), settings(&second));
    for line in [
        "max_calls = 5",
        "name = \"mine*\"",
        "patience = \"1m 30s\"",
        "log = \"warn,bridge=debug\"",
    ] {
        assert!(
            settings(&second).lines().any(|set| set == line),
            "{line} is not in\n{second}"
        );
    }
    let defaults = said(program().arg("--print-config").output().await.unwrap());
    let again = said(with(&file(&folder, &defaults), "--print-config").await);
    assert_eq!(settings(&defaults), settings(&again));
}

#[tokio::test]
async fn secrets_are_redacted_whatever_their_source() {
    let folder = TempDir::new().unwrap();
    let secret = "hush-hush-hush-hush-hush-hush-hush";
    let url = format!("https://id.example/jwks?key={secret}");
    let path = file(
        &folder,
        &format!("state_key = \"{secret}\"\njwks_url = \"{url}\"\n"),
    );
    let output = program()
        .env("MCP_WEB_TOKENS", secret)
        .arg("--config")
        .arg(&path)
        .args(["--jwt-secret", secret, "--print-config"])
        .output();
    let printed = said(output.await.unwrap());
    assert!(!printed.contains("hush"), "{printed}");
    for line in [
        "# tokens is set and not shown, from MCP_WEB_TOKENS",
        "# jwt_secret is set and not shown, from --jwt-secret",
        &format!("# state_key is set and not shown, from {}", path.display()),
        &format!("# jwks_url is set and not shown, from {}", path.display()),
    ] {
        assert!(
            printed.lines().any(|printed| printed == line),
            "{line} is not in\n{printed}"
        );
    }
    let short = program().env("MCP_WEB_STATE_KEY", "hush-hush").output();
    let error = complaint(short.await.unwrap());
    assert!(
        error.contains("--state-key") && error.contains("32 characters"),
        "{error}"
    );
    assert!(!error.contains("hush"), "{error}");
}

#[tokio::test]
async fn check_config_summarizes_a_valid_configuration() {
    let folder = TempDir::new().unwrap();
    let path = file(
        &folder,
        &format!(
            "bind = \"0.0.0.0:3001\"\ntokens = [\"{TOKEN}\"]\nallowed_origins = [\"https://app.example.com\"]\n"
        ),
    );
    let good = said(with(&path, "--check-config").await);
    assert_eq!(
        good,
        "configuration is good\naddress: 0.0.0.0:3001\nhosts: loopback\n\
         pages: https://app.example.com, and the bridge's own\ntokens: 1 that are listed\n"
    );
    let signed = file(
        &folder,
        "jwt_secret = \"hush-hush-hush-hush-hush-hush-hush\"\njwt_issuer = \"https://id.example\"\n\
         jwt_audience = [\"mcp-web\"]\njwks_url = \"https://user:hush@id.example/jwks\"\n",
    );
    let good = said(with(&signed, "--check-config").await);
    let tokens = "tokens: signed ones of https://id.example for mcp-web, checked with a secret and \
                  the keys at a URL with credentials\n";
    assert!(good.ends_with(tokens), "{good}");
    let defaults = said(program().arg("--check-config").output().await.unwrap());
    assert!(
        defaults.contains("tokens: any that a page makes itself"),
        "{defaults}"
    );
}

#[tokio::test]
async fn check_config_reports_the_same_errors_as_startup() {
    let folder = TempDir::new().unwrap();
    let absent = folder.path().join("absent");
    let no_keys = folder.path().join("no-keys");
    std::fs::write(&no_keys, "neither PEM nor JSON").unwrap();
    let cases = [
        ("bind = \"0.0.0.0:3001\"".to_owned(), "MCP_WEB_TOKENS"),
        ("tokens = [\"short\"]".to_owned(), "16 characters"),
        (
            "allowed_origins = [\"app.example.com\"]".to_owned(),
            "`allowed_origins` has",
        ),
        ("allowed_hosts = []".to_owned(), "`allowed_hosts` is empty"),
        (
            format!("token_file = {:?}", absent.display().to_string()),
            "`token_file` cannot be read",
        ),
        ("max_calls = 0".to_owned(), "bridge.toml:1: `max_calls`"),
        (
            format!(
                "jwt_issuer = \"i\"\njwt_audience = [\"a\"]\njwt_keys = {:?}",
                absent.display()
            ),
            "`jwt_keys`",
        ),
        (
            format!(
                "jwt_issuer = \"i\"\njwt_audience = [\"a\"]\njwt_keys = {:?}",
                no_keys.display()
            ),
            "`jwt_keys`",
        ),
    ];
    for (text, reason) in cases {
        let path = file(&folder, &text);
        let checked = complaint(with(&path, "--check-config").await);
        assert!(checked.contains(reason), "{text}: {checked}");
        let start = program().arg("--config").arg(&path).output();
        let started = complaint(start.await.unwrap());
        assert!(started.contains(reason), "{text}: {started}");
    }
    let error = complaint(with(&absent, "--check-config").await);
    assert!(
        error.contains("absent: the configuration file cannot be read"),
        "{error}"
    );
}

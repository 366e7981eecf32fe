//! Settings from a file: their precedence, `--check-config`, and `--print-config`, whose output can
//! be used as a configuration file.

use std::path::{Path, PathBuf};
use std::process::Output;

use tempfile::TempDir;

use crate::kit::{TOKEN, bridge_program};

fn write_config(folder: &TempDir, text: &str) -> PathBuf {
    let path = folder.path().join("bridge.toml");
    std::fs::write(&path, text).unwrap();
    #[cfg(unix)]
    set_mode(&path, 0o600);
    path
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// Runs the program with a configuration file and a flag such as `--check-config`.
async fn run_with(path: &Path, action: &str) -> Output {
    let mut program = bridge_program();
    let output = program.arg("--config").arg(path).arg(action).output();
    output.await.unwrap()
}

/// The stdout of a run, which must have succeeded with nothing on stderr.
fn stdout_of(output: Output) -> String {
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), errors.as_str()), (Some(0), ""));
    String::from_utf8(output.stdout).unwrap()
}

/// The stderr of a run, which must have failed with the exit code of invalid settings.
fn stderr_of(output: Output) -> String {
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty(), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// The settings without the comments.
fn strip_comments(printed: &str) -> String {
    let lines = printed
        .lines()
        .map(|line| line.split(" # ").next().unwrap());
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.collect::<Vec<_>>().join("\n")
}

fn assert_has_lines(text: &str, lines: &[&str]) {
    for line in lines {
        assert!(
            text.lines().any(|printed| printed == *line),
            "{line} is not in\n{text}"
        );
    }
}

#[tokio::test]
async fn flags_override_variables_override_the_file_overrides_defaults() {
    let folder = TempDir::new().unwrap();
    let path = write_config(
        &folder,
        "max_calls = 11\nmax_sessions = 12\nmax_clients = 13\nallow_token_in_url = true\n\
         jwt_audience = [\"a,b\", \"c\"]\nallowed_origins = []\n",
    );
    let output = bridge_program()
        .env("MCP_WEB_CONFIG", &path)
        .env("MCP_WEB_MAX_CALLS", "21")
        .env("MCP_WEB_MAX_SESSIONS", "22")
        .env("MCP_WEB_ALLOW_TOKEN_IN_URL", "false")
        .args(["--max-calls", "31", "--print-config"])
        .output();
    let printed = stdout_of(output.await.unwrap());
    let from_file = format!("from {}", path.display());
    let lines = [
        "max_calls = 31 # from --max-calls",
        "max_sessions = 22 # from MCP_WEB_MAX_SESSIONS",
        &format!("max_clients = 13 # {from_file}"),
        "allow_token_in_url = false # from MCP_WEB_ALLOW_TOKEN_IN_URL",
        &format!("jwt_audience = [\"a,b\", \"c\"] # {from_file}"),
        &format!("allowed_origins = [] # {from_file}"),
        "# max_realms is not set",
        "call_timeout = \"2m\"",
        "# token_file is not set",
    ];
    assert_has_lines(&printed, &lines);
}

#[tokio::test]
async fn printed_configuration_round_trips() {
    let folder = TempDir::new().unwrap();
    let path = write_config(
        &folder,
        "name = \"a \\\"bridge\\\" # of\\nmine\"\nbind = \"[::1]:0\"\nallow_token_in_url = true\n\
         allowed_hosts = [\"b.example\", \"loopback\"]\nmax_calls = 5\ncall_timeout = \"1m 5s\"\n\
         ambiguous_calls = \"last_active\"\nlog = \"warn,bridge=debug\"\n\
         [[clients]]\nname = \"mine*\"\nmax_result_bytes = 5\nmax_image_edge = 6\npatience = \"90s\"\n\
         max_media_bytes = 7\nroot_unions = true\n",
    );
    let first = stdout_of(run_with(&path, "--print-config").await);
    let second = stdout_of(run_with(&write_config(&folder, &first), "--print-config").await);
    assert_eq!(strip_comments(&first), strip_comments(&second));
    let lines = [
        "max_calls = 5",
        "name = \"mine*\"",
        "max_media_bytes = 7",
        "patience = \"1m 30s\"",
        "root_unions = true",
        "log = \"warn,bridge=debug\"",
    ];
    assert_has_lines(&strip_comments(&second), &lines);
    let defaults = stdout_of(
        bridge_program()
            .arg("--print-config")
            .output()
            .await
            .unwrap(),
    );
    let reprinted = stdout_of(run_with(&write_config(&folder, &defaults), "--print-config").await);
    assert_eq!(strip_comments(&defaults), strip_comments(&reprinted));
}

#[tokio::test]
async fn secrets_are_redacted_whatever_their_source() {
    let folder = TempDir::new().unwrap();
    let secret = "hush-hush-hush-hush-hush-hush-hush";
    let url = format!("https://id.example/jwks?key={secret}");
    let path = write_config(
        &folder,
        &format!("state_key = \"{secret}\"\njwks_url = \"{url}\"\n"),
    );
    let output = bridge_program()
        .env("MCP_WEB_TOKENS", secret)
        .arg("--config")
        .arg(&path)
        .args(["--jwt-secret", secret, "--print-config"])
        .output();
    let printed = stdout_of(output.await.unwrap());
    assert!(!printed.contains("hush"), "{printed}");
    let lines = [
        "# tokens is set and not shown, from MCP_WEB_TOKENS",
        "# jwt_secret is set and not shown, from --jwt-secret",
        &format!("# state_key is set and not shown, from {}", path.display()),
        &format!("# jwks_url is set and not shown, from {}", path.display()),
    ];
    assert_has_lines(&printed, &lines);
    let too_short = bridge_program()
        .env("MCP_WEB_STATE_KEY", "hush-hush")
        .output();
    let error = stderr_of(too_short.await.unwrap());
    assert!(
        error.contains("--state-key") && error.contains("32 characters"),
        "{error}"
    );
    assert!(!error.contains("hush"), "{error}");
}

#[tokio::test]
async fn check_config_summarizes_a_valid_configuration() {
    let folder = TempDir::new().unwrap();
    let path = write_config(
        &folder,
        &format!(
            "bind = \"0.0.0.0:3001\"\ntokens = [\"{TOKEN}\"]\nallowed_origins = [\"https://app.example.com\"]\n"
        ),
    );
    let summary = stdout_of(run_with(&path, "--check-config").await);
    let expected = "configuration can be used, with 1 warning\naddress: 0.0.0.0:3001\n\
        hosts: loopback\npages: https://app.example.com, and the bridge's own\n\
        tokens: 1 that are listed\nmemory: ";
    assert!(summary.starts_with(expected), "{summary}");
    assert!(summary.contains("\nlimits: "), "{summary}");
    assert!(
        summary.contains("\nwarning: other machines reach 0.0.0.0:3001"),
        "{summary}"
    );
    let signed = write_config(
        &folder,
        "jwt_secret = \"hush-hush-hush-hush-hush-hush-hush\"\njwt_issuer = \"https://id.example\"\n\
         jwt_audience = [\"mcp-web\"]\njwks_url = \"https://user:hush@id.example/jwks\"\n",
    );
    let summary = stdout_of(run_with(&signed, "--check-config").await);
    let tokens = "tokens: signed ones of https://id.example for mcp-web, checked with a secret and \
                  the keys at a URL with credentials\n";
    assert!(summary.starts_with("configuration is good\n"), "{summary}");
    assert!(summary.contains(tokens), "{summary}");
    let defaults = stdout_of(
        bridge_program()
            .arg("--check-config")
            .output()
            .await
            .unwrap(),
    );
    assert!(
        defaults.contains("tokens: any that a page makes itself"),
        "{defaults}"
    );
}

#[cfg(unix)]
#[tokio::test]
async fn check_config_warns_of_secrets_that_every_user_can_read() {
    let folder = TempDir::new().unwrap();
    let secret = "metrics_token = \"hush-hush-hush-hush-hush-hush-hush\"";
    for (text, mode, warns) in [
        (secret, 0o644, true),
        (secret, 0o600, false),
        ("name = \"a bridge\"", 0o644, false),
    ] {
        let path = write_config(&folder, text);
        set_mode(&path, mode);
        let checked = stdout_of(run_with(&path, "--check-config").await);
        let chmod = format!("chmod o= {}", path.display());
        assert_eq!(checked.contains(&chmod), warns, "{text}: {checked}");
        assert_eq!(checked.contains("with 1 warning\n"), warns, "{checked}");
    }
}

/// Each of these configurations contradicts itself, and was once found good.
#[tokio::test]
async fn check_config_warns_of_contradictions_and_exits_with_0() {
    let folder = TempDir::new().unwrap();
    let oauth = "bind = \"127.0.0.1:3001\"\npublic_url = \"https://bridge.example.com\"\n\
        allowed_hosts = [\"bridge.example.com\"]\ntrusted_proxies = [\"127.0.0.1\"]\n\
        authorization_servers = [\"https://id.example.com\"]\n";
    let keys = "jwks_url = \"https://id.example.com/jwks.json\"\n\
        jwt_issuer = \"https://id.example.com\"\n";
    for (rest, warning) in [
        (
            format!("{keys}jwt_audience = [\"https://bridge.example.com\"]"),
            "OAuth clients request tokens for https://bridge.example.com/mcp",
        ),
        (format!("tokens = [\"{TOKEN}\"]"), "there are no keys"),
    ] {
        let path = write_config(&folder, &format!("{oauth}{rest}"));
        let checked = stdout_of(run_with(&path, "--check-config").await);
        assert!(
            checked.contains("can be used, with 1 warning\n"),
            "{checked}"
        );
        assert!(checked.contains(warning), "{checked}");
        assert!(!checked.contains(TOKEN), "{checked}");
    }
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
            "`token_file` cannot be used",
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
        let path = write_config(&folder, &text);
        let checked = stderr_of(run_with(&path, "--check-config").await);
        assert!(checked.contains(reason), "{text}: {checked}");
        let start = bridge_program().arg("--config").arg(&path).output();
        let started = stderr_of(start.await.unwrap());
        assert!(started.contains(reason), "{text}: {started}");
    }
    let error = stderr_of(run_with(&absent, "--check-config").await);
    assert!(
        error.contains("absent: the configuration file cannot be read"),
        "{error}"
    );
}

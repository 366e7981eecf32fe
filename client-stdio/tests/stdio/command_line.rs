//! Tests of flags, environment and exit codes.

use tokio::process::Command;

use crate::client::BINARY;

async fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(BINARY).args(arguments).output().await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[tokio::test]
async fn help_names_each_flag_and_variable() {
    let (code, help, _) = run(&["--help"]).await;
    assert_eq!(code, Some(0));
    for expected in [
        "--url",
        "MCP_SERVER_URL",
        "http://127.0.0.1:3001/mcp",
        "https://HOST",
        "SSL_CERT_FILE",
        "--token",
        "AUTH_TOKEN",
        "--token-command",
        "MCP_WEB_TOKEN_COMMAND",
        "--session",
        "MCP_WEB_SESSION",
        "--log",
        "MCP_WEB_LOG",
        "list of processes",
    ] {
        assert!(help.contains(expected), "{expected} is missing in:\n{help}");
    }
}

#[tokio::test]
async fn a_wrong_value_exits_with_2_and_names_flag_and_variable() {
    for (flag, variable, value) in [
        ("--url", "MCP_SERVER_URL", "localhost:1234"),
        ("--token", "AUTH_TOKEN", "two words"),
        ("--session", "MCP_WEB_SESSION", "två"),
        ("--log", "MCP_WEB_LOG", "loud"),
    ] {
        let (code, stdout, stderr) = run(&[flag, value]).await;
        assert_eq!(code, Some(2), "{flag}");
        assert!(
            stderr.contains(flag) && stderr.contains(variable),
            "{stderr}"
        );
        assert!(stdout.is_empty() && !stderr.contains(value), "{stderr}");
    }
}

#[tokio::test]
async fn an_unknown_flag_exits_with_2() {
    let (code, stdout, stderr) = run(&["--nope"]).await;
    assert_eq!(code, Some(2));
    assert!(stdout.is_empty() && stderr.contains("--nope"), "{stderr}");
}

#[tokio::test]
async fn a_token_over_http_to_another_machine_is_a_warning_and_one_to_this_machine_is_not() {
    let token = "a-token-of-many-letters";
    for (url, warns) in [
        ("http://192.0.2.1:3001", true),
        ("http://localhost:1", false),
        ("https://192.0.2.1:3001", false),
    ] {
        let (code, _, log) = run(&["--url", url, "--token", token]).await;
        assert_eq!(code, Some(0));
        let warning = log.contains("--url (MCP_SERVER_URL)") && log.contains("use https://");
        assert_eq!(warning, warns, "{url}: {log}");
        assert!(!log.contains(token), "{log}");
    }
}

//! Unsafe or invalid configurations, which do not start and name the setting to change, and the
//! output of the program.

use std::process::Stdio;

use bridge::StartError;
use serde_json::json;
use tokio::process::{Child, Command};

use crate::kit::*;

#[tokio::test]
async fn a_non_loopback_bind_address_requires_tokens() {
    let mut config = test_config();
    config.network.bind = ([0, 0, 0, 0], 0).into();
    let error = start_error(config.clone()).await;
    assert!(matches!(error, StartError::Unauthenticated(_)));
    assert!(error.to_string().contains("MCP_WEB_TOKENS"), "{error}");
    config.tokens.tokens = vec!["listed-token-0123456789".to_owned()];
    let bridge = start_bridge_with(config).await;
    bridge.shutdown().await;
}

#[tokio::test]
async fn invalid_list_settings_are_named_in_the_error() {
    let mut config = test_config();
    config.network.allowed_origins = vec!["app.example.com".to_owned()];
    let error = start_error(config).await;
    assert!(error.to_string().contains("allowed_origins"), "{error}");
    let mut config = test_config();
    config.network.allowed_hosts = vec!["a b".to_owned()];
    let error = start_error(config).await;
    assert!(error.to_string().contains("allowed_hosts"), "{error}");
    let mut config = test_config();
    config.tokens.tokens = vec!["short".to_owned()];
    let error = start_error(config).await;
    assert!(error.to_string().contains("16 characters"), "{error}");
    let mut config = test_config();
    config.tokens.token_file = Some("/no/such/file".into());
    let error = start_error(config).await;
    assert!(error.to_string().contains("token_file"), "{error}");
}

#[tokio::test]
async fn a_port_in_use_is_reported_with_its_address() {
    let first = start_bridge().await;
    let mut config = test_config();
    config.network.bind = first.local_addr();
    let error = start_error(config).await;
    assert!(
        error.to_string().contains(&first.local_addr().to_string()),
        "{error}"
    );
    first.shutdown().await;
}

#[tokio::test]
async fn tokens_are_loaded_from_token_file() {
    let file = std::env::temp_dir().join(format!("mcp-web-tokens-{}", std::process::id()));
    std::fs::write(&file, format!("# a comment\n\n{TOKEN}\n")).unwrap();
    let mut config = test_config();
    config.tokens.token_file = Some(file.clone());
    let bridge = start_bridge_with(config).await;
    let page = Page::connect(&bridge, "s", TOKEN).await;
    page.close().await;
    let request = http_client()
        .get(format!("{}/sessions", bridge.url()))
        .bearer_auth("x".repeat(20));
    assert_eq!(request.send().await.unwrap().status(), 401);
    bridge.shutdown().await;
    std::fs::remove_file(file).unwrap();
}

#[tokio::test]
async fn an_empty_token_file_prevents_startup() {
    let file = std::env::temp_dir().join(format!("mcp-web-empty-{}", std::process::id()));
    std::fs::write(&file, "# no token\n").unwrap();
    let mut config = test_config();
    config.tokens.token_file = Some(file.clone());
    let error = start_error(config).await;
    std::fs::remove_file(file).unwrap();
    assert!(matches!(error, StartError::EmptyTokenFile), "{error}");
}

#[tokio::test]
async fn the_program_prints_its_address_and_stops_on_sigterm() {
    let mut child = bridge_program()
        .args(["--bind", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let url = listening_url(&mut child).await;
    let health = http_client()
        .get(format!("{url}/healthz"))
        .send()
        .await
        .unwrap();
    assert_eq!(health.status(), 200);
    let id = child.id().unwrap().to_string();
    let kill = Command::new("kill").args(["-TERM", &id]).status();
    assert!(kill.await.unwrap().success());
    let status = with_deadline("end of the program", child.wait()).await;
    assert!(status.unwrap().success());
}

#[tokio::test]
async fn tokens_never_appear_in_the_log() {
    let mut child = bridge_program()
        .args(["--bind", "127.0.0.1:0", "--log", "trace"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let url = listening_url(&mut child).await;
    let _page = Page::connect_to(url.trim_start_matches("http://"), "s", TOKEN).await;
    let info = json!({ "name": "log", "version": "1" });
    let initialize = initialize_request("2025-06-18", json!({}), info);
    let request = http_client().post(format!("{url}/mcp?token={TOKEN}"));
    let response = request.bearer_auth(TOKEN).json(&initialize).send();
    let response = with_deadline("response", response).await.unwrap();
    assert_eq!(response.status(), 200);
    let log = end_and_read_log(child).await;
    assert!(log.contains("page connected"), "{log}");
    assert!(!log.contains(TOKEN), "{log}");
    assert!(
        !log.contains('\u{1b}'),
        "the log has terminal colours: {log}"
    );
}

#[tokio::test]
async fn an_invalid_environment_value_is_reported_with_its_key() {
    let output = bridge_program()
        .env("MCP_WEB_CALL_TIMEOUT", "soon")
        .output()
        .await
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(
        error.contains("--call-timeout") && error.contains("250ms"),
        "{error}"
    );
}

/// Flags that are not settings: with them the program does something other than serve.
const ACTIONS: [&str; 4] = ["--help", "--version", "--print-config", "--check-config"];

#[tokio::test]
async fn help_lists_every_flag_with_its_variable_and_hides_tokens() {
    let output = bridge_program()
        .arg("--help")
        .env("MCP_WEB_TOKENS", "very-secret-token")
        .output()
        .await
        .unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    for line in help
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with("--"))
    {
        let flag = line.split(' ').next().unwrap().trim_start_matches("--");
        if ACTIONS.iter().any(|action| &action[2..] == flag) {
            continue;
        }
        let variable = format!("MCP_WEB_{}", flag.to_uppercase().replace('-', "_"));
        assert!(
            help.contains(&format!("[env: {variable}")),
            "--{flag} has no {variable}"
        );
    }
    assert!(!help.contains("very-secret-token"));
}

#[tokio::test]
async fn a_credential_over_http_to_an_agent_on_another_machine_is_a_warning() {
    for (url, warns) in [
        ("http://192.0.2.1:3003", true),
        ("https://192.0.2.1", false),
        ("http://127.0.0.1:3003", false),
    ] {
        let mut child = bridge_program()
            .args(["--bind", "127.0.0.1:0", "--agent-url", url])
            .env("MCP_WEB_AGENT_TOKEN", "a-credential-of-many-letters")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        listening_url(&mut child).await;
        let log = end_and_read_log(child).await;
        let warning = log.contains("`agent_url`") && log.contains("use https://");
        assert_eq!(warning, warns, "{url}: {log}");
        assert!(!log.contains("a-credential"), "{log}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_token_file_that_every_user_can_read_is_a_warning() {
    use std::fs::{Permissions, set_permissions, write};
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens");
    write(&path, "a-token-of-many-letters\n").unwrap();
    for (mode, warns) in [(0o644, true), (0o640, false)] {
        set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        let mut child = bridge_program()
            .args(["--bind", "127.0.0.1:0", "--token-file"])
            .arg(&path)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        listening_url(&mut child).await;
        let log = end_and_read_log(child).await;
        assert_eq!(log.contains("chmod o="), warns, "{mode:o}: {log}");
        assert!(!log.contains("a-token"), "{log}");
    }
}

/// Ends a program as its operator does, so that its log is complete, and returns the log.
async fn end_and_read_log(child: Child) -> String {
    let process = child.id().unwrap().to_string();
    let ended = Command::new("kill").arg(process).status().await;
    assert!(ended.unwrap().success());
    let output = with_deadline("end of the program", child.wait_with_output()).await;
    String::from_utf8(output.unwrap().stderr).unwrap()
}

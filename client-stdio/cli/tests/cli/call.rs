//! `call`.

use bridge::ServerHandle;
use bridge_protocol::{CallError, CallResponse, ErrorCode, PageToBridge};
use raw_page::{Page, call_input, raw_json};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::kit::*;

const ARGUMENTS: &str = r#"{"title": "Buy milk"}"#;

/// A call of the tool `add_card` of a bridge, without a token.
fn command(url: &str, arguments: &[&str]) -> Command {
    let mut command = program(&["call", "--url", url, "add_card"]);
    command.args(arguments);
    command
}

fn call(bridge: &ServerHandle, arguments: &[&str]) -> Command {
    let mut command = command(&bridge.url(), arguments);
    command.env("AUTH_TOKEN", TOKEN);
    command
}

/// Runs a call that a page answers with this result. Returns the input of the page as well.
async fn run_with_page(command: Command, page: &mut Page, result: Value) -> (Ended, Value) {
    let (ended, call) = tokio::join!(run(command), page.serve_call(result));
    (ended, call_input(&call))
}

/// Returns the error of a command that prints nothing else.
async fn error(command: Command) -> String {
    let ended = run(command).await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""));
    let error = ended.stderr.strip_prefix("error: ");
    error.unwrap_or_else(|| panic!("{ended:?}")).to_owned()
}

#[tokio::test]
async fn the_text_of_the_result_is_printed() {
    let bridge = start_bridge(&[]).await;
    let mut page = connect_page(&bridge).await;
    let serving = async {
        let call = page.recv_call().await;
        let parts = json!([{ "type": "text", "text": "Added \u{1b}[2J." }]);
        let response = CallResponse {
            request_id: call.request_id.clone(),
            result: None,
            content: Some(raw_json(&parts)),
            structured_content: None,
            meta: None,
        };
        page.send(PageToBridge::CallResponse(response)).await;
        call_input(&call)
    };
    let (ended, input) = tokio::join!(run(call(&bridge, &[ARGUMENTS])), serving);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    // A page cannot control the terminal.
    assert_eq!(ended.stdout, "Added \\u{1b}[2J.\n");
    assert_eq!(input, json!({ "title": "Buy milk" }));
    bridge.shutdown().await;
}

#[tokio::test]
async fn the_whole_result_is_printed_as_json() {
    let bridge = start_bridge(&[]).await;
    let mut page = connect_page(&bridge).await;
    let command = call(&bridge, &["--json", ARGUMENTS]);
    let (ended, _) = run_with_page(command, &mut page, json!({ "id": 7 })).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let result: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(result["structuredContent"]["id"], 7, "{result}");
    bridge.shutdown().await;
}

#[tokio::test]
async fn the_session_of_the_flag_gets_the_call() {
    let bridge = start_bridge(&[]).await;
    let _first = connect_session(&bridge, "first").await;
    let mut second = connect_session(&bridge, "second").await;
    let command = call(&bridge, &["--session", "second", ARGUMENTS]);
    let (ended, _) = run_with_page(command, &mut second, json!({ "id": 8 })).await;
    assert!(ended.stdout.contains('8'), "{ended:?}");
    bridge.shutdown().await;
}

#[tokio::test]
async fn a_tool_that_fails_is_an_error() {
    let bridge = start_bridge(&[]).await;
    let mut page = connect_page(&bridge).await;
    let (ended, ()) = tokio::join!(run(call(&bridge, &[ARGUMENTS])), fail_call(&mut page));
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""));
    assert!(ended.stderr.contains("the board is full"), "{ended:?}");
    let as_json = call(&bridge, &["--json", ARGUMENTS]);
    let (ended, ()) = tokio::join!(run(as_json), fail_call(&mut page));
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(1), ""));
    let result: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(result["isError"], true, "{result}");
    bridge.shutdown().await;
}

/// Responds to the next call with a failure of its handler.
async fn fail_call(page: &mut Page) {
    let call = page.recv_call().await;
    let error = CallError {
        request_id: call.request_id,
        code: ErrorCode::HandlerFailed,
        message: "the board is full".to_owned(),
        data: None,
        content: None,
        meta: None,
    };
    page.send(PageToBridge::CallError(error)).await;
}

#[tokio::test]
async fn an_argument_that_the_schema_rejects_is_an_error_that_names_it() {
    let bridge = start_bridge(&[]).await;
    let _page = connect_page(&bridge).await;
    for arguments in [&[r#"{"title": 7}"#][..], &[]] {
        let error = error(call(&bridge, arguments)).await;
        assert!(error.contains("title"), "{error}");
    }
    bridge.shutdown().await;
}

#[tokio::test]
async fn arguments_that_are_not_an_object_are_an_error_before_any_request() {
    for arguments in ["[1]", "{title: 1}"] {
        let ended = run(command("http://127.0.0.1:1", &[arguments])).await;
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
        assert!(ended.stderr.contains("single quotes"), "{ended:?}");
    }
}

#[tokio::test]
async fn an_unknown_tool_is_an_error() {
    let bridge = start_bridge(&[]).await;
    let _page = connect_page(&bridge).await;
    let mut command = program(&["call", "--url", &bridge.url(), "ad_card"]);
    command.env("AUTH_TOKEN", TOKEN);
    let error = error(command).await;
    assert!(error.contains("ad_card"), "{error}");
    bridge.shutdown().await;
}

#[tokio::test]
async fn without_a_page_the_error_says_to_open_the_app() {
    let bridge = start_bridge(&[]).await;
    let error = error(call(&bridge, &[ARGUMENTS])).await;
    assert!(error.contains("no page is connected"), "{error}");
    assert!(error.contains("open the app"), "{error}");
    bridge.shutdown().await;
}

#[tokio::test]
async fn without_a_bridge_the_error_says_what_to_start() {
    let bridge = start_bridge(&[]).await;
    let command = call(&bridge, &[ARGUMENTS]);
    bridge.shutdown().await;
    let error = error(command).await;
    for words in [
        "no bridge at http://127.0.0.1:",
        "`mcp-web demo`",
        "`mcp-web bridge`",
    ] {
        assert!(error.contains(words), "{error}");
    }
}

#[tokio::test]
async fn a_wrong_token_is_an_error_that_does_not_repeat_it() {
    let bridge = start_bridge(&[TOKEN]).await;
    let wrong = "another-token-0123456789-0123456789";
    let mut command = command(&bridge.url(), &[ARGUMENTS]);
    command.env("AUTH_TOKEN", wrong);
    let error = error(command).await;
    assert!(error.contains("refused the token"), "{error}");
    assert!(error.contains("configuration panel"), "{error}");
    assert!(!error.contains(wrong), "{error}");
    bridge.shutdown().await;
}

#[tokio::test]
async fn the_token_is_read_from_the_standard_input() {
    let bridge = start_bridge(&[TOKEN]).await;
    let mut page = connect_page(&bridge).await;
    let command = command(&bridge.url(), &[ARGUMENTS]);
    let token = format!("{TOKEN}\r\n");
    let running = run_with_input(command, &token);
    let (ended, _) = tokio::join!(running, page.serve_call(json!({ "id": 9 })));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains('9'), "{ended:?}");
    bridge.shutdown().await;
}

#[cfg(unix)]
#[tokio::test]
async fn the_token_is_that_of_a_command() {
    let bridge = start_bridge(&[TOKEN]).await;
    let mut page = connect_page(&bridge).await;
    let mut command = command(&bridge.url(), &[ARGUMENTS]);
    command.env("MCP_WEB_TOKEN_COMMAND", format!("echo {TOKEN}"));
    command.env("PATH", std::env::var_os("PATH").unwrap());
    let (ended, _) = run_with_page(command, &mut page, json!({ "id": 9 })).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    bridge.shutdown().await;
}

#[tokio::test]
async fn without_a_token_nothing_is_requested() {
    let error = error(command("http://127.0.0.1:1", &[ARGUMENTS])).await;
    assert!(error.contains("AUTH_TOKEN"), "{error}");
    let mut with_spaces = command("http://127.0.0.1:1", &[ARGUMENTS]);
    with_spaces.env("AUTH_TOKEN", "two words");
    let error = self::error(with_spaces).await;
    assert!(
        error.contains("visible ASCII") && !error.contains("two words"),
        "{error}"
    );
}

#[tokio::test]
async fn the_token_is_not_an_argument() {
    let ended = run(command("http://127.0.0.1:1", &["--token", TOKEN])).await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
    assert!(ended.stderr.contains("--token"), "{ended:?}");
}

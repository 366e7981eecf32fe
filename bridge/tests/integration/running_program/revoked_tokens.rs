//! Everything of a token that was removed ends, and nothing of others.

use serde_json::{Value, json};

use super::{RunningBridge, replace_file, write_file};
use crate::kit::{
    OTHER_TOKEN, Page, TOKEN, echo_tool, error_code, post_tool_call_to, with_deadline,
};

const NEW_TOKEN: &str = "token-of-a-new-user-0123456789abc";

async fn connect(bridge: &RunningBridge, token: &str) -> Page {
    let mut page = Page::connect_to(bridge.address(), "s", token).await;
    page.register(&[echo_tool()]).await;
    page
}

/// The file is noticed without a signal.
#[tokio::test]
async fn a_token_that_was_removed_from_its_file_ends_with_all_that_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let file = write_file(&folder, "tokens", &format!("{TOKEN}\n{OTHER_TOKEN}\n"));
    let mut bridge = RunningBridge::start(&["--token-file", file.to_str().unwrap()]).await;
    let mut page = connect(&bridge, TOKEN).await;
    let mut other = connect(&bridge, OTHER_TOKEN).await;
    let stream = bridge.open_stream().await;
    let calling = post_tool_call_to(&bridge.url, TOKEN, "echo", json!({ "n": 1 }));
    let removing = async {
        page.recv_call().await;
        replace_file(&file, &format!("{OTHER_TOKEN}\n{NEW_TOKEN}\n"));
        page.recv_call_cancel().await;
        let closed: Value = page.recv_type("session-closed").await;
        assert_eq!(closed["code"], "InvalidAuthentication", "{closed}");
        page.recv_close().await
    };
    let streaming = async { with_deadline("end of the stream", stream.bytes()).await };
    let ((status, failure), (code, _), ended) = tokio::join!(calling, removing, streaming);
    assert_eq!((status, code), (200, 1008), "{failure}");
    let expected = Some("InvalidAuthentication");
    assert_eq!(error_code(&failure), expected, "{failure}");
    ended.unwrap();
    let tools = |token| bridge.get("/tools").bearer_auth(token);
    for (token, status) in [(TOKEN, 401), (OTHER_TOKEN, 200), (NEW_TOKEN, 200)] {
        assert_eq!(bridge.status(tools(token)).await, status);
    }
    let mut refused = Page::open_with_headers(bridge.address(), "s", &[]).await;
    refused.authenticate("s", TOKEN).await;
    let failure = refused.recv_authentication_failure().await;
    assert_eq!(failure.code.as_str(), "InvalidAuthentication");
    // The page of the other token has noticed nothing.
    let calling = post_tool_call_to(&bridge.url, OTHER_TOKEN, "echo", json!({ "n": 2 }));
    let ((status, result), ()) = tokio::join!(calling, other.echo_call());
    assert_eq!((status, error_code(&result)), (200, None), "{result}");
    let line = bridge.recv_log("new settings are in use").await;
    for part in ["added_tokens=1", "removed_tokens=1", "closed=1"] {
        assert!(line.contains(part), "{line}");
    }
}

/// An editor that writes a file in place is seen when it has emptied the file.
#[tokio::test]
async fn a_file_that_is_half_written_revokes_no_token() {
    let folder = tempfile::tempdir().unwrap();
    let file = write_file(&folder, "tokens", &format!("{TOKEN}\n{OTHER_TOKEN}\n"));
    let mut bridge = RunningBridge::start(&["--token-file", file.to_str().unwrap()]).await;
    let mut page = connect(&bridge, TOKEN).await;
    for (text, problem) in [
        ("", "`token_file` has no tokens"),
        (&TOKEN[..10], "fewer than 16 characters"),
        ("one token with-spaces-0123456789", "line 1 has white space"),
    ] {
        replace_file(&file, text);
        let line = bridge.recv_log("the former settings stay in use").await;
        assert!(
            line.contains(problem) && !line.contains(&TOKEN[..10]),
            "{line}"
        );
        assert_eq!(bridge.status(bridge.get("/readyz")).await, 200);
    }
    let calling = post_tool_call_to(&bridge.url, TOKEN, "echo", json!({ "n": 1 }));
    let ((status, result), ()) = tokio::join!(calling, page.echo_call());
    assert_eq!(status, 200, "{result}");
}

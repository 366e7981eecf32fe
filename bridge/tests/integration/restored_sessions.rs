//! MCP sessions (revisions before 2026-07-28) continue after a restart of the bridge: their ids contain
//! what the next bridge needs.

use std::path::Path;
use std::time::{Duration, Instant};

use bridge::{Config, Secret, ServerHandle, StartError};
use bridge_output::CapturedLog;
use futures_util::future::join_all;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::kit::*;
use crate::metrics::{config_with_metrics, scrape};

mod page_wait;

fn key(text: &str) -> Option<Secret> {
    Some(text.parse().unwrap())
}

fn config_with_key() -> Config {
    let mut config = config_with_metrics();
    config.state.state_key = key("a-secret-of-at-least-32-characters");
    config
}

fn config_with_folder(folder: &Path) -> Config {
    let mut config = config_with_metrics();
    config.state.state_dir = Some(folder.to_owned());
    config
}

/// Stops a bridge, and starts another one with this configuration, to which the clients connect.
async fn restart(
    bridge: ServerHandle,
    config: &Config,
    clients: impl IntoIterator<Item = &mut McpClient>,
) -> ServerHandle {
    bridge.shutdown().await;
    let bridge = start_bridge_with(config.clone()).await;
    for client in clients {
        client.url = format!("{}/mcp", bridge.url());
    }
    bridge
}

/// Connects the page of the former bridge again, after the bridge has restored a session.
async fn reconnect_page(bridge: &ServerHandle) -> Page {
    poll_metric(bridge, "mcp_web_mcp_sessions", 1.0).await;
    Page::with_tools(bridge, "s", &[echo_tool()]).await
}

async fn poll_metric(bridge: &ServerHandle, name: &str, value: f64) {
    let poll = async {
        while scrape(bridge).await[name] != value {
            poll_pause().await;
        }
    };
    with_deadline(name, poll).await;
}

async fn status_of(client: &McpClient, method: &str) -> u16 {
    let response = client.start_request(method, json!({})).await;
    response.status().as_u16()
}

#[tokio::test]
async fn concurrent_requests_of_one_id_restore_one_session() {
    let config = config_with_key();
    let bridge = start_bridge_with(config.clone()).await;
    let mut client = McpClient::connect(&bridge, TOKEN).await;
    let bridge = restart(bridge, &config, [&mut client]).await;
    let requests = (0..50).map(|_| status_of(&client, "ping"));
    assert!(join_all(requests).await.iter().all(|status| *status == 200));
    assert_eq!(scrape(&bridge).await["mcp_web_mcp_sessions"], 1.0);
    let mut page = Page::connect(&bridge, "s", TOKEN).await;
    let clients = page.wait_for_clients(1).await;
    assert_eq!(clients[0].info.name, CLIENT_NAME);
    assert_eq!(clients[0].protocol_version, "2025-11-25");
}

/// The parameters of `initialize` continue to apply: here the capabilities, and the revision.
#[tokio::test]
async fn a_restored_client_is_asked_as_before() {
    let config = config_with_key();
    let bridge = start_bridge_with(config.clone()).await;
    let capabilities = json!({ "elicitation": {}, "experimental": { "x": { "y": 1 } } });
    let mut client =
        McpClient::connect_with_capabilities(&bridge, TOKEN, capabilities.clone()).await;
    let bridge = restart(bridge, &config, [&mut client]).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let params = json!({ "name": "echo", "arguments": {} });
    let (mut events, call) = tokio::join!(
        client.request_stream(7, "tools/call", params),
        page.recv_call()
    );
    let called_by = serde_json::to_value(&call.context.client).unwrap();
    assert_eq!(called_by["info"]["name"], CLIENT_NAME, "{called_by}");
    assert_eq!(called_by["capabilities"], capabilities, "{called_by}");
    let question = json!({ "key": "k", "method": "elicitation/create", "params": {
        "message": "Which?", "requestedSchema": { "type": "object", "properties": {} } } });
    page.send_json(
        json!({ "type": "client-requests", "requestId": call.request_id,
        "requests": [question] }),
    )
    .await;
    let received = events.find_method("elicitation/create").await;
    let answer = json!({ "action": "accept", "content": {} });
    client.respond(&received, answer.clone()).await;
    let responses = page.recv_client_responses().await;
    assert_eq!(
        serde_json::to_value(&responses).unwrap()[0]["result"],
        answer
    );
    page.respond(&call, json!("done")).await;
    assert_eq!(result_text(&events.find_response().await["result"]), "done");
}

/// Ids that are not, or not any more, those of a session of the token and the key.
#[tokio::test]
async fn other_ids_are_not_restored() {
    let config = config_with_key();
    let bridge = start_bridge_with(config.clone()).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let other = McpClient::connect(&bridge, OTHER_TOKEN).await;
    let id = client.session.clone();
    let changed = |index: usize| {
        let mut changed = id.clone().into_bytes();
        changed[index] = if changed[index] == b'A' { b'B' } else { b'A' };
        String::from_utf8(changed).unwrap()
    };
    let ids = [
        ("another realm's", other.session.clone()),
        ("tampered", changed(id.len() / 2)),
        ("with another seal", changed(id.len() - 2)),
        ("cut", id[..id.len() - 1].to_owned()),
        ("doubled", format!("{id}{id}")),
        (
            "of no session",
            "0a1b2c3d-0000-4000-8000-000000000000".to_owned(),
        ),
        ("long", "x".repeat(16_000)),
    ];
    let mut client = client;
    let bridge = restart(bridge, &config, [&mut client]).await;
    for (what, session) in ids {
        client.session = session;
        assert_eq!(status_of(&client, "ping").await, 404, "{what}");
        assert_eq!(client.delete_session().await.status(), 404, "{what}");
        assert_eq!(client.get_after("x/1").await.status(), 404, "{what}");
    }
    client.session = id;
    let mut other_key = config.clone();
    other_key.state.state_key = key("another-secret-of-32-characters-.");
    for other in [other_key, config_with_metrics()] {
        let bridge = start_bridge_with(other).await;
        client.url = format!("{}/mcp", bridge.url());
        assert_eq!(status_of(&client, "ping").await, 404);
    }
    client.url = format!("{}/mcp", bridge.url());
    assert_eq!(status_of(&client, "ping").await, 200);
}

/// A session whose client ended it stays so: while the bridge runs, and over restarts.
#[tokio::test]
async fn a_session_that_its_client_ended_is_not_restored() {
    let folder = TempDir::new().unwrap();
    let config = config_with_folder(folder.path());
    let mut bridge = start_bridge_with(config.clone()).await;
    let mut ended = McpClient::connect(&bridge, TOKEN).await;
    let mut other = McpClient::connect(&bridge, TOKEN).await;
    assert_eq!(ended.delete_session().await.status(), 204);
    for torn in ["", "00000000001800", "no line\n\n"] {
        assert_eq!(status_of(&ended, "ping").await, 404);
        assert_eq!(ended.delete_session().await.status(), 404);
        assert_eq!(status_of(&other, "ping").await, 200);
        let file = folder.path().join("ended-mcp-sessions");
        let lines = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, format!("{lines}{torn}")).unwrap();
        bridge = restart(bridge, &config, [&mut ended, &mut other]).await;
    }
    // An id can be ended before its session is restored.
    assert_eq!(other.delete_session().await.status(), 204);
    bridge = restart(bridge, &config, [&mut ended, &mut other]).await;
    assert_eq!(status_of(&other, "ping").await, 404);
    bridge.shutdown().await;
}

/// A folder that cannot be written to is logged, and what runs is not affected.
#[tokio::test]
async fn a_folder_that_is_gone_is_logged_once() {
    let (log, _guard) = CapturedLog::start();
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("state");
    let bridge = start_bridge_with(config_with_folder(&path)).await;
    let clients = [
        McpClient::connect(&bridge, TOKEN).await,
        McpClient::connect(&bridge, TOKEN).await,
    ];
    std::fs::remove_dir_all(&path).unwrap();
    for client in &clients {
        assert_eq!(client.delete_session().await.status(), 204);
        assert_eq!(status_of(client, "ping").await, 404);
    }
    assert_eq!(log.text().matches("cannot be written").count(), 1);
    bridge.shutdown().await;
}

#[tokio::test]
async fn one_bridge_uses_a_folder_and_its_key_is_kept() {
    let folder = TempDir::new().unwrap();
    let config = config_with_folder(folder.path());
    let bridge = start_bridge_with(config.clone()).await;
    let error = start_error(config.clone()).await;
    assert!(matches!(error, StartError::StateFolder(_)), "{error}");
    let other_folder = TempDir::new().unwrap();
    let detached = config_with_folder(other_folder.path());
    drop(start_bridge_with(detached.clone()).await);
    let error = start_error(detached).await;
    assert!(matches!(error, StartError::StateFolder(_)), "{error}");
    let text = error.to_string();
    assert!(
        text.contains("state_dir") && text.contains("another bridge uses"),
        "{text}"
    );
    let key = std::fs::read_to_string(folder.path().join("key")).unwrap();
    bridge.shutdown().await;
    start_bridge_with(config.clone()).await.shutdown().await;
    assert_eq!(
        std::fs::read_to_string(folder.path().join("key")).unwrap(),
        key
    );
    std::fs::write(folder.path().join("key"), "hush").unwrap();
    let error = start_error(config).await.to_string();
    assert!(
        error.contains("state_dir") && !error.contains("hush"),
        "{error}"
    );
}

#[tokio::test]
async fn without_a_key_one_warning_says_that_sessions_end() {
    let (log, _guard) = CapturedLog::start();
    let bridge = start_bridge().await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    assert_eq!(client.session.len(), 36);
    assert_eq!(log.text().matches("state_dir").count(), 1, "{}", log.text());
    bridge.shutdown().await;
    let (log, _guard) = CapturedLog::start();
    let bridge = start_bridge_with(config_with_key()).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    assert!(status_of(&client, "ping").await == 200 && !log.text().contains("WARN"));
    assert!(!log.text().contains(&client.session), "ids are not logged");
    bridge.shutdown().await;
}

/// A session that is restored evicts no other: two clients at a limit do not take turns.
#[tokio::test]
async fn a_session_that_made_room_is_restored_when_there_is_a_place() {
    let mut config = config_with_key();
    config.mcp_sessions.max_clients = 1;
    let bridge = start_bridge_with(config).await;
    let evicted = McpClient::connect(&bridge, TOKEN).await;
    let newer = McpClient::connect(&bridge, TOKEN).await;
    for _ in 0..2 {
        assert_eq!(status_of(&evicted, "ping").await, 404);
        assert_eq!(status_of(&newer, "ping").await, 200);
    }
    assert_eq!(newer.delete_session().await.status(), 204);
    assert_eq!(status_of(&evicted, "ping").await, 200);
    assert_eq!(status_of(&newer, "ping").await, 404);
}

/// A token that has many sessions makes room for those of others, as it does when they are opened.
#[tokio::test]
async fn sessions_of_a_token_with_few_are_restored_at_the_limit() {
    let mut config = config_with_key();
    config.mcp_sessions.max_mcp_sessions = Some(4);
    let bridge = start_bridge_with(config.clone()).await;
    let mut few = McpClient::connect(&bridge, OTHER_TOKEN).await;
    let bridge = restart(bridge, &config, [&mut few]).await;
    for _ in 0..4 {
        McpClient::connect(&bridge, TOKEN).await;
    }
    assert_eq!(status_of(&few, "ping").await, 200);
    assert_eq!(scrape(&bridge).await["mcp_web_mcp_sessions"], 4.0);
    bridge.shutdown().await;
}

#[tokio::test]
async fn a_client_that_was_idle_for_long_continues() {
    let mut config = config_with_key();
    config.mcp_sessions.mcp_session_idle = Duration::from_millis(1);
    let bridge = start_bridge_with(config).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    poll_metric(&bridge, "mcp_web_mcp_sessions", 0.0).await;
    assert_eq!(status_of(&client, "ping").await, 200);
}

#[tokio::test]
async fn many_restores_at_once_stay_within_the_limits() {
    const CLIENTS: usize = 300;
    let mut config = config_with_key();
    config.mcp_sessions.max_clients = CLIENTS;
    let bridge = start_bridge_with(config.clone()).await;
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        clients.push(McpClient::connect(&bridge, TOKEN).await);
    }
    let count = |statuses: &[u16], status| statuses.iter().filter(|it| **it == status).count();
    let mut bridge = bridge;
    // At `max_clients`, a client can open a new session, and an idle one of its token makes room.
    for (max_clients, max_mcp_sessions, limit, status) in [
        (64, 1_000, "max_clients", 404),
        (CLIENTS, 50, "max_mcp_sessions", 503),
    ] {
        config.mcp_sessions.max_clients = max_clients;
        config.mcp_sessions.max_mcp_sessions = Some(max_mcp_sessions);
        bridge = restart(bridge, &config, &mut clients).await;
        let statuses = join_all(clients.iter().map(|client| status_of(client, "ping"))).await;
        let restored = max_clients.min(max_mcp_sessions);
        let refused = (CLIENTS - restored) as f64;
        assert_eq!(count(&statuses, 200), restored);
        assert_eq!(count(&statuses, status), CLIENTS - restored);
        let metrics = scrape(&bridge).await;
        assert_eq!(metrics["mcp_web_mcp_sessions"], restored as f64);
        let refusals = format!("mcp_web_refusals_total{{kind=\"{limit}\"}}");
        assert_eq!(metrics[&refusals], refused);
    }
    bridge.shutdown().await;
}

/// The stream of notifications continues after an event from before a restart, and begins with what the
/// client cannot know. The stream of a call is lost with its log.
#[tokio::test]
async fn streams_from_before_a_restart() {
    let config = config_with_key();
    let bridge = start_bridge_with(config.clone()).await;
    let (mut page, mut client) = connect_page_and_client(&bridge).await;
    let mut stream = client.listen().await;
    let before = stream.first_event_id().await;
    assert!(!before.contains(&client.session), "{before}");
    let params = json!({ "name": "echo", "arguments": {}, "_meta": { "progressToken": 1 } });
    let events = client.request_stream(7, "tools/call", params);
    let (mut events, call) = tokio::join!(events, page.recv_call());
    let progress = json!({ "type": "call-progress", "requestId": call.request_id, "progress": 1 });
    page.send_json(progress).await;
    events.find_method("notifications/progress").await;
    let in_call = events.last_id.clone().unwrap();
    drop((page, stream, events));

    let bridge = restart(bridge, &config, [&mut client]).await;
    assert_eq!(client.get_after(&in_call).await.status(), 405);
    let mut stream = client.resume(&before).await;
    let first = stream.first_event_id().await;
    assert_ne!(first, before);
    let mut methods = Vec::new();
    for _ in 0..3 {
        methods.push(stream.next().await.unwrap()["method"].clone());
    }
    let changed = ["tools", "prompts", "resources"];
    let changed = changed.map(|list| Value::from(format!("notifications/{list}/list_changed")));
    assert_eq!(methods, changed);
    let last = stream.last_id.clone().unwrap();
    drop(stream);
    // In this life, nothing is sent twice.
    let mut stream = client.resume(&last).await;
    stream.first_event_id().await;
    let _page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    stream.find_method("notifications/tools/list_changed").await;
    assert_ne!(stream.last_id.as_ref(), Some(&last));
}

#[tokio::test]
async fn an_id_never_exceeds_its_limit() {
    let config = config_with_key();
    let bridge = start_bridge_with(config.clone()).await;
    let connect = async |bytes: usize| {
        let capabilities = json!({ "experimental": { "x": { "y": "z".repeat(bytes) } } });
        McpClient::connect_with_capabilities(&bridge, TOKEN, capabilities).await
    };
    let mut lengths = Vec::new();
    for bytes in [0, 500, 1_000, 1_500, 3_000, 1_000_000] {
        lengths.push(connect(bytes).await.session.len());
    }
    assert!(lengths[..3].is_sorted() && lengths[0] > 200, "{lengths:?}");
    assert!(lengths.iter().all(|bytes| *bytes <= 2_048), "{lengths:?}");
    assert_eq!(lengths[4..], [36, 36], "{lengths:?}");
}

/// After a restart, clients come before their pages, and one address may fill the places for them.
#[tokio::test]
async fn a_client_without_a_place_is_connected_once_its_page_is() {
    let mut config = config_with_key();
    config.tokens.max_realms = Some(1);
    let bridge = start_bridge_with(config.clone()).await;
    let mut clients = [
        McpClient::connect(&bridge, OTHER_TOKEN).await,
        McpClient::connect(&bridge, TOKEN).await,
    ];
    let bridge = restart(bridge, &config, &mut clients).await;
    for client in &clients {
        assert_eq!(status_of(client, "ping").await, 200);
    }
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    assert_eq!(status_of(&clients[1], "ping").await, 200);
    let connected = page.wait_for_clients(1).await;
    assert_eq!(connected[0].info.name, CLIENT_NAME);
    assert_eq!(connected[0].protocol_version, "2025-11-25");
    bridge.shutdown().await;
}

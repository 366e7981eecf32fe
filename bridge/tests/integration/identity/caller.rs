//! The identity of the caller that the handlers of a page receive.

use bridge::{Config, ServerHandle};
use bridge_protocol::{Caller, CallerTransport};
use serde_json::{Value, json};

use super::mock_issuer::*;
use crate::kit::mock_agent::{MockAgent, UUID, send_for_json};
use crate::kit::*;

/// Serves the next call, and returns its caller.
async fn serve_and_get_caller(page: &mut Page) -> Caller {
    let call = page.serve_call(json!({})).await;
    call.context.caller.unwrap()
}

/// The status of a REST call of `echo` with this token.
async fn call_echo(bridge: &ServerHandle, token: &str) -> u16 {
    post_tool_call_to(&bridge.url(), token, "echo", json!({}))
        .await
        .0
}

/// Starts a bridge for signed tokens with an agent. Also returns the token of an editor.
async fn bridge_with_agent() -> (MockAgent, ServerHandle, String) {
    let agent = MockAgent::start().await;
    let config = Config {
        agent: agent.config().agent,
        ..config_with_secret()
    };
    let bridge = start_bridge_with(config).await;
    (agent, bridge, token_with_roles(json!(["editor"])))
}

fn token_with_roles(roles: Value) -> String {
    let mut claims = claims("ada", ALL_SCOPES, 600.0);
    claims["roles"] = roles;
    Signer::hs256().sign(&claims)
}

#[tokio::test]
async fn handlers_see_subject_and_roles_of_each_request() {
    let bridge = start_bridge_with(config_with_secret()).await;
    let token = token_with_roles(json!(["editor"]));
    let mut page = Page::connect(&bridge, "s", &token).await;
    page.register(&[echo_tool()]).await;
    let expected = |via, roles: &[&str]| Caller {
        via,
        sub: Some("ada".to_owned()),
        roles: roles.iter().map(|role| (*role).to_owned()).collect(),
    };

    let mut client = McpClient::connect(&bridge, &token).await;
    let (_, caller) = tokio::join!(
        client.call("echo", json!({})),
        serve_and_get_caller(&mut page)
    );
    assert_eq!(caller, expected(CallerTransport::Mcp, &["editor"]));
    // The roles are those of the request's token, not those of the MCP session.
    client.token = token_with_roles(json!("lead editor"));
    let (_, caller) = tokio::join!(
        client.call("echo", json!({})),
        serve_and_get_caller(&mut page)
    );
    assert_eq!(caller, expected(CallerTransport::Mcp, &["lead", "editor"]));

    let token = token_with_roles(Value::Null);
    let (status, caller) =
        tokio::join!(call_echo(&bridge, &token), serve_and_get_caller(&mut page));
    assert_eq!(
        (status, caller),
        (200, expected(CallerTransport::Http, &[]))
    );
}

#[tokio::test]
async fn agent_calls_carry_the_identity_of_the_query_owner() {
    let (mut agent, bridge, token) = bridge_with_agent().await;
    let mut page = Page::connect(&bridge, "s", &token).await;
    page.register(&[echo_tool()]).await;
    let query = json!({ "type": "query", "uuid": UUID, "prompt": "?", "context": [] });
    page.send_json(query).await;
    let query_token = agent.accept_query().await.token.unwrap();
    let expected = Caller {
        via: CallerTransport::Http,
        sub: Some("ada".to_owned()),
        roles: vec!["editor".to_owned()],
    };
    let (status, caller) = tokio::join!(
        call_echo(&bridge, &query_token),
        serve_and_get_caller(&mut page)
    );
    assert_eq!((status, &caller), (200, &expected));
    // A direct query has the identity of its owner as well.
    let request = http_client().put(format!("{}/query/direct", bridge.url()));
    let (status, response) = send_for_json(request.bearer_auth(&token).json(&json!({}))).await;
    assert_eq!(status, 200, "{response}");
    let query_token = response["token"].as_str().unwrap();
    let (status, caller) = tokio::join!(
        call_echo(&bridge, query_token),
        serve_and_get_caller(&mut page)
    );
    assert_eq!((status, &caller), (200, &expected));
}

#[tokio::test]
async fn opaque_tokens_have_no_subject() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let (status, caller) = tokio::join!(call_echo(&bridge, TOKEN), serve_and_get_caller(&mut page));
    let anonymous = Caller {
        via: CallerTransport::Http,
        sub: None,
        roles: Vec::new(),
    };
    assert_eq!((status, caller), (200, anonymous));
}

#[tokio::test]
async fn agents_receive_the_subject_and_the_roles_of_signed_tokens() {
    let (mut agent, bridge, token) = bridge_with_agent().await;
    let mut page = Page::connect(&bridge, "s", &token).await;
    let mut ask = async |page: &mut Page, uuid: &str| {
        let query = json!({ "type": "query", "uuid": uuid, "prompt": "?", "context": [] });
        page.send_json(query).await;
        let request = agent.next_request().await;
        let caller = request.caller();
        request.respond(200);
        caller
    };
    let caller = ask(&mut page, "1").await;
    assert_eq!(caller.sub.as_deref(), Some("ada"));
    assert_eq!(
        (&caller.roles[..], caller.self_made),
        (&["editor".to_owned()][..], false)
    );
    // A fresh token of the same subject is the same user with other roles.
    page.renew(&token_with_roles(json!("lead"))).await.unwrap();
    let renewed = ask(&mut page, "2").await;
    assert_eq!(
        (&renewed.user, &renewed.roles[0][..]),
        (&caller.user, "lead")
    );
    let mut other = Page::connect(&bridge, "s", &Signer::hs256().token("bob")).await;
    let other = ask(&mut other, "3").await;
    assert_ne!(other.user, caller.user);
    assert_eq!(other.sub.as_deref(), Some("bob"));
}

#[tokio::test]
async fn requests_for_conversations_need_the_query_scope_and_have_the_roles_of_their_token() {
    let (mut agent, bridge, token) = bridge_with_agent().await;
    let _page = Page::connect(&bridge, "s", &token).await;
    let get = |token: &str| {
        let request = http_client().get(format!("{}/conversations", bridge.url()));
        send_for_json(request.bearer_auth(token))
    };
    let without = Signer::hs256().sign(&claims("ada", "page tools:read tools:call", 600.0));
    let (status, answer) = get(&without).await;
    assert_eq!(
        (status, &answer["error"]),
        (403, &json!("InsufficientScope"))
    );
    let lead = token_with_roles(json!("lead"));
    let (answer, caller) = tokio::join!(get(&lead), async {
        let request = agent.next_request().await;
        let caller = request.caller();
        request.respond_with(axum::Json(json!({ "conversations": [] })));
        caller
    });
    assert_eq!(answer, (200, json!({ "conversations": [] })));
    assert_eq!(caller.sub.as_deref(), Some("ada"));
    assert_eq!(caller.roles, ["lead"]);
}

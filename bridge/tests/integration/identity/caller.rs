//! On whose behalf a call is made, as a page's handler hears it.

use bridge::{Config, ServerHandle};
use bridge_protocol::{Caller, CallerTransport};
use serde_json::{Value, json};

use super::mock_issuer::*;
use crate::kit::mock_agent::{MockAgent, UUID, send_for_json};
use crate::kit::*;

async fn called(page: &mut Page) -> Caller {
    let call = page.recv_call().await;
    page.respond(&call, json!({})).await;
    call.context.caller.unwrap()
}

async fn plain_call(bridge: &ServerHandle, token: &str) -> u16 {
    let request = http_client()
        .post(format!("{}/tool-call", bridge.url()))
        .bearer_auth(token)
        .json(&json!({ "toolName": "echo", "toolInput": {} }));
    let response = with_deadline("answer", request.send()).await.unwrap();
    response.status().as_u16()
}

fn token_with(roles: Value) -> String {
    let mut claims = claims("ada", EVERYTHING, 600.0);
    claims["roles"] = roles;
    Signer::hs256().sign(&claims)
}

#[tokio::test]
async fn handlers_see_subject_and_roles_of_each_request() {
    let bridge = start_bridge_with(trusting_secret()).await;
    let token = token_with(json!(["editor"]));
    let mut page = Page::connect(&bridge, "s", &token).await;
    page.register(&[echo_tool()]).await;
    let caller = |via, roles: &[&str]| Caller {
        via,
        sub: Some("ada".to_owned()),
        roles: roles.iter().map(|role| (*role).to_owned()).collect(),
    };

    let mut client = McpClient::connect(&bridge, &token).await;
    let (_, heard) = tokio::join!(client.call("echo", json!({})), called(&mut page));
    assert_eq!(heard, caller(CallerTransport::Mcp, &["editor"]));
    // Roles are those of the request, not of the session.
    client.token = token_with(json!("lead editor"));
    let (_, heard) = tokio::join!(client.call("echo", json!({})), called(&mut page));
    assert_eq!(heard, caller(CallerTransport::Mcp, &["lead", "editor"]));

    let token = token_with(Value::Null);
    let (status, heard) = tokio::join!(plain_call(&bridge, &token), called(&mut page));
    assert_eq!((status, heard), (200, caller(CallerTransport::Http, &[])));
}

#[tokio::test]
async fn agent_calls_carry_the_identity_of_the_query_owner() {
    let mut agent = MockAgent::start().await;
    let config = Config {
        agent: agent.config().agent,
        ..trusting_secret()
    };
    let bridge = start_bridge_with(config).await;
    let token = token_with(json!(["editor"]));
    let mut page = Page::connect(&bridge, "s", &token).await;
    page.register(&[echo_tool()]).await;
    let asked = json!({ "type": "query", "uuid": UUID, "prompt": "?", "context": [] });
    page.send_json(asked).await;
    let of_query = agent.accept_query().await.token.unwrap();
    let caller = Caller {
        via: CallerTransport::Http,
        sub: Some("ada".to_owned()),
        roles: vec!["editor".to_owned()],
    };
    let (status, heard) = tokio::join!(plain_call(&bridge, &of_query), called(&mut page));
    assert_eq!((status, &heard), (200, &caller));
    // The same when a frontend asks its agent itself.
    let opening = http_client().put(format!("{}/query/direct", bridge.url()));
    let (status, opened) = send_for_json(opening.bearer_auth(&token).json(&json!({}))).await;
    assert_eq!(status, 200, "{opened}");
    let of_query = opened["token"].as_str().unwrap();
    let (status, heard) = tokio::join!(plain_call(&bridge, of_query), called(&mut page));
    assert_eq!((status, &heard), (200, &caller));
}

#[tokio::test]
async fn opaque_tokens_have_no_subject() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let (status, heard) = tokio::join!(plain_call(&bridge, TOKEN), called(&mut page));
    let nobody = Caller {
        via: CallerTransport::Http,
        sub: None,
        roles: Vec::new(),
    };
    assert_eq!((status, heard), (200, nobody));
}

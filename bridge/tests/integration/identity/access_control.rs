//! Every route with a missing, foreign or expired token, with a missing scope, and with the token
//! of another user. No such request reads or reaches the data of a user.

use bridge_protocol::ErrorCode;
use serde_json::json;

use super::mock_issuer::*;
use super::protected_routes::*;
use super::users::*;
use crate::kit::*;

/// All scopes except this one.
fn scopes_without(scope: &str) -> String {
    let scopes = ALL_SCOPES.split(' ').filter(|other| *other != scope);
    scopes.collect::<Vec<_>>().join(" ")
}

/// Checks that each of these routes rejects tokens that are invalid for the data of Eve.
async fn assert_invalid_tokens_rejected(routes: &[Route], eve: &User) {
    let mut wrong_issuer = claims("eve", ALL_SCOPES, 600.0);
    wrong_issuer["iss"] = json!("https://else.test");
    let foreign = [
        Signer::eddsa(None).token("eve"),
        Signer::hs256().sign(&wrong_issuer),
        OTHER_TOKEN.to_owned(),
    ];
    let expired = eve.token_for(ALL_SCOPES, -1.0);
    let secret = &eve.secret();
    for route in routes {
        route
            .assert_rejects(None, 401, "MissingAuthentication", secret)
            .await;
        for foreign in &foreign {
            let foreign = Some(foreign.as_str());
            route
                .assert_rejects(foreign, 401, "InvalidAuthentication", secret)
                .await;
        }
        let expired = Some(expired.as_str());
        route
            .assert_rejects(expired, 401, "TokenExpired", secret)
            .await;
        if let Some(scope) = route.required_scope {
            let scopes = scopes_without(scope);
            let without_scope = eve.token_for(&scopes, 600.0);
            let without_scope = Some(without_scope.as_str());
            route
                .assert_rejects(without_scope, 403, "InsufficientScope", secret)
                .await;
            let challenge = route.send(without_scope).await.challenge;
            assert!(
                challenge.contains("error=\"insufficient_scope\""),
                "{challenge}"
            );
            assert!(challenge.contains(scope), "{challenge}");
        }
    }
}

fn concat<const N: usize>(routes: [Vec<Route>; N]) -> Vec<Route> {
    routes.into_iter().flatten().collect()
}

#[tokio::test]
async fn no_route_exposes_pages_of_another_subject() {
    let mut config = config_with_secret();
    config.identity.max_refused_tokens = usize::MAX;
    let bridge = start_bridge_with(config).await;
    let url = bridge.url();
    let (ada, eve) = (
        User::connect(&bridge, "ada").await,
        User::connect(&bridge, "eve").await,
    );
    let common_routes = || {
        concat([
            rest(&url),
            stateless(&format!("{url}/mcp")),
            stateless(&url),
        ])
    };
    let mcp = format!("{url}/mcp");
    let session_routes_of_eve = concat([
        in_session(&mcp, &eve.client.session),
        session_routes(&mcp, &eve.client.session),
        session_routes(&url, &eve.client.session),
    ]);

    // Eve can see her own data, so the checks below are meaningful.
    let own_routes = concat([common_routes(), in_session(&mcp, &eve.client.session)]);
    let mut with_secret = 0;
    for route in &own_routes {
        let response = route.send(Some(&eve.token)).await;
        let success = (200..300).contains(&response.status);
        assert!(
            success,
            "{}: {} {}",
            route.name, response.status, response.text
        );
        if route.contains_secret {
            assert!(
                response.text.contains(&eve.secret()),
                "{}: {}",
                route.name,
                response.text
            );
            with_secret += 1;
        }
    }
    // A lower bound: far fewer would show that most checks below look for nothing.
    assert!(with_secret > 40, "{with_secret}");
    let requests = eve.request_count();
    assert!(requests > 0);

    assert_invalid_tokens_rejected(&common_routes(), &eve).await;
    assert_invalid_tokens_rejected(&session_routes_of_eve, &eve).await;

    // The token of Ada is valid, but not for the data of Eve.
    let ada_routes = concat([common_routes(), in_session(&mcp, &ada.client.session)]);
    for route in &ada_routes {
        let response = route.send(Some(&ada.token)).await;
        let exposed = response.text.contains(&eve.secret()) || response.text.contains("\"eve-2\"");
        assert!(!exposed, "{}: {}", route.name, response.text);
        assert!(response.status < 500, "{}: {}", route.name, response.status);
    }
    for route in &session_routes_of_eve {
        let response = route.send(Some(&ada.token)).await;
        assert_eq!(response.status, 404, "{}: {}", route.name, response.text);
        assert!(!response.text.contains(&eve.secret()), "{}", route.name);
    }
    assert_eq!(
        eve.request_count(),
        requests,
        "a page of Eve received a request"
    );

    // Eve still has her pages and her MCP session.
    for route in &own_routes {
        let response = route.send(Some(&eve.token)).await;
        assert_eq!(
            response.text.contains(&eve.secret()),
            route.contains_secret,
            "{}",
            route.name
        );
    }
    assert_eq!(ada.request_count(), 0);
}

#[tokio::test]
async fn resource_updates_reach_only_their_own_subject() {
    let bridge = start_bridge_with(config_with_secret()).await;
    let ada = User::connect(&bridge, "ada").await;
    let eve = User::connect(&bridge, "eve").await;
    for uri in ["note://eve/1", "note://ada/1"] {
        let params = json!({ "uri": uri });
        let answer = ada.client.request("resources/subscribe", params).await;
        assert_eq!(answer["result"], json!({}), "{answer}");
    }
    let mut notifications = ada.client.listen().await;
    for user in [&eve, &ada] {
        let uri = format!("note://{}/1", user.name);
        user.send_from_page(json!({ "type": "resource-updated", "uri": uri }))
            .await;
    }
    let updated = notifications
        .find_method("notifications/resources/updated")
        .await;
    assert_eq!(updated["params"]["uri"], "note://ada/1");
    // Another token of the same subject can use the same MCP session.
    let mut other = McpClient::connect(&bridge, &ada.token).await;
    other.token = ada.token_for("tools:read", 60.0);
    other.session = ada.client.session.clone();
    let names = other.tool_names().await;
    assert!(names.contains(&"ada_tool_2".to_owned()), "{names:?}");
}

#[tokio::test]
async fn pages_need_the_page_scope_and_supersede_only_their_own_sessions() {
    let bridge = start_bridge_with(config_with_secret()).await;
    let eve = User::connect(&bridge, "eve").await;
    let cases = [
        (String::new(), ErrorCode::MissingAuthentication),
        (
            Signer::eddsa(None).token("eve"),
            ErrorCode::InvalidAuthentication,
        ),
        (eve.token_for(ALL_SCOPES, -1.0), ErrorCode::TokenExpired),
        (
            eve.token_for(&scopes_without("page"), 600.0),
            ErrorCode::InsufficientScope,
        ),
    ];
    for session in ["eve-1", "new"] {
        for (token, code) in &cases {
            let mut page = Page::open(&bridge, session, None).await;
            page.authenticate(session, token).await;
            let failure = page.recv_authentication_failure().await;
            assert_eq!(failure.code, *code);
            assert!(token.is_empty() || !failure.error.contains(token));
            assert_eq!(page.recv_close().await.0, 1008);
        }
    }
    // With the token of Ada, the same session id identifies a different session.
    let ada = Signer::hs256().token("ada");
    let mut page = Page::connect(&bridge, "eve-1", &ada).await;
    page.register(&[echo_tool()]).await;
    let names = McpClient::connect(&bridge, &ada).await.tool_names().await;
    assert!(names.contains(&"echo".to_owned()), "{names:?}");
    assert!(
        !names.iter().any(|name| name.starts_with("eve")),
        "{names:?}"
    );
    let params =
        json!({ "name": "eve_tool_1", "arguments": {}, "_meta": { "sessionId": "eve-1" } });
    let answer = eve.client.request("tools/call", params).await;
    assert!(
        result_text(&answer["result"]).contains(&eve.secret()),
        "{answer}"
    );
    let names = eve.client.tool_names().await;
    assert!(!names.contains(&"echo".to_owned()), "{names:?}");
    page.close().await;
}

//! All routes × {no token, foreign, expired, wrong scope, somebody else's}: nobody sees or reaches
//! what belongs to another.

use bridge_protocol::{BridgeToPage, ErrorCode};
use serde_json::json;

use super::mock_issuer::*;
use super::protected_routes::*;
use super::users::*;
use crate::kit::*;

/// Every scope but this one.
fn without(needed: &str) -> String {
    let scopes = EVERYTHING.split(' ').filter(|scope| *scope != needed);
    scopes.collect::<Vec<_>>().join(" ")
}

/// What is no good token for Eve's things, on each of these routes.
async fn refuse_bad_tokens(routes: &[Route], eve: &Person) {
    let mut stranger = claims("eve", EVERYTHING, 600.0);
    stranger["iss"] = json!("https://else.test");
    let foreign = [
        Signer::eddsa(None).token("eve"),
        Signer::hs256().sign(&stranger),
        "token-of-somebody-else-0123456789".to_owned(),
    ];
    let expired = eve.token_for(EVERYTHING, -1.0);
    let secret = &eve.secret();
    for route in routes {
        route
            .refuses(None, 401, "MissingAuthentication", secret)
            .await;
        for foreign in &foreign {
            let foreign = Some(foreign.as_str());
            route
                .refuses(foreign, 401, "InvalidAuthentication", secret)
                .await;
        }
        let expired = Some(expired.as_str());
        route.refuses(expired, 401, "TokenExpired", secret).await;
        if let Some(needed) = route.needs {
            let scope = without(needed);
            let narrow = eve.token_for(&scope, 600.0);
            let narrow = Some(narrow.as_str());
            route
                .refuses(narrow, 403, "InsufficientScope", secret)
                .await;
            let challenge = route.with(narrow).await.challenge;
            assert!(
                challenge.contains("error=\"insufficient_scope\""),
                "{challenge}"
            );
            assert!(challenge.contains(needed), "{challenge}");
        }
    }
}

#[tokio::test]
async fn no_route_exposes_pages_of_another_subject() {
    let bridge = start_bridge_with(trusting_secret()).await;
    let url = bridge.url();
    let (ada, eve) = (
        Person::come(&bridge, "ada").await,
        Person::come(&bridge, "eve").await,
    );
    let anywhere = || {
        [
            plain(&url),
            stateless(&format!("{url}/mcp")),
            stateless(&url),
        ]
        .concat_all()
    };
    let mcp = format!("{url}/mcp");
    let of_eve = [
        in_session(&mcp, &eve.client.session),
        of_session(&mcp, &eve.client.session),
        of_session(&url, &eve.client.session),
    ]
    .concat_all();

    // Eve herself sees it: the table below proves something.
    let own = [anywhere(), in_session(&mcp, &eve.client.session)].concat_all();
    let mut revealed = 0;
    for route in &own {
        let answer = route.with(Some(&eve.token)).await;
        let good = (200..300).contains(&answer.status);
        assert!(good, "{}: {} {}", route.what, answer.status, answer.text);
        if route.reveals {
            assert!(
                answer.text.contains(&eve.secret()),
                "{}: {}",
                route.what,
                answer.text
            );
            revealed += 1;
        }
    }
    assert!(revealed > 40, "{revealed}");
    let asked = eve.asked();
    assert!(asked > 0);

    refuse_bad_tokens(&anywhere(), &eve).await;
    refuse_bad_tokens(&of_eve, &eve).await;

    // Ada's token is good, and not for what is Eve's.
    let as_ada = [anywhere(), in_session(&mcp, &ada.client.session)].concat_all();
    for route in &as_ada {
        let answer = route.with(Some(&ada.token)).await;
        let seen = answer.text.contains(&eve.secret()) || answer.text.contains("\"eve-2\"");
        assert!(!seen, "{}: {}", route.what, answer.text);
        assert!(answer.status < 500, "{}: {}", route.what, answer.status);
    }
    for route in &of_eve {
        let answer = route.with(Some(&ada.token)).await;
        assert_eq!(answer.status, 404, "{}: {}", route.what, answer.text);
        assert!(!answer.text.contains(&eve.secret()), "{}", route.what);
    }
    assert_eq!(eve.asked(), asked, "a page of Eve was asked");

    // And Eve has lost nothing: neither pages nor her MCP session.
    for route in &own {
        let answer = route.with(Some(&eve.token)).await;
        assert_eq!(
            answer.text.contains(&eve.secret()),
            route.reveals,
            "{}",
            route.what
        );
    }
    assert_eq!(ada.asked(), 0);
}

trait ConcatAll {
    fn concat_all(self) -> Vec<Route>;
}

impl<const N: usize> ConcatAll for [Vec<Route>; N] {
    fn concat_all(self) -> Vec<Route> {
        self.into_iter().flatten().collect()
    }
}

#[tokio::test]
async fn resource_updates_reach_only_their_own_subject() {
    let bridge = start_bridge_with(trusting_secret()).await;
    let ada = Person::come(&bridge, "ada").await;
    let eve = Person::come(&bridge, "eve").await;
    for uri in ["note://eve/1", "note://ada/1"] {
        let params = json!({ "uri": uri });
        let answer = ada.client.request("resources/subscribe", params).await;
        assert_eq!(answer["result"], json!({}), "{answer}");
    }
    let mut news = EventStream::new(ada.client.listen().await);
    for person in [&eve, &ada] {
        let uri = format!("note://{}/1", person.name);
        person
            .page_says(json!({ "type": "resource-updated", "uri": uri }))
            .await;
    }
    let told = news.find_method("notifications/resources/updated").await;
    assert_eq!(told["params"]["uri"], "note://ada/1");
    // Another token of the same subject reaches the same session.
    let mut other = McpClient::connect(&bridge, &ada.token).await;
    other.token = ada.token_for("tools:read", 60.0);
    other.session = ada.client.session.clone();
    let names = other.tool_names().await;
    assert!(names.contains(&"ada_tool_2".to_owned()), "{names:?}");
}

#[tokio::test]
async fn pages_need_the_page_scope_and_supersede_only_their_own_sessions() {
    let bridge = start_bridge_with(trusting_secret()).await;
    let eve = Person::come(&bridge, "eve").await;
    let cases = [
        (String::new(), ErrorCode::MissingAuthentication),
        (
            Signer::eddsa(None).token("eve"),
            ErrorCode::InvalidAuthentication,
        ),
        (eve.token_for(EVERYTHING, -1.0), ErrorCode::TokenExpired),
        (
            eve.token_for(&without("page"), 600.0),
            ErrorCode::InsufficientScope,
        ),
    ];
    for session in ["eve-1", "new"] {
        for (token, code) in &cases {
            let mut page = Page::open(&bridge, session, None).await;
            page.authenticate(session, token).await;
            let BridgeToPage::AuthenticationFailed(failure) = page.recv().await else {
                panic!("let in")
            };
            assert_eq!(failure.code, *code);
            assert!(token.is_empty() || !failure.error.contains(token));
            assert_eq!(page.recv_close().await.0, 1008);
        }
    }
    // The same session id with Ada's token is another session.
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

//! All routes × {no token, foreign, expired, wrong scope, somebody else's}: nobody sees or reaches
//! what belongs to another.

use bridge_protocol::{BridgeToPage, ErrorCode};
use serde_json::{Value, json};

use super::issuer::*;
use super::people::*;
use crate::kit::*;

/// A way to what Eve has.
struct Route {
    what: &'static str,
    needs: Option<&'static str>,
    /// Whether Eve sees her secret there.
    reveals: bool,
    request: reqwest::RequestBuilder,
}

const READ: Option<&str> = Some("tools:read");
const CALL: Option<&str> = Some("tools:call");

fn plain(url: &str) -> Vec<Route> {
    let call = |body: Value| http().post(format!("{url}/tool-call")).json(&body);
    let route = |what, needs, request| Route {
        what,
        needs,
        reveals: true,
        request,
    };
    let named = json!({ "toolName": "eve_tool_1", "toolInput": {}, "sessionId": "eve-1" });
    vec![
        Route {
            reveals: false,
            ..route("GET /sessions", READ, http().get(format!("{url}/sessions")))
        },
        route("GET /tools", READ, http().get(format!("{url}/tools"))),
        route(
            "POST /tool-call",
            CALL,
            call(json!({ "toolName": "eve_tool_1", "toolInput": {} })),
        ),
        route("POST /tool-call of a session", CALL, call(named)),
    ]
}

/// The methods of MCP that lead to something, with what they need and whether they reveal it.
fn methods() -> Vec<(&'static str, Value, Option<&'static str>, bool)> {
    let call = |name: &str, arguments| json!({ "name": name, "arguments": arguments });
    let of_session = |mut params: Value| {
        params["_meta"] = json!({ "sessionId": "eve-1" });
        params
    };
    let prompt = json!({ "type": "ref/prompt", "name": "eve_prompt_1" });
    let template = json!({ "type": "ref/resource", "uri": "card://eve/1/{id}" });
    let meta_call = json!({ "session_id": "eve-1", "tool_name": "eve_tool_1", "arguments": {} });
    vec![
        ("tools/list", json!({}), READ, true),
        ("tools/list", of_session(json!({})), READ, true),
        ("tools/call", call("eve_tool_1", json!({})), CALL, true),
        (
            "tools/call",
            of_session(call("eve_tool_1", json!({}))),
            CALL,
            true,
        ),
        (
            "tools/call",
            call("eve_tool_1", json!({ "session_id": "eve-1" })),
            CALL,
            true,
        ),
        (
            "tools/call",
            call("call_session_tool", meta_call),
            CALL,
            true,
        ),
        (
            "tools/call",
            call("list_session_tools", json!({ "session_id": "eve-1" })),
            CALL,
            true,
        ),
        (
            "tools/call",
            call("list_active_sessions", json!({})),
            CALL,
            false,
        ),
        (
            "tools/call",
            call("get_connection_status", json!({})),
            CALL,
            false,
        ),
        ("resources/list", json!({}), READ, true),
        ("resources/templates/list", json!({}), READ, true),
        (
            "resources/read",
            json!({ "uri": "note://eve/1" }),
            READ,
            true,
        ),
        (
            "resources/read",
            json!({ "uri": "card://eve/1/7" }),
            READ,
            true,
        ),
        (
            "resources/read",
            of_session(json!({ "uri": "note://eve/1" })),
            READ,
            true,
        ),
        (
            "resources/read",
            json!({ "uri": "sessions://list" }),
            READ,
            false,
        ),
        ("prompts/list", json!({}), READ, true),
        ("prompts/get", json!({ "name": "eve_prompt_1" }), READ, true),
        (
            "completion/complete",
            json!({ "ref": prompt, "argument": { "name": "a", "value": "" } }),
            READ,
            true,
        ),
        (
            "completion/complete",
            json!({ "ref": template, "argument": { "name": "id", "value": "" } }),
            READ,
            true,
        ),
    ]
}

fn post(url: &str, message: &Value) -> reqwest::RequestBuilder {
    http()
        .post(url)
        .header("accept", "application/json, text/event-stream")
        .header("mcp-web-session", "eve-1")
        .json(message)
}

/// MCP with sessions, in this one.
fn in_session(url: &str, session: &str) -> Vec<Route> {
    let mut all = methods();
    all.extend([
        (
            "resources/subscribe",
            json!({ "uri": "note://eve/1" }),
            READ,
            false,
        ),
        (
            "resources/unsubscribe",
            json!({ "uri": "note://eve/1" }),
            READ,
            false,
        ),
        ("logging/setLevel", json!({ "level": "debug" }), READ, false),
        ("ping", json!({}), None, false),
        (
            "notifications/cancelled",
            json!({ "requestId": 1 }),
            None,
            false,
        ),
    ]);
    let route = |(what, params, needs, reveals): (&'static str, Value, _, _)| {
        let message = match what.starts_with("notifications/") {
            true => json!({ "jsonrpc": "2.0", "method": what, "params": params }),
            false => request(1, what, params),
        };
        Route {
            what,
            needs,
            reveals,
            request: post(&format!("{url}/mcp"), &message).header("mcp-session-id", session),
        }
    };
    all.into_iter().map(route).collect()
}

/// MCP 2026-07-28, also at `/`.
fn stateless(url: &str) -> Vec<Route> {
    let mut all = methods();
    all.push(("server/discover", json!({}), None, false));
    let route = |(what, mut params, needs, reveals): (&'static str, Value, _, _)| {
        let version = "2026-07-28";
        for (key, value) in [
            ("protocolVersion", json!(version)),
            ("clientInfo", json!({ "name": "door-test", "version": "1" })),
            ("clientCapabilities", json!({})),
        ] {
            params["_meta"][format!("io.modelcontextprotocol/{key}")] = value;
        }
        let name = params["name"].as_str().or(params["uri"].as_str());
        let name = name.map(str::to_owned);
        let mut request = post(url, &request(1, what, params))
            .header("mcp-protocol-version", version)
            .header("mcp-method", what);
        if let Some(name) = name {
            request = request.header("mcp-name", name);
        }
        Route {
            what,
            needs,
            reveals,
            request,
        }
    };
    all.into_iter().map(route).collect()
}

/// The stream of an MCP session, resumed too, and its end.
fn of_session(url: &str, session: &str) -> Vec<Route> {
    let get = || {
        http()
            .get(format!("{url}/mcp"))
            .header("accept", "text/event-stream")
            .header("mcp-session-id", session)
    };
    let delete = http().delete(format!("{url}/mcp"));
    let route = |what, needs, request| Route {
        what,
        needs,
        reveals: false,
        request,
    };
    vec![
        route("GET", READ, get()),
        route(
            "GET after an event",
            READ,
            get().header("last-event-id", "0"),
        ),
        route(
            "GET after another",
            READ,
            get().header("last-event-id", "0/1"),
        ),
        route("DELETE", None, delete.header("mcp-session-id", session)),
    ]
}

struct Answer {
    status: u16,
    challenge: String,
    text: String,
}

impl Route {
    async fn with(&self, token: Option<&str>) -> Answer {
        let mut request = self.request.try_clone().unwrap();
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        let response = soon(self.what, request.send()).await.unwrap();
        let challenge = response.headers().get("www-authenticate");
        let challenge = challenge.map(|text| text.to_str().unwrap().to_owned());
        Answer {
            status: response.status().as_u16(),
            challenge: challenge.unwrap_or_default(),
            text: soon(self.what, response.text()).await.unwrap(),
        }
    }

    async fn refuses(&self, token: Option<&str>, status: u16, code: &str, secret: &str) {
        let what = format!("{} → {code}", self.what);
        let answer = self.with(token).await;
        let body: Value = serde_json::from_str(&answer.text).unwrap_or_default();
        assert_eq!(answer.status, status, "{what}: {}", answer.text);
        assert_eq!(body["error"], code, "{what}");
        assert!(answer.challenge.starts_with("Bearer realm="), "{what}");
        assert!(!answer.text.contains(secret), "{what}: {}", answer.text);
        if let Some(own) = token {
            assert!(!answer.text.contains(own) && !answer.challenge.contains(own));
        }
    }
}

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
async fn nobody_sees_or_reaches_what_belongs_to_another_by_any_route() {
    let bridge = bridge_with(trusting_secret()).await;
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
    let of_eve = [
        in_session(&url, &eve.client.session),
        of_session(&url, &eve.client.session),
    ]
    .concat_all();

    // Eve herself sees it: the table below proves something.
    let own = [anywhere(), in_session(&url, &eve.client.session)].concat_all();
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
    let as_ada = [anywhere(), in_session(&url, &ada.client.session)].concat_all();
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
    bridge.shutdown().await;
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
async fn what_changes_for_one_is_told_to_that_one_only() {
    let bridge = bridge_with(trusting_secret()).await;
    let ada = Person::come(&bridge, "ada").await;
    let eve = Person::come(&bridge, "eve").await;
    for uri in ["note://eve/1", "note://ada/1"] {
        let params = json!({ "uri": uri });
        let answer = ada.client.request("resources/subscribe", params).await;
        assert_eq!(answer["result"], json!({}), "{answer}");
    }
    let mut news = Events::of(ada.client.listen().await);
    for person in [&eve, &ada] {
        let uri = format!("note://{}/1", person.name);
        person
            .page_says(json!({ "type": "resource-updated", "uri": uri }))
            .await;
    }
    let told = news.method("notifications/resources/updated").await;
    assert_eq!(told["params"]["uri"], "note://ada/1");
    // Another token of the same subject reaches the same session.
    let mut other = McpClient::connect(&bridge, &ada.token).await;
    other.token = ada.token_for("tools:read", 60.0);
    other.session = ada.client.session.clone();
    let names = other.tool_names().await;
    assert!(names.contains(&"ada_tool_2".to_owned()), "{names:?}");
    bridge.shutdown().await;
}

#[tokio::test]
async fn a_page_needs_a_good_token_for_pages_and_takes_over_its_own_sessions_only() {
    let bridge = bridge_with(trusting_secret()).await;
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
            let BridgeToPage::AuthenticationFailed(failure) = page.hear().await else {
                panic!("let in")
            };
            assert_eq!(failure.code, *code);
            assert!(token.is_empty() || !failure.error.contains(token));
            assert_eq!(page.closed().await.0, 1008);
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
        text_of(&answer["result"]).contains(&eve.secret()),
        "{answer}"
    );
    let names = eve.client.tool_names().await;
    assert!(!names.contains(&"echo".to_owned()), "{names:?}");
    page.go_away().await;
    bridge.shutdown().await;
}

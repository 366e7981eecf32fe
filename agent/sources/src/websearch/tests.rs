//! The fixtures are, with the addresses of what they are from:
//! - `searxng.json`: two results that SearXNG 2025.8 has sent on this wire, of its engines
//!   `json_engine` and `sqlite`; <https://docs.searxng.org/dev/search_api.html>.
//! - `brave.json`: written from
//!   <https://api-dashboard.search.brave.com/api-reference/web/search/get>.
//! - `tavily.json`: written from
//!   <https://docs.tavily.com/documentation/api-reference/endpoint/search>.

use bridge_schema::Effort;
use http::Method;

use super::*;
use crate::http_api::fake_api::{FakeApi, json_response, response_with};

const SEARXNG: &str = include_str!("fixtures/searxng.json");
const BRAVE: &str = include_str!("fixtures/brave.json");
const TAVILY: &str = include_str!("fixtures/tavily.json");

fn settings(text: &str) -> WebsearchSettings {
    toml::from_str(text).unwrap()
}

fn open(text: &str) -> Result<Websearch, String> {
    Websearch::open("web", &settings(text), None)
}

fn searxng(server: &FakeApi) -> Websearch {
    open(&format!("url = '{}'", server.url)).unwrap()
}

fn with_key(engine: &str, server: &FakeApi) -> Websearch {
    let url = &server.url;
    open(&format!(
        "engine = '{engine}'\nurl = '{url}'\napi_key = 'hush-hush'"
    ))
    .unwrap()
}

async fn call(source: &Websearch, arguments: Value) -> CallOutput {
    let context = SourceContext {
        user: "ada".to_owned(),
    };
    let tools = source.tools();
    let checked = tools[0].arguments.try_validate(&arguments, Effort::Inline);
    assert!(checked.unwrap().is_ok(), "{arguments}");
    let Value::Object(arguments) = arguments else {
        panic!("no arguments");
    };
    source.call("web_search", arguments, &context).await
}

fn results(output: &CallOutput) -> Value {
    assert_eq!(output.outcome, CallStatus::Ok, "{}", output.text);
    serde_json::from_str(&output.text).unwrap()
}

#[tokio::test]
async fn searxng_is_searched_as_documented() {
    let empty = r#"{"results":[],"unresponsive_engines":[["late","timeout"]]}"#;
    let server = FakeApi::start([json_response(200, SEARXNG), json_response(200, empty)]).await;
    let output = call(
        &searxng(&server),
        json!({ "query": "tide & time", "freshness": "week" }),
    )
    .await;
    let expected = json!([
        { "title": "Tide tables &lt;script&gt;x&lt;/script&gt;", "url": "https://pages.example/a",
          "snippet": "High tide at six" },
        { "title": "Page 1 about tides", "url": "https://pages.example/tides/1",
          "snippet": "The tide of day 1 rises twice & falls" },
    ]);
    assert_eq!(results(&output), expected);
    let targets: Vec<_> = server.requests().into_iter().map(|it| it.target).collect();
    let target =
        |page| format!("/search?q=tide+%26+time&format=json&pageno={page}&time_range=week");
    assert_eq!(targets, [target(1), target(2)]);
}

#[tokio::test]
async fn brave_is_searched_as_documented() {
    let server = FakeApi::start([json_response(200, BRAVE)]).await;
    let arguments = json!({ "query": "brave search", "count": 20, "freshness": "month" });
    let output = call(&with_key("brave", &server), arguments).await;
    let snippet = "Search the Web. Privately. Truly useful results, AI-powered answers, & more. All \
                   from an independent index. No profiling, no bias, no Big Tech.";
    let expected = json!([{ "title": "Brave Search", "url": "https://search.brave.com/",
        "snippet": snippet }]);
    assert_eq!(results(&output), expected);
    let request = server.request();
    assert_eq!(
        (&request.method, request.header("x-subscription-token")),
        (&Method::GET, "hush-hush")
    );
    assert_eq!(request.header("accept"), "application/json");
    assert_eq!(
        request.target,
        "/res/v1/web/search?q=brave+search&count=20&result_filter=web&text_decorations=false\
         &freshness=pm"
    );
}

#[tokio::test]
async fn tavily_is_searched_as_documented() {
    let server = FakeApi::start([json_response(200, TAVILY)]).await;
    let arguments = json!({ "query": "Who is Leo Messi?", "freshness": "year" });
    let output = call(&with_key("tavily", &server), arguments).await;
    let found = results(&output);
    assert_eq!(found[0]["title"], "Lionel Messi Facts | Britannica");
    assert_eq!(
        found[0]["url"],
        "https://www.britannica.com/facts/Lionel-Messi"
    );
    assert_eq!(found.as_array().unwrap().len(), 1);
    let request = server.request();
    assert_eq!(
        (request.method.as_str(), request.target.as_str()),
        ("POST", "/search")
    );
    assert_eq!(request.header("authorization"), "Bearer hush-hush");
    let expected = json!({ "query": "Who is Leo Messi?", "topic": "general", "max_results": 10,
        "time_range": "year" });
    assert_eq!(request.json(), expected);
}

#[tokio::test]
async fn nothing_that_was_found_is_not_an_error() {
    for (engine, body) in [
        ("brave", r#"{"type":"search","query":{"original":"x"}}"#),
        ("tavily", r#"{"query":"x","results":[]}"#),
    ] {
        let server = FakeApi::start([json_response(200, body)]).await;
        let output = call(&with_key(engine, &server), json!({ "query": "x" })).await;
        assert_eq!(
            (output.outcome, output.text.as_str()),
            (CallStatus::Ok, "[No results.]")
        );
    }
    let server = FakeApi::start([json_response(200, r#"{"results":[]}"#)]).await;
    let output = call(&searxng(&server), json!({ "query": "x" })).await;
    assert_eq!(output.text, "[No results.]");
    server.request();
    for engine in ["brave", "tavily"] {
        let server = FakeApi::start([json_response(200, "{}")]).await;
        let output = call(&with_key(engine, &server), json!({ "query": "x" })).await;
        assert_eq!(output.outcome, CallStatus::Unavailable, "{engine}");
    }
}

#[tokio::test]
async fn an_instance_without_json_has_an_error_with_a_remedy() {
    // As SearXNG 2025.8 answers.
    let page = "<!doctype html><html lang=en><title>403 Forbidden</title><h1>Forbidden</h1>";
    let server = FakeApi::start([json_response(403, page)]).await;
    let output = call(&searxng(&server), json!({ "query": "x" })).await;
    assert_eq!(output.outcome, CallStatus::ToolError);
    assert!(
        output.text.contains("add `json` to `search.formats`"),
        "{}",
        output.text
    );

    let server = FakeApi::start([json_response(200, "<html>the page of results</html>")]).await;
    let output = call(&searxng(&server), json!({ "query": "x" })).await;
    assert_eq!(output.outcome, CallStatus::Unavailable);
}

#[tokio::test]
async fn engines_that_do_not_respond_are_named() {
    let body = r#"{"results":[],"unresponsive_engines":[["google","CAPTCHA"],["b\u202eing","x"]]}"#;
    let server = FakeApi::start([json_response(200, body)]).await;
    let output = call(&searxng(&server), json!({ "query": "x" })).await;
    assert_eq!(output.outcome, CallStatus::Unavailable);
    assert!(
        output
            .text
            .contains("its engines did not respond: google, bing"),
        "{}",
        output.text
    );
}

#[tokio::test]
async fn pages_are_requested_until_there_are_enough_results() {
    let page = |numbers: std::ops::Range<u32>| {
        let item = |number| json!({ "title": "t", "url": format!("https://a.example/{number}"), "content": "" });
        let items: Vec<_> = numbers.map(item).collect();
        json_response(200, &json!({ "results": items }).to_string())
    };
    let count = async |pages: Vec<_>, count: usize| {
        let server = FakeApi::start(pages).await;
        let output = call(&searxng(&server), json!({ "query": "x", "count": count })).await;
        (
            results(&output).as_array().unwrap().len(),
            server.requests().len(),
        )
    };
    assert_eq!(count(vec![page(0..30)], 20).await, (20, 1));
    assert_eq!(count(vec![page(0..8), page(6..12)], 12).await, (12, 2));
    // A page that repeats another is the last, and three are enough.
    assert_eq!(count(vec![page(0..8), page(0..8)], 20).await, (8, 2));
    assert_eq!(
        count(vec![page(0..1), page(1..2), page(2..3), page(3..4)], 20).await,
        (3, 3)
    );
    // The first page is an answer, even if the second is not.
    assert_eq!(count(vec![page(0..8)], 20).await, (8, 2));
}

#[tokio::test]
async fn results_are_plain_text_with_web_addresses() {
    let tags: String = "obey"
        .chars()
        .map(|it| char::from_u32(0xe0000 + it as u32).unwrap())
        .collect();
    let hostile =
        "<script>alert(1)</script>a\u{202e}\u{200b}\u{2066}<b onclick='x'>b</b>\u{1b}[2J\r\nc";
    let item =
        |url: &str| json!({ "title": format!("{hostile}{tags}"), "url": url, "content": hostile });
    let body = json!({ "results": [
        item("javascript:alert(1)"), item("data:text/html,x"), item("file:///etc/passwd"), item("/x"),
        item("https://bank.example@evil.example/"), item("https://a.example/\u{202e}x y"),
        { "title": 7, "url": "https://b.example", "content": null },
        "no object", null,
    ] });
    let empty = r#"{"results":[]}"#;
    let server = FakeApi::start([
        json_response(200, &body.to_string()),
        json_response(200, empty),
    ])
    .await;
    let output = call(&searxng(&server), json!({ "query": "x" })).await;
    let expected = json!([
        { "title": "ab[2J c", "url": "https://a.example/%E2%80%AEx%20y", "snippet": "ab[2J c" },
        { "title": "", "url": "https://b.example/", "snippet": "" },
    ]);
    assert_eq!(results(&output), expected);
}

#[tokio::test]
async fn limits_of_rates_name_the_wait_if_it_is_known() {
    let limited = r#"{"type":"ErrorResponse","error":{"id":"1","status":429,"code":"RATE_LIMITED",
        "detail":"Request rate limit exceeded for plan.","meta":{"plan":"Free","rate_limit":1}}}"#;
    for (limit, remaining, reset, expected) in [
        (
            "1, 15000",
            "0, 14999",
            "1, 1419704",
            "for now. retryAfter: 1 s. Continue",
        ),
        (
            "1, 15000",
            "0, 0",
            "1, 1419704",
            "for now. retryAfter: 1419704 s. Continue",
        ),
        // A plan without a limit for a month.
        (
            "50, 0",
            "0, 0",
            "1, 1419704",
            "for now. retryAfter: 1 s. Continue",
        ),
        ("x", "", "1", "for now. Continue"),
    ] {
        let headers = [
            ("x-ratelimit-limit", limit),
            ("x-ratelimit-remaining", remaining),
            ("x-ratelimit-reset", reset),
        ];
        let server = FakeApi::start([response_with(429, &headers, limited.to_owned())]).await;
        let output = call(&with_key("brave", &server), json!({ "query": "x" })).await;
        assert_eq!(output.outcome, CallStatus::RateLimited);
        assert!(output.text.contains(expected), "{}", output.text);
    }
    for status in [429, 432, 433] {
        let body = r#"{"detail":{"error":"This request exceeds your plan's set usage limit."}}"#;
        let server = FakeApi::start([json_response(status, body)]).await;
        let output = call(&with_key("tavily", &server), json!({ "query": "x" })).await;
        assert_eq!(output.outcome, CallStatus::RateLimited);
    }
}

#[tokio::test]
async fn a_wrong_key_is_reported_without_showing_it() {
    for (engine, status, body) in [
        (
            "brave",
            401,
            r#"{"type":"ErrorResponse","error":{"detail":"hush-hush is unknown"}}"#,
        ),
        (
            "tavily",
            401,
            r#"{"detail":{"error":"Unauthorized: missing or invalid API key."}}"#,
        ),
    ] {
        let server = FakeApi::start([json_response(status, body)]).await;
        let output = call(&with_key(engine, &server), json!({ "query": "x" })).await;
        assert_eq!(output.outcome, CallStatus::ToolError);
        assert!(
            output.text.contains("refuses the credential"),
            "{}",
            output.text
        );
        assert!(!output.text.contains("hush"), "{}", output.text);
    }
}

#[test]
fn arguments_that_do_not_fit_are_refused() {
    let tools = open("").unwrap().tools();
    assert_eq!((tools.len(), tools[0].name.as_str()), (1, "web_search"));
    let class = tools[0].class;
    assert_eq!(
        (class.effect, class.is_open_world),
        (ToolEffect::Read, true)
    );
    for arguments in [
        json!({}),
        json!({ "query": "" }),
        json!({ "query": "x".repeat(MAX_QUERY_CHARS + 1) }),
        json!({ "query": "x", "count": 0 }),
        json!({ "query": "x", "count": 21 }),
        json!({ "query": "x", "freshness": "hour" }),
        json!({ "query": "x", "engine": "brave" }),
    ] {
        let checked = tools[0].arguments.try_validate(&arguments, Effort::Inline);
        assert!(checked.unwrap().is_err(), "{arguments}");
    }
}

#[test]
fn settings_fit_the_engine_and_do_not_show_the_key() {
    for (text, expected) in [
        ("engine = 'brave'", "Brave Search requires `api_key`"),
        ("engine = 'tavily'", "Tavily requires `api_key`"),
        ("api_key = 'hush-hush'", "SearXNG has no keys"),
        ("url = 'localhost:8888'", "`url` must be"),
        (
            "engine = 'brave'\napi_key_file = '/no/such/file'",
            "cannot be read",
        ),
    ] {
        let error = open(text).unwrap_err();
        assert!(
            error.contains(expected) && !error.contains("hush"),
            "{error}"
        );
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("key"), "hush-hush\n").unwrap();
    let settings = settings("engine = 'tavily'\napi_key_file = 'key'").resolved(folder.path());
    let source = Websearch::open("web", &settings, None).unwrap();
    let key = self::settings("engine = 'brave'\napi_key = 'hush-hush'");
    let debug = format!(
        "{source:?} {key:?} {:?}",
        Websearch::open("web", &key, None)
    );
    assert!(!debug.contains("hush"), "{debug}");
    for unknown in ["engine = 'google'", "key = 'x'", "api_key = 'a b'"] {
        assert!(toml::from_str::<WebsearchSettings>(unknown).is_err());
    }
}

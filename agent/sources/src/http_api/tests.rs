use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use axum::body::Body;
use bridge_output::CapturedLog;
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::{repeat_with, unfold};
use http::header::AUTHORIZATION;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, interval};

use super::credential::{Credential, load_credential};
use super::fake_api::{FakeApi, json_response, response_with};
use super::*;

const TOKEN: &str = "hush-hush-0123456789";

fn api(url: &str) -> HttpApi {
    let api = HttpApi::new("source", "The API", url).unwrap();
    let token = Secret::from_trusted(TOKEN.to_owned());
    api.with_credential(AUTHORIZATION, "Bearer ", token)
        .unwrap()
}

async fn get(api: &HttpApi) -> Result<ApiResponse, ApiError> {
    api.send(api.request(Method::GET, &["a b", "c"], &[("q", "d&e")]))
        .await
}

async fn get_output(api: &HttpApi) -> CallOutput {
    api.failed(&get(api).await.unwrap_err(), ToolEffect::Read)
}

#[tokio::test]
async fn half_of_a_surrogate_pair_in_a_response_becomes_a_replacement_character() {
    let server = FakeApi::start([json_response(200, r#"{"a":"cut \ud83d"}"#)]).await;
    let response = get(&api(&server.url)).await.unwrap();
    assert_eq!(response.body["a"], "cut \u{fffd}");
}

#[tokio::test]
async fn a_request_has_its_credential_and_an_encoded_route_below_the_base() {
    let server = FakeApi::start([json_response(200, r#"{"a":1}"#)]).await;
    let api = api(&format!("{}/base/", server.url));
    assert_eq!(get(&api).await.unwrap().body["a"], 1);
    let request = server.request();
    assert_eq!(request.target, "/base/a%20b/c?q=d%26e");
    assert_eq!(request.header("authorization"), format!("Bearer {TOKEN}"));
    assert!(request.header("user-agent").starts_with("mcp-web-agent/"));
    assert!(!format!("{api:?}").contains(TOKEN), "{api:?}");
}

#[tokio::test]
async fn statuses_have_their_outcomes_and_nothing_shows_the_credential() {
    use CallStatus::{RateLimited, ToolError, Unavailable};
    for (status, outcome, expected) in [
        (
            400,
            ToolError,
            "does not accept the request (HTTP 400): no Bearer … please",
        ),
        (
            401,
            ToolError,
            "refuses the credential of the agent (HTTP 401). Continue without it",
        ),
        (
            403,
            ToolError,
            "does not allow this with the credential of the agent (HTTP 403): no ",
        ),
        (404, ToolError, "does not accept the request (HTTP 404)"),
        (
            408,
            Unavailable,
            "cannot be used at the moment: HTTP 408. Continue without it.",
        ),
        (429, RateLimited, "retryAfter: 17 s."),
        (500, Unavailable, "HTTP 500. Continue without it."),
        (503, Unavailable, "HTTP 503. Continue without it."),
    ] {
        let (log, _guard) = CapturedLog::start();
        let long = "long ".repeat(100);
        let body = format!(r#"{{"message":"no\n Bearer {TOKEN} please {long}\u202e","x":"body"}}"#);
        let response = response_with(status, &[("retry-after", "17")], body);
        let server = FakeApi::start([response]).await;
        let output = get_output(&api(&server.url)).await;
        assert_eq!(output.outcome, outcome, "{status}");
        assert!(output.text.contains(expected), "{}", output.text);
        assert!(output.text.chars().count() < 400, "{}", output.text);
        let log = log.text();
        assert_eq!(log.contains("WARN"), [401, 403].contains(&status), "{log}");
        for text in [log, format!("{output:?}")] {
            let is_clean = !["hush", "\\n", "\u{202e}", "body"]
                .iter()
                .any(|it| text.contains(it));
            assert!(is_clean, "{text}");
        }
    }
}

#[tokio::test]
async fn an_error_that_is_not_json_is_not_quoted() {
    let page = "<html>Bad gateway at 10.0.0.7</html>";
    let server = FakeApi::start([json_response(400, page), json_response(200, page)]).await;
    let api = api(&server.url);
    let output = get_output(&api).await;
    assert_eq!(
        output.text,
        "The API does not accept the request (HTTP 400)"
    );
    let output = get_output(&api).await;
    assert_eq!(output.outcome, CallStatus::Unavailable);
    assert!(!output.text.contains("10.0.0.7"), "{}", output.text);
}

#[tokio::test]
async fn a_body_is_read_up_to_the_limit_only() {
    let sent = Arc::new(Mutex::new(0));
    for (status, outcome) in [(200, CallStatus::Unavailable), (400, CallStatus::ToolError)] {
        let counter = Arc::clone(&sent);
        // 10 MiB, without a length.
        let chunks = repeat_with(move || {
            *counter.lock().unwrap() += 64 * 1024;
            Ok::<_, Infallible>(Bytes::from_static(&[b'['; 64 * 1024]))
        });
        let body = Body::from_stream(chunks.take(160));
        let server = FakeApi::start([response_with(status, &[], body)]).await;
        let output = get_output(&api(&server.url)).await;
        assert_eq!(output.outcome, outcome, "{}", output.text);
    }
    // With what is in the buffers of sockets.
    assert!(*sent.lock().unwrap() < 2 * 10 * 1024 * 1024, "{sent:?}");
}

#[tokio::test]
async fn a_length_is_not_believed() {
    let (url, _server) = serve_raw(async |mut stream, _| {
        let head = b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999999\r\n\r\n[";
        stream.write_all(head).await.unwrap();
    })
    .await;
    let output = get_output(&api(&url)).await;
    assert!(
        output.text.contains("the connection was lost"),
        "{}",
        output.text
    );
}

#[tokio::test]
async fn a_slow_body_ends_with_the_time_of_the_request() {
    for (method, consequence) in [
        (Method::GET, "Continue without it."),
        (Method::POST, "It may have happened all the same"),
    ] {
        // One byte at a time, without an end.
        let ticks = unfold(interval(Duration::from_millis(10)), async |mut ticks| {
            ticks.tick().await;
            Some((Ok::<_, Infallible>(Bytes::from_static(b" ")), ticks))
        });
        let server = FakeApi::start([response_with(200, &[], Body::from_stream(ticks))]).await;
        let api = HttpApi {
            timeout: Duration::from_millis(200),
            ..api(&server.url)
        };
        let started = Instant::now();
        let error = api
            .send(api.request(method.clone(), &[], &[]))
            .await
            .unwrap_err();
        assert!(started.elapsed() < Duration::from_secs(5));
        let effect = match method {
            Method::GET => ToolEffect::Read,
            _ => ToolEffect::Write,
        };
        let output = api.failed(&error, effect);
        assert_eq!(output.outcome, CallStatus::Unavailable);
        assert!(
            output.text.contains("did not respond within 200ms"),
            "{}",
            output.text
        );
        assert!(output.text.contains(consequence), "{}", output.text);
    }
}

#[tokio::test]
async fn a_redirect_to_another_host_does_not_carry_the_credential() {
    for status in [301, 302, 303, 307, 308] {
        let other = FakeApi::start([json_response(200, "{}")]).await;
        let location = other.url.replace("127.0.0.1", "localhost");
        let redirect = response_with(status, &[("location", &location)], "{}");
        let server = FakeApi::start([redirect]).await;
        let (log, _guard) = CapturedLog::start();
        let output = get_output(&api(&server.url)).await;
        assert_eq!(output.outcome, CallStatus::ToolError);
        assert!(
            output.text.contains("redirects to another address"),
            "{}",
            output.text
        );
        assert!(log.text().contains("WARN"), "{}", log.text());
        assert!(other.requests().is_empty());
    }
}

/// Serves connections one after the other, each after its request was read.
async fn serve_raw<F>(
    serve: impl Fn(TcpStream, usize) -> F + Send + 'static,
) -> (String, JoinSet<()>)
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let mut server = JoinSet::new();
    server.spawn(async move {
        for number in 0.. {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = [0; 4096];
            assert!(stream.read(&mut request).await.unwrap() > 0);
            serve(stream, number).await;
        }
    });
    (url, server)
}

/// Serves connections that are reset, as many as this, and then an answer.
async fn serve_resets(count: usize) -> (String, Arc<Mutex<usize>>, JoinSet<()>) {
    let connections = Arc::new(Mutex::new(0));
    let counter = Arc::clone(&connections);
    let serve = move |mut stream: TcpStream, number: usize| {
        *counter.lock().unwrap() += 1;
        async move {
            if number < count {
                stream.set_zero_linger().unwrap();
                return;
            }
            let response = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
            stream.write_all(response).await.unwrap();
        }
    };
    let (url, server) = serve_raw(serve).await;
    (url, connections, server)
}

#[tokio::test]
async fn only_a_get_is_repeated_and_once_after_its_connection_was_reset() {
    let (url, connections, _server) = serve_resets(1).await;
    assert!(get(&api(&url)).await.is_ok());
    assert_eq!(*connections.lock().unwrap(), 2);

    let (url, connections, _server) = serve_resets(9).await;
    let output = get_output(&api(&url)).await;
    assert!(
        output.text.contains("the connection was reset"),
        "{}",
        output.text
    );
    assert_eq!(*connections.lock().unwrap(), 2);

    let (url, connections, _server) = serve_resets(1).await;
    let api = api(&url);
    let error = api
        .send(api.request(Method::POST, &[], &[]))
        .await
        .unwrap_err();
    let output = api.failed(&error, ToolEffect::Write);
    assert!(
        output.text.contains("It may have happened all the same"),
        "{}",
        output.text
    );
    assert_eq!(*connections.lock().unwrap(), 1);
}

#[tokio::test]
async fn a_connection_that_is_closed_is_not_repeated() {
    let connections = Arc::new(Mutex::new(0));
    let counter = Arc::clone(&connections);
    let (url, _server) = serve_raw(move |_, _| {
        *counter.lock().unwrap() += 1;
        async {}
    })
    .await;
    let output = get_output(&api(&url)).await;
    assert_eq!(output.outcome, CallStatus::Unavailable);
    assert_eq!(*connections.lock().unwrap(), 1);
}

#[tokio::test]
async fn an_api_that_is_not_there_cannot_be_used() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let api = api(&format!("http://{address}"));
    let error = get(&api).await.unwrap_err();
    // Nothing has happened, so nothing must be checked.
    let output = api.failed(&error, ToolEffect::Write);
    assert_eq!(output.outcome, CallStatus::Unavailable);
    let is_expected = output
        .text
        .contains("it cannot be reached: Connection refused")
        && output.text.ends_with("Continue without it.");
    assert!(is_expected, "{}", output.text);
    assert!(
        !output.text.contains(&address.port().to_string()),
        "{}",
        output.text
    );
}

#[tokio::test]
async fn a_deep_response_is_an_error() {
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let server = FakeApi::start([json_response(200, &deep)]).await;
    let output = get_output(&api(&server.url)).await;
    assert_eq!(output.outcome, CallStatus::Unavailable);
    assert!(
        output.text.contains("not that of its API"),
        "{}",
        output.text
    );
}

#[test]
fn a_url_has_a_scheme_and_no_credentials() {
    for url in [
        "",
        "a.example",
        "ftp://a.example",
        "http://",
        "http://me:hush@a",
        "http://a?k=hush",
    ] {
        let error = HttpApi::new("source", "The API", url).unwrap_err();
        assert!(
            error.contains("`url`") && !error.contains("hush"),
            "{error}"
        );
    }
    assert!(HttpApi::new("source", "The API", "https://a.example/api/v3").is_ok());
}

#[test]
fn a_credential_is_loaded_and_never_shown() {
    #[derive(Debug, serde::Deserialize)]
    struct Settings {
        key: Credential,
    }
    let settings: Settings = toml::from_str("key = ' hush-hush '").unwrap();
    assert!(!format!("{settings:?}").contains("hush"));
    let error = toml::from_str::<Settings>("key = 'hush hush'").unwrap_err();
    assert!(!error.message().contains("hush"), "{}", error.message());

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    let value = Some(&settings.key);
    let load = |value, path| load_credential("key", value, path);
    let loaded = load(value, None).unwrap().unwrap();
    assert_eq!(loaded.expose(), "hush-hush");
    assert!(
        load(value, Some(&path))
            .unwrap_err()
            .contains("both `key` and `key_file`")
    );
    assert!(
        load(None, Some(&path))
            .unwrap_err()
            .contains("cannot be read")
    );
    std::fs::write(&path, "hush hush").unwrap();
    let error = load(None, Some(&path)).unwrap_err();
    assert!(
        error.contains("visible ASCII") && !error.contains("hush"),
        "{error}"
    );
    std::fs::write(&path, "hush-hush\n").unwrap();
    assert_eq!(
        load(None, Some(&path)).unwrap().unwrap().expose(),
        "hush-hush"
    );
    assert!(load(None, None).unwrap().is_none());
}

#[test]
fn the_message_of_an_error_is_found_in_the_format_of_each_api() {
    for body in [
        r#"{"message":"No","documentation_url":"https://docs.github.com/rest"}"#,
        r#"{"detail":{"error":"No"}}"#,
        r#"{"type":"ErrorResponse","error":{"id":"1","status":422,"detail":"No"}}"#,
        r#"{"type":"ErrorResponse","errors":[{"code":"RATE_LIMITED","detail":"No"}]}"#,
        r#"{"error":"No"}"#,
    ] {
        assert_eq!(
            error_message(&serde_json::from_str(body).unwrap()),
            "No",
            "{body}"
        );
    }
    assert_eq!(error_message(&Value::Null), "");
}

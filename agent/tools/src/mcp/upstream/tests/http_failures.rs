//! Servers over HTTP that cannot be used, and the errors for the operator and the model.

use axum::Router;
use axum::response::IntoResponse;
use http::{StatusCode, header};
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;

use super::*;

/// A text that no message may have.
const BODY: &str = "hush";

/// A server that answers every request in the same way, and its URL.
struct Answering {
    url: String,
    _serving: AbortOnDropHandle<()>,
}

impl Answering {
    async fn new(response: impl IntoResponse + Clone + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().fallback(move || async move { response });
        let serving = async move { axum::serve(listener, router).await.unwrap() };
        Self {
            url: format!("http://{address}/{BODY}"),
            _serving: AbortOnDropHandle::new(tokio::spawn(serving)),
        }
    }
}

/// Returns message and remedy of the failure to connect to a URL.
async fn failure(url: &str) -> (String, String) {
    let headers = json!({ "Authorization": format!("Bearer {BODY}") });
    let upstream = upstream(
        json!({ "url": url, "headers": headers }),
        None,
        &Arc::default(),
        None,
    );
    let failure = upstream.start().await.unwrap_err();
    upstream.stop().await;
    let remedy = failure.remedy.unwrap();
    for text in [&failure.message, &remedy, &failure.log_message.unwrap()] {
        assert!(!text.contains(BODY), "{text}");
    }
    (failure.message, remedy)
}

#[tokio::test]
async fn the_status_that_a_server_answers_is_named_with_what_to_do() {
    for (status, message, remedy) in [
        (
            401,
            "it answers 401 Unauthorized",
            "set its credentials in `headers`",
        ),
        (
            403,
            "it answers 403 Forbidden",
            "the credentials in `headers` may not use it",
        ),
        (
            404,
            "it answers 404 Not Found",
            "check its `url`: that of Streamable HTTP",
        ),
        (405, "it answers 405 Method Not Allowed", "check its `url`"),
        (
            307,
            "it answers 307 Temporary Redirect",
            "write the address to which it redirects",
        ),
        (429, "it answers 429 Too Many Requests", "try again later"),
        (
            503,
            "it answers 503 Service Unavailable",
            "try again later, or look at the server",
        ),
    ] {
        let server = Answering::new((StatusCode::from_u16(status).unwrap(), BODY)).await;
        let actual = failure(&server.url).await;
        assert_eq!(actual.0, message);
        assert!(actual.1.starts_with(remedy), "{actual:?}");
    }
    let challenge = [(header::WWW_AUTHENTICATE, format!("Bearer realm={BODY}"))];
    for (status, message) in [
        (StatusCode::UNAUTHORIZED, "it answers 401 Unauthorized"),
        (StatusCode::FORBIDDEN, "it answers 403 Forbidden"),
    ] {
        let server = Answering::new((status, challenge.clone(), BODY)).await;
        assert_eq!(failure(&server.url).await.0, message);
    }
}

#[tokio::test]
async fn a_server_without_mcp_is_distinguished_from_one_that_does_not_listen() {
    let page = [(header::CONTENT_TYPE, "text/html")];
    let server = Answering::new((page, BODY)).await;
    let (message, remedy) = failure(&server.url).await;
    assert_eq!(message, "it answers something that is not MCP");
    assert!(remedy.starts_with("check its `url`"), "{remedy}");
    let json = [(header::CONTENT_TYPE, "application/json")];
    let server = Answering::new((json, "[1]")).await;
    assert_eq!(
        failure(&server.url).await.0,
        "it answers something that is not MCP"
    );
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    drop(listener);
    let (message, remedy) = failure(&url).await;
    assert!(
        message.starts_with("it cannot be reached: ") && message.contains("refused"),
        "{message}"
    );
    assert_eq!(remedy, "check that it runs, and its `url`");
}

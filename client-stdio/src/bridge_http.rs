//! rmcp's HTTP client, watched.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use http::{HeaderName, HeaderValue};
use reqwest::Url;
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::Sse;
use tokio::sync::mpsc;

use crate::MAX_MESSAGE_BYTES;
use crate::offline::Absence;
use crate::tls;

/// A bridge on this machine answers in milliseconds; a host that swallows packets never does.
const CONNECT_WITHIN: Duration = Duration::from_secs(2);

pub(crate) type Failure = StreamableHttpError<reqwest::Error>;

type Events = BoxStream<'static, Result<Sse, SseError>>;
type Headers = HashMap<HeaderName, HeaderValue>;

/// rmcp's transport opens a broken event stream again and again without telling anybody, so that a
/// bridge that went away would be noticed at the next request only. Here each failed attempt is
/// reported, and the server's `retry` hint (3 s in rmcp) does not delay the first one.
#[derive(Clone)]
pub(crate) struct BridgeHttp {
    http: reqwest::Client,
    /// Room for one: the first report is enough to give the link up.
    lost: mpsc::Sender<Absence>,
}

impl BridgeHttp {
    /// A client for the bridge at `url`; what tells that it is gone goes to `lost`.
    pub(crate) fn new(url: &Url, lost: mpsc::Sender<Absence>) -> Result<Self, Absence> {
        Ok(Self {
            http: http_client(url)?,
            lost,
        })
    }
}

impl StreamableHttpClient for BridgeHttp {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let size = MAX_MESSAGE_BYTES;
        self.post_message_with_max_sse_event_size(uri, message, session, token, headers, size)
            .await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
        size: usize,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let asked = match &message {
            JsonRpcMessage::Request(request) => Some(request.id.clone()),
            _ => None,
        };
        let response = self
            .http
            .post_message_with_max_sse_event_size(uri, message, session, token, headers, size)
            .await?;
        Ok(match response {
            StreamableHttpPostResponse::Sse(events, session) => {
                StreamableHttpPostResponse::Sse(without_retry(events), session)
            }
            // A refusal that could not name its request still answers the one it came back on.
            StreamableHttpPostResponse::Json(JsonRpcMessage::Error(mut error), session) => {
                error.id = error.id.or(asked);
                StreamableHttpPostResponse::Json(JsonRpcMessage::Error(error), session)
            }
            other => other,
        })
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<(), Failure> {
        self.http.delete_session(uri, session, token, headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<Events, Failure> {
        let size = MAX_MESSAGE_BYTES;
        self.get_stream_with_max_sse_event_size(uri, session, last_event, token, headers, size)
            .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: Headers,
        size: usize,
    ) -> Result<Events, Failure> {
        let stateless = session.is_none();
        let opening = self
            .http
            .get_stream_with_max_sse_event_size(uri, session, last_event, token, headers, size);
        match opening.await {
            Ok(events) => Ok(without_retry(events)),
            Err(Failure::ServerDoesNotSupportSse) => Err(Failure::ServerDoesNotSupportSse),
            // Without an MCP session there is nothing to resume. This is the error that makes the
            // transport end the request instead of trying for ever.
            Err(_) if stateless => Err(Failure::ServerDoesNotSupportSse),
            Err(failure) => {
                let absence = match absence(&failure) {
                    Absence::Refused { status: 404, .. } => Absence::SessionForgotten,
                    other => other,
                };
                // A full channel already says that the link is lost.
                let _ = self.lost.try_send(absence);
                Err(failure)
            }
        }
    }
}

fn without_retry(events: Events) -> Events {
    let strip = |event: Result<Sse, SseError>| {
        event.map(|mut event| {
            event.retry = None;
            event
        })
    };
    events.map(strip).boxed()
}

fn http_client(url: &Url) -> Result<reqwest::Client, Absence> {
    let mut builder = reqwest::Client::builder()
        .connect_timeout(CONNECT_WITHIN)
        .tcp_keepalive(Duration::from_secs(30))
        .tls_backend_preconfigured(tls::client_config(url.scheme() == "https")?)
        .redirect(reqwest::redirect::Policy::none())
        // A connection of its own for each request: one that was kept and died with the bridge
        // would leave it open whether a call was executed.
        .pool_max_idle_per_host(0);
    if is_loopback(url.host_str()) {
        // HTTP_PROXY of the desktop is not meant for this machine.
        builder = builder.no_proxy();
    }
    builder
        .build()
        .map_err(|error| Absence::Unusable(error.to_string()))
}

fn is_loopback(host: Option<&str>) -> bool {
    let Some(host) = host else { return false };
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || address
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

/// The one table from HTTP failures to what they mean here.
pub(crate) fn absence(failure: &Failure) -> Absence {
    match failure {
        Failure::Client(error) if error.is_connect() || error.is_builder() => {
            tls::absence(error).unwrap_or(Absence::NotReached)
        }
        Failure::Client(error) => match error.status() {
            Some(status) => refused(status.as_u16(), None),
            None => Absence::Interrupted,
        },
        Failure::HttpStatus(error) => refused(error.status, None),
        Failure::AuthRequired(_) => Absence::TokenRefused,
        Failure::InsufficientScope(_) => refused(403, None),
        Failure::SessionExpired => Absence::SessionForgotten,
        Failure::UnexpectedServerResponse(text) => match status_in(text) {
            Some(status) => refused(status, message_in(text)),
            None => Absence::Unusable("its answer is not MCP".to_owned()),
        },
        Failure::UnexpectedContentType(_) | Failure::Deserialize(_) => {
            Absence::Unusable("its answer is not MCP".to_owned())
        }
        Failure::ResponseBodyTooLarge { max_size } => {
            Absence::Unusable(format!("its answer is larger than {max_size} bytes"))
        }
        _ => Absence::Interrupted,
    }
}

fn refused(status: u16, message: Option<String>) -> Absence {
    if status == 401 {
        Absence::TokenRefused
    } else {
        Absence::Refused { status, message }
    }
}

/// rmcp's client reports statuses that it has no variant for as text: `HTTP 401 Unauthorized: …`.
fn status_in(text: &str) -> Option<u16> {
    text.strip_prefix("HTTP ")?.get(..3)?.parse().ok()
}

/// The `message` of the bridge's JSON error, which is the body at the end of such a text.
fn message_in(text: &str) -> Option<String> {
    let body = text.find('{').and_then(|start| text.get(start..))?;
    let error: serde_json::Value = serde_json::from_str(body).ok()?;
    Some(error.get("message")?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_in_texts_are_understood() {
        let failure = |text: &'static str| Failure::UnexpectedServerResponse(text.into());
        let refused = |status, message: Option<&str>| Absence::Refused {
            status,
            message: message.map(str::to_owned),
        };
        let too_large = r#"HTTP 413 Payload Too Large: {"error":"X","message":"too large"}"#;
        assert_eq!(
            absence(&failure(too_large)),
            refused(413, Some("too large"))
        );
        assert_eq!(
            absence(&failure("HTTP 404 Not Found: <html>")),
            refused(404, None)
        );
        assert_eq!(
            absence(&failure("HTTP 401 Unauthorized: ")),
            Absence::TokenRefused
        );
        assert!(matches!(
            absence(&failure("expect json")),
            Absence::Unusable(_)
        ));
    }

    #[test]
    fn only_this_machine_is_reached_without_a_proxy() {
        for (host, loopback) in [
            ("localhost", true),
            ("127.0.0.9", true),
            ("[::1]", true),
            ("10.0.0.1", false),
            ("localhost.example.com", false),
        ] {
            assert_eq!(is_loopback(Some(host)), loopback, "{host}");
        }
    }
}

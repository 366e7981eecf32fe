//! The opening handshake of a WebSocket (RFC 6455 section 4.2).

use axum::extract::FromRequestParts;
use axum::response::{IntoResponse, Response};
use http::header::{
    CONNECTION, HeaderName, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

/// The connection of a request that becomes a WebSocket.
pub(crate) type UpgradedIo = TokioIo<hyper::upgrade::Upgraded>;

/// A request to upgrade to a WebSocket.
#[derive(Debug)]
pub(crate) struct WebSocketUpgrade {
    connection: OnUpgrade,
    accept_key: HeaderValue,
}

impl<S: Sync> FromRequestParts<S> for WebSocketUpgrade {
    /// A message that states what the request lacks.
    type Rejection = &'static str;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        if parts.method != Method::GET {
            return Err("the method must be GET");
        }
        if !header_contains(&parts.headers, CONNECTION, "upgrade") {
            return Err("the header `Connection` must name `upgrade`");
        }
        if !header_contains(&parts.headers, UPGRADE, "websocket") {
            return Err("the header `Upgrade` must be `websocket`");
        }
        if parts
            .headers
            .get(SEC_WEBSOCKET_VERSION)
            .map(HeaderValue::as_bytes)
            != Some(b"13")
        {
            return Err("the header `Sec-WebSocket-Version` must be 13");
        }
        let key = parts.headers.get(SEC_WEBSOCKET_KEY);
        let key = key.ok_or("the header `Sec-WebSocket-Key` is missing")?;
        let accept = HeaderValue::try_from(derive_accept_key(key.as_bytes()));
        Ok(Self {
            accept_key: accept.map_err(|_| "the header `Sec-WebSocket-Key` cannot be answered")?,
            connection: parts
                .extensions
                .remove::<OnUpgrade>()
                .ok_or("this connection cannot be upgraded")?,
        })
    }
}

impl WebSocketUpgrade {
    /// Returns the response, and a future of the connection once the response has been sent. The
    /// future resolves to `None` when the client has disconnected.
    pub(crate) fn accept(self) -> (Response, impl Future<Output = Option<UpgradedIo>>) {
        let headers = [
            (CONNECTION, HeaderValue::from_static("upgrade")),
            (UPGRADE, HeaderValue::from_static("websocket")),
            (SEC_WEBSOCKET_ACCEPT, self.accept_key),
        ];
        let answer = (StatusCode::SWITCHING_PROTOCOLS, headers).into_response();
        let connection = self.connection;
        (answer, async { connection.await.ok().map(TokioIo::new) })
    }
}

/// Whether a header consists of this word, or contains it in its list.
fn header_contains(headers: &HeaderMap, name: HeaderName, word: &str) -> bool {
    let values = headers.get_all(name).into_iter();
    values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|it| it.trim().eq_ignore_ascii_case(word))
}

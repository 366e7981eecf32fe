//! rmcp's Streamable HTTP service, as a function from a request to its response: it has no sessions
//! and stores nothing. It serves the methods that reach no page, and rejects invalid requests.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;

use bridge_protocol::event_data;
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderValue, Request, Response};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use super::http_response::KEEP_ALIVE_INTERVAL;
use super::large_body::{LargeBodyHint, block_in_place};
use super::rmcp_handler::Handler;
use super::session::McpSession;
use crate::budget::ScanTurn;

type Service = StreamableHttpService<Handler, NeverSessionManager>;

/// rmcp's service for requests in MCP sessions, and for all others.
#[derive(Clone)]
pub(super) struct RmcpServices {
    in_session: Service,
    /// Also refuses requests, with the checks of a server that has sessions.
    outside: Service,
}

impl RmcpServices {
    pub(super) fn new(
        handler: &Handler,
        max_request_bytes: usize,
        stopping: &CancellationToken,
    ) -> Self {
        let service = |has_sessions| {
            // Host and Origin are checked on every route before this one.
            let config = StreamableHttpServerConfig::default()
                .disable_allowed_hosts()
                .with_legacy_session_mode(has_sessions)
                .with_json_response(true)
                .with_cancellation_token(stopping.clone())
                // A retry event would start streams with an event that older clients do not support.
                .with_sse_retry(None)
                .with_sse_keep_alive(Some(KEEP_ALIVE_INTERVAL))
                .with_max_request_body_bytes(max_request_bytes);
            let handler = handler.clone();
            let sessions = Arc::<NeverSessionManager>::default();
            StreamableHttpService::new(move || Ok(handler.clone()), sessions, config)
        };
        Self {
            in_session: service(false),
            outside: service(true),
        }
    }

    /// Serves a request, in this session if it belongs to one. `accepts` means that the client accepts
    /// what responses may be. rmcp parses the whole request in the
    /// first poll, which takes the turn; while it does, and while it encodes a large response, another
    /// thread serves the other sockets.
    pub(super) async fn serve(
        &self,
        mut parts: Parts,
        body: Bytes,
        session: Option<Arc<McpSession>>,
        accepts: bool,
        mut scan_turn: Option<ScanTurn>,
    ) -> (Response<BoxBody<Bytes, Infallible>>, LargeBodyHint) {
        if accepts {
            // rmcp refuses equivalent values, such as `*/*` or none.
            let both = HeaderValue::from_static("application/json, text/event-stream");
            parts.headers.insert(ACCEPT, both);
        }
        let json = HeaderValue::from_static("application/json");
        parts.headers.insert(CONTENT_TYPE, json);
        let large_body = LargeBodyHint::default();
        parts.extensions.insert(large_body.clone());
        let service = match session {
            Some(session) => {
                parts.extensions.insert(session);
                &self.in_session
            }
            None => &self.outside,
        };
        let mut response = pin!(service.handle(Request::from_parts(parts, Full::new(body))));
        let response = poll_fn(|context| {
            let turn = scan_turn.take();
            if turn.is_some() || large_body.is_set() {
                block_in_place(|| response.as_mut().poll(context))
            } else {
                response.as_mut().poll(context)
            }
        });
        (response.await, large_body)
    }
}

/// Escapes line separators in a stream that rmcp has encoded, each of whose chunks is a whole event.
pub(super) fn with_escaped_separators(
    stream: BoxBody<Bytes, Infallible>,
) -> BoxBody<Bytes, Infallible> {
    let escape = |event: Bytes| match event_data::escape_separators(&event) {
        Some(escaped) => Bytes::from(escaped),
        None => event,
    };
    stream
        .map_frame(move |frame| frame.map_data(escape))
        .boxed()
}

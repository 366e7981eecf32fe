//! A transport to a server that may answer `server/discover` late.
//!
//! rmcp waits 10 s for the response and then sends `initialize` in its place. A server that was slow
//! to start answers both: its late response would be taken for a wrong one, and a server without
//! `initialize` refuses that request. Therefore a late result of `server/discover` becomes that of
//! `initialize`, and any other late response is dropped.

use std::mem;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Either, ready};
use rmcp::RoleClient;
use rmcp::model::{
    ClientNotification, ClientRequest, DiscoverResult, ErrorCode, Implementation, InitializeResult,
    JsonRpcMessage, ProtocolVersion, RequestId, ServerResult,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;

/// The version of MCP that `server/discover` selects.
pub(super) const DISCOVERED_VERSION: ProtocolVersion = ProtocolVersion::V_2026_07_28;

/// When `initialize` is sent while `server/discover` has no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InitializeTiming {
    /// At once: older servers over stdio do not answer a method that they do not know.
    AtOnce,
    /// After a response that is not the result. Every request over HTTP has one, and rmcp's
    /// transport sends only one at a time.
    AfterResponse,
}

/// A transport that accepts a late response to `server/discover`.
pub(super) struct LateDiscovery<T: Transport<RoleClient>> {
    transport: T,
    timing: InitializeTiming,
    state: State,
    /// The request `initialize` that was held, while it is sent.
    sending: Option<BoxFuture<'static, Result<(), T::Error>>>,
}

/// The state of the handshake.
#[derive(Debug)]
enum State {
    /// Neither request waits for a response.
    Idle,
    /// `server/discover` waits for its response.
    Discovering { discover: RequestId },
    /// rmcp has sent `initialize` before that response.
    Initializing {
        discover: RequestId,
        initialize: RequestId,
        /// The request `initialize`, unless it was sent at once.
        held: Option<Box<TxJsonRpcMessage<RoleClient>>>,
        /// The refusal of `initialize`, which counts if `server/discover` fails also.
        refusal: Option<Box<RxJsonRpcMessage<RoleClient>>>,
    },
    /// `initialize` has a response. That to `server/discover` is not used any more.
    Initialized { discover: RequestId },
    /// The result of `server/discover` was the response to `initialize`. What the server answers
    /// to that is not used.
    Discovered { initialize: RequestId },
}

impl<T: Transport<RoleClient>> LateDiscovery<T> {
    pub(super) fn new(transport: T, timing: InitializeTiming) -> Self {
        Self {
            transport,
            timing,
            state: State::Idle,
            sending: None,
        }
    }

    /// Notes a message of rmcp. Returns it unless it must not be sent now.
    fn outgoing(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> Option<TxJsonRpcMessage<RoleClient>> {
        match &message {
            JsonRpcMessage::Request(request) => match &request.request {
                ClientRequest::DiscoverRequest(_) => {
                    let discover = request.id.clone();
                    self.state = State::Discovering { discover };
                }
                ClientRequest::InitializeRequest(_) => {
                    let State::Discovering { discover } = &self.state else {
                        return Some(message);
                    };
                    let (discover, initialize) = (discover.clone(), request.id.clone());
                    let (held, sent) = match self.timing {
                        InitializeTiming::AtOnce => (None, Some(message)),
                        InitializeTiming::AfterResponse => (Some(Box::new(message)), None),
                    };
                    self.state = State::Initializing {
                        discover,
                        initialize,
                        held,
                        refusal: None,
                    };
                    return sent;
                }
                _ => {}
            },
            JsonRpcMessage::Notification(notification) => {
                let is_initialized = matches!(
                    notification.notification,
                    ClientNotification::InitializedNotification(_)
                );
                if is_initialized && matches!(self.state, State::Discovered { .. }) {
                    return None;
                }
            }
            _ => {}
        }
        Some(message)
    }

    /// Notes a message of the server. Returns the message that rmcp receives for it, if any.
    fn incoming(
        &mut self,
        message: RxJsonRpcMessage<RoleClient>,
    ) -> Option<RxJsonRpcMessage<RoleClient>> {
        let id = match &message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        let Some(id) = id else {
            return Some(message);
        };
        match mem::replace(&mut self.state, State::Idle) {
            State::Discovering { discover } if *id == discover => Some(message),
            State::Initialized { discover } if *id == discover => None,
            State::Initializing {
                discover,
                initialize,
                held,
                refusal,
            } if *id == discover => {
                if let Some(result) = initialize_result(message) {
                    let result = ServerResult::InitializeResult(result);
                    let response = JsonRpcMessage::response(result, initialize.clone());
                    self.state = State::Discovered { initialize };
                    return Some(response);
                }
                self.sending = held.map(|held| self.transport.send(*held).boxed());
                refusal.map(|refusal| *refusal)
            }
            State::Initializing {
                discover,
                initialize,
                held,
                ..
            } if *id == initialize => {
                if !is_refusal(&message) {
                    self.state = State::Initialized { discover };
                    return Some(message);
                }
                self.state = State::Initializing {
                    discover,
                    initialize,
                    held,
                    refusal: Some(Box::new(message)),
                };
                None
            }
            State::Discovered { initialize } if *id == initialize => {
                self.state = State::Discovered { initialize };
                None
            }
            state => {
                self.state = state;
                Some(message)
            }
        }
    }
}

/// Whether a server refuses `initialize` because it has no version with that request.
fn is_refusal(message: &RxJsonRpcMessage<RoleClient>) -> bool {
    matches!(message, JsonRpcMessage::Error(error)
        if error.error.code == ErrorCode::UNSUPPORTED_PROTOCOL_VERSION)
}

/// Converts a response to `server/discover` to the result of `initialize`, unless it is an error or
/// the server does not have the version.
fn initialize_result(message: RxJsonRpcMessage<RoleClient>) -> Option<InitializeResult> {
    let JsonRpcMessage::Response(response) = message else {
        return None;
    };
    let ServerResult::DiscoverResult(discovered) = response.result else {
        return None;
    };
    let server_info = discovered.server_info();
    let DiscoverResult {
        supported_versions,
        capabilities,
        instructions,
        meta,
        ..
    } = discovered;
    if !supported_versions.contains(&DISCOVERED_VERSION) {
        return None;
    }
    let server_info = server_info.unwrap_or_else(|| Implementation::new("", ""));
    let mut result = InitializeResult::new(capabilities)
        .with_protocol_version(DISCOVERED_VERSION)
        .with_server_info(server_info);
    result.instructions = instructions;
    result.meta = meta;
    Some(result)
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for LateDiscovery<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        match self.outgoing(message) {
            Some(message) => Either::Left(self.transport.send(message)),
            None => Either::Right(ready(Ok(()))),
        }
    }

    /// Nothing is lost if the future is dropped.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            if let Some(sending) = &mut self.sending {
                let sent = sending.await;
                self.sending = None;
                sent.ok()?;
            }
            let message = self.transport.receive().await?;
            if let Some(message) = self.incoming(message) {
                return Some(message);
            }
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.transport.close()
    }
}

#[cfg(test)]
mod tests {
    use rmcp::service::ClientServiceExt;
    use serde_json::{Value, json};
    use tokio::io::{
        AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, duplex, split,
    };
    use tokio::io::{ReadHalf, WriteHalf};

    use super::super::connection::{NotificationHandler, lifecycle};
    use super::super::process_transport::ProcessTransport;
    use super::*;

    /// A server whose responses the test sends.
    struct Server {
        requests: Lines<BufReader<ReadHalf<DuplexStream>>>,
        output: WriteHalf<DuplexStream>,
    }

    impl Server {
        async fn recv(&mut self) -> Value {
            let line = self.requests.next_line().await.unwrap().unwrap();
            serde_json::from_str(&line).unwrap()
        }

        /// Receives a request of this method, and returns its id.
        async fn recv_request(&mut self, method: &str) -> Value {
            let mut request = self.recv().await;
            assert_eq!(request["method"], method, "{request}");
            request["id"].take()
        }

        async fn send(&mut self, id: &Value, mut message: Value) {
            message["jsonrpc"] = "2.0".into();
            message["id"] = id.clone();
            let line = format!("{message}\n");
            self.output.write_all(line.as_bytes()).await.unwrap();
        }
    }

    fn connect(timing: InitializeTiming) -> (LateDiscovery<impl Transport<RoleClient>>, Server) {
        let (client, server) = duplex(64 * 1024);
        let (read, write) = split(client);
        let transport = ProcessTransport::new(read, write, 64 * 1024);
        let (requests, output) = split(server);
        let requests = BufReader::new(requests).lines();
        (
            LateDiscovery::new(transport, timing),
            Server { requests, output },
        )
    }

    fn discovered() -> Value {
        json!({ "result": { "resultType": "complete", "supportedVersions": ["2026-07-28"],
            "capabilities": { "tools": {} }, "ttlMs": 0, "cacheScope": "private" } })
    }

    fn error(code: i32) -> Value {
        json!({ "error": { "code": code, "message": "no" } })
    }

    fn initialized() -> Value {
        json!({ "result": { "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
            "serverInfo": { "name": "old", "version": "1" } } })
    }

    /// Connects to a server that answers `server/discover` only after `initialize` was requested.
    /// Its `responses` name the request by its method. Returns the version of the connection, or
    /// the error.
    async fn late_version(responses: Vec<(&'static str, Value)>) -> Result<String, String> {
        let (transport, mut server) = connect(InitializeTiming::AtOnce);
        let connecting =
            NotificationHandler::default().serve_with_lifecycle(transport, lifecycle());
        let serving = async move {
            let discover = server.recv_request("server/discover").await;
            // The paused clock advances by the 10 s for which rmcp waits.
            let initialize = server.recv_request("initialize").await;
            for (method, response) in responses {
                let is_discover = method == "server/discover";
                let id = if is_discover { &discover } else { &initialize };
                server.send(id, response).await;
            }
            server
        };
        let (connected, mut server) = tokio::join!(connecting, serving);
        let service = connected.map_err(|error| error.to_string())?;
        let version = service.peer_info().unwrap().protocol_version.to_string();
        let listing = service.list_tools(None);
        let serving = async {
            let mut request = server.recv().await;
            if version != "2026-07-28" {
                assert_eq!(request["method"], "notifications/initialized");
                request = server.recv().await;
            }
            assert_eq!(request["method"], "tools/list", "{request}");
            let meta = &request["params"]["_meta"];
            let in_request = meta.get("io.modelcontextprotocol/protocolVersion");
            assert_eq!(in_request.is_some(), version == "2026-07-28", "{request}");
            let tools = json!({ "result": { "resultType": "complete", "tools": [], "ttlMs": 0,
                "cacheScope": "private" } });
            server.send(&request["id"], tools).await;
        };
        let (listed, ()) = tokio::join!(listing, serving);
        assert!(listed.unwrap().tools.is_empty());
        Ok(version)
    }

    #[tokio::test(start_paused = true)]
    async fn a_late_result_of_discover_is_used_and_other_late_responses_are_dropped() {
        let (discover, initialize) = ("server/discover", "initialize");
        for (responses, expected) in [
            (
                vec![(discover, discovered()), (initialize, error(-32022))],
                Ok("2026-07-28"),
            ),
            (
                vec![(initialize, error(-32022)), (discover, discovered())],
                Ok("2026-07-28"),
            ),
            (
                vec![(discover, discovered()), (initialize, initialized())],
                Ok("2026-07-28"),
            ),
            (
                vec![(initialize, initialized()), (discover, discovered())],
                Ok("2025-11-25"),
            ),
            (
                vec![(discover, error(-32601)), (initialize, initialized())],
                Ok("2025-11-25"),
            ),
            (
                vec![(initialize, initialized()), (discover, error(-32601))],
                Ok("2025-11-25"),
            ),
            (
                vec![(discover, error(-32601)), (initialize, error(-32022))],
                Err("-32022"),
            ),
            (
                vec![(initialize, error(-32022)), (discover, error(-32601))],
                Err("-32022"),
            ),
            (vec![(initialize, error(-32603))], Err("-32603")),
        ] {
            let version = late_version(responses.clone()).await;
            match expected {
                Ok(expected) => assert_eq!(version.as_deref(), Ok(expected), "{responses:?}"),
                Err(code) => assert!(version.unwrap_err().contains(code), "{responses:?}"),
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn over_http_initialize_is_sent_only_after_discover_has_failed() {
        for (response, expected) in [(discovered(), "2026-07-28"), (error(-32601), "2025-11-25")] {
            let (transport, mut server) = connect(InitializeTiming::AfterResponse);
            let connecting =
                NotificationHandler::default().serve_with_lifecycle(transport, lifecycle());
            let waited = tokio::time::Duration::from_secs(11);
            let serving = async move {
                let discover = server.recv_request("server/discover").await;
                let silent = tokio::time::timeout(waited, server.recv()).await;
                assert!(silent.is_err(), "{silent:?}");
                server.send(&discover, response).await;
                if expected == "2025-11-25" {
                    let initialize = server.recv_request("initialize").await;
                    server.send(&initialize, initialized()).await;
                }
                server
            };
            let (service, _server) = tokio::join!(connecting, serving);
            let version = service
                .unwrap()
                .peer_info()
                .unwrap()
                .protocol_version
                .to_string();
            assert_eq!(version, expected);
        }
    }
}

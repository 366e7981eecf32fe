//! An MCP server in memory, for the pages and clients of one token.
//!
//! `handlers` starts the requests of clients; `received_request` describes one.

mod handlers;
mod received_request;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bridge_protocol::{
    CallId, CallingClient, ClientError, ClientInfo, ClientResponse, ConnectedClient, ErrorCode,
    Kind,
};
use bridge_realm::in_memory::{BridgeOutput, InMemoryBridge};
use bridge_realm::realm::{CallOutcome, CallerEvent, ClientId};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::event::{ErrorResponse, Event};
use crate::limits::{MAX_REQUEST_BYTES, page_message_limits, realm_limits};
use crate::outcome::{self, RequestTarget};
use received_request::{ReceivedRequest, Started};

/// JSON-RPC 2.0, section 5.1.
const INVALID_REQUEST: i32 = -32600;

/// The MCP revision of the clients: the last one with sessions, in which they answer the requests
/// of handlers immediately.
const PROTOCOL_VERSION: &str = "2025-11-25";

/// The server.
#[derive(Debug)]
pub struct Server {
    bridge: InMemoryBridge,
    clients: BTreeMap<u64, Arc<CallingClient>>,
    client_count: u64,
    /// The requests that wait for a page, by their calls.
    open: BTreeMap<CallId, OpenRequest>,
    /// Events that have not been returned yet.
    events: Vec<Event>,
    /// The time of the latest event.
    now: Duration,
}

/// A request that waits for a page.
#[derive(Debug)]
struct OpenRequest {
    id: u64,
    client: u64,
    progress_token: Option<Value>,
    target: RequestTarget,
}

impl Server {
    /// Creates a server without pages and clients. `unix_ms` is the time now.
    #[must_use]
    pub fn new(unix_ms: u64) -> Self {
        // The tokens of the pages do not expire.
        let token_lifetime = |_: &str| Some(None);
        Self {
            bridge: InMemoryBridge::new(
                realm_limits(),
                page_message_limits(),
                "test",
                unix_ms,
                token_lifetime,
            ),
            clients: BTreeMap::new(),
            client_count: 0,
            open: BTreeMap::new(),
            events: Vec::new(),
            now: Duration::ZERO,
        }
    }

    /// Opens a connection of a page for a session.
    pub fn connection_opened(&mut self, connection: u64, session: &str) {
        self.bridge.connection_opened(connection, session);
    }

    /// Receives a frame of a page.
    pub fn frame_arrived(&mut self, connection: u64, frame: &str, at: Duration) -> Vec<Event> {
        self.now = at;
        let outputs = self.bridge.frame_arrived(connection, frame, at);
        self.deliver(outputs)
    }

    /// Closes a connection of a page.
    pub fn connection_closed(&mut self, connection: u64, code: u16, at: Duration) -> Vec<Event> {
        self.now = at;
        let outputs = self.bridge.connection_closed(connection, code, at);
        self.deliver(outputs)
    }

    /// Connects a client. Returns its number, or 0 if there are too many clients.
    pub fn client_connected(&mut self, name: &str, version: &str, capabilities: &str) -> u64 {
        let id = self.client_count + 1;
        let info = ClientInfo {
            name: name.to_owned(),
            version: Some(version.to_owned()),
            title: None,
        };
        let connected = ConnectedClient {
            id,
            info: info.clone(),
            protocol_version: PROTOCOL_VERSION.to_owned(),
        };
        let mut accepted = true;
        let outputs = self.bridge.with_realm(Duration::ZERO, |realm| {
            let effects = realm.client_connected(ClientId(id), connected);
            accepted = effects.is_ok();
            effects.unwrap_or_default()
        });
        self.apply(outputs);
        if !accepted {
            return 0;
        }
        self.client_count = id;
        let client = CallingClient {
            info,
            protocol_version: Some(PROTOCOL_VERSION.to_owned()),
            capabilities: RawValue::from_string(capabilities.to_owned()).ok(),
            limits: None,
        };
        self.clients.insert(id, Arc::new(client));
        id
    }

    /// Returns the events since the last call that returned events.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// Disconnects a client. Its calls are cancelled.
    pub fn client_disconnected(&mut self, client: u64, at: Duration) -> Vec<Event> {
        self.now = at;
        self.clients.remove(&client);
        let calls: Vec<_> = self
            .open
            .iter()
            .filter(|(_, request)| request.client == client)
            .map(|(call, _)| call.clone())
            .collect();
        for call in calls {
            let outputs = self.bridge.cancel(&call, at);
            self.apply(outputs);
        }
        let outputs = self
            .bridge
            .with_realm(at, |realm| realm.client_disconnected(ClientId(client)));
        self.deliver(outputs)
    }

    /// Receives a request of a client. `params` is JSON.
    pub fn request(
        &mut self,
        client: u64,
        id: u64,
        method: &str,
        params: &str,
        at: Duration,
    ) -> Vec<Event> {
        self.now = at;
        if params.len() > MAX_REQUEST_BYTES {
            let error = too_large(params.len());
            self.events.push(Event::Error { id, error });
            return self.take_events();
        }
        let request = ReceivedRequest {
            client,
            id,
            params,
            at,
        };
        match self.start(method, request) {
            Ok(Started::Waiting) => {}
            Ok(Started::Result(result)) => self.events.push(Event::Result { id, result }),
            Err(error) => self.events.push(Event::Error { id, error }),
        }
        self.take_events()
    }

    /// Receives a client's cancellation of a request.
    pub fn cancel(&mut self, id: u64, at: Duration) -> Vec<Event> {
        self.now = at;
        let outputs = match self.call_of(id) {
            Some(call) => self.bridge.cancel(&call, at),
            None => Vec::new(),
        };
        self.deliver(outputs)
    }

    /// Receives a client's response to a request of a handler.
    pub fn respond(
        &mut self,
        id: u64,
        key: &str,
        result: Result<String, &str>,
        at: Duration,
    ) -> Vec<Event> {
        self.now = at;
        let Some(call) = self.call_of(id) else {
            return self.take_events();
        };
        let result = result.and_then(|json| {
            RawValue::from_string(json).map_err(|_| "the client's answer is not JSON")
        });
        let (result, error) = match result {
            Ok(result) => (Some(result), None),
            Err(message) => (None, Some(client_error(message))),
        };
        let key = key.to_owned();
        let response = ClientResponse { key, result, error };
        let outputs = self.bridge.client_responded(&call, response, at);
        self.deliver(outputs)
    }

    /// Returns when [`Server::deadline_passed`] must be called next.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Duration> {
        self.bridge.next_deadline()
    }

    /// Handles all deadlines that have passed.
    pub fn deadline_passed(&mut self, at: Duration) -> Vec<Event> {
        self.now = at;
        let outputs = self.bridge.deadline_passed(at);
        self.deliver(outputs)
    }

    fn call_of(&self, id: u64) -> Option<CallId> {
        let mut open = self.open.iter();
        open.find(|(_, request)| request.id == id)
            .map(|(call, _)| call.clone())
    }

    fn deliver(&mut self, outputs: Vec<BridgeOutput>) -> Vec<Event> {
        self.apply(outputs);
        self.take_events()
    }

    /// Converts the outputs of the bridge to events.
    fn apply(&mut self, outputs: Vec<BridgeOutput>) {
        let mut outputs = VecDeque::from(outputs);
        while let Some(output) = outputs.pop_front() {
            match output {
                BridgeOutput::Frame { connection, text } => {
                    self.events.push(Event::Frame { connection, text });
                }
                BridgeOutput::Closed { connection, code } => {
                    self.events.push(Event::Closed { connection, code });
                }
                BridgeOutput::CallEnded { call, outcome } => self.end_request(&call, outcome),
                BridgeOutput::CallerEvent { call, event } => self.notify_of_call(&call, event),
                BridgeOutput::ClientRequestsPending { call } => self.send_client_requests(&call),
                // The client's answers to the former document are ignored.
                BridgeOutput::CallHandedOver { .. } => {}
                BridgeOutput::ValidateInput { call } => outputs.extend(self.validate_input(&call)),
                BridgeOutput::ListChanged(kind) => self.notify(None, list_changed(kind), json!({})),
                BridgeOutput::ResourceUpdated { client, uri } => {
                    let method = "notifications/resources/updated";
                    self.notify(Some(client.0), method, json!({ "uri": uri }));
                }
                // Frames in memory are read at once. Pages do not answer pings, which would prove
                // more.
                BridgeOutput::Ping { connection, probe } => {
                    outputs.extend(self.bridge.connection_read(connection, probe, self.now));
                }
            }
        }
    }

    fn notify(&mut self, client: Option<u64>, method: &'static str, params: Value) {
        self.events.push(Event::Notification {
            client,
            id: None,
            method,
            params,
        });
    }

    fn notify_of_call(&mut self, call: &CallId, event: CallerEvent) {
        let Some(request) = self.open.get(call) else {
            return;
        };
        let (method, params) = match event {
            CallerEvent::Progress(progress) => {
                let mut params = json!({
                    "progressToken": request.progress_token,
                    "progress": progress.progress,
                });
                if let Some(total) = progress.total {
                    params["total"] = Value::Number(total);
                }
                if let Some(message) = progress.message {
                    params["message"] = Value::String(message);
                }
                ("notifications/progress", params)
            }
            CallerEvent::Log(log) => {
                let mut params = json!({ "level": log.level, "data": log.data });
                if let Some(logger) = log.logger {
                    params["logger"] = Value::String(logger);
                }
                ("notifications/message", params)
            }
        };
        self.events.push(Event::Notification {
            client: Some(request.client),
            id: Some(request.id),
            method,
            params,
        });
    }

    /// Validates the arguments of a call against the tool of the document that continues it.
    fn validate_input(&mut self, call: &CallId) -> Vec<BridgeOutput> {
        let Some((tool, input)) = self.bridge.input_to_validate(call) else {
            return Vec::new();
        };
        let outcome = outcome::validate_input(&tool, input).map(drop);
        self.bridge.input_validated(call, &tool, outcome, self.now)
    }

    fn send_client_requests(&mut self, call: &CallId) {
        let Some(request) = self.open.get(call) else {
            return;
        };
        let asked = self.bridge.take_client_requests(call).into_iter();
        self.events.extend(asked.map(|asked| Event::ClientRequest {
            id: request.id,
            key: asked.key,
            method: asked.method,
            params: asked.params,
        }));
    }

    fn end_request(&mut self, call: &CallId, outcome: CallOutcome) {
        let Some(request) = self.open.remove(call) else {
            return;
        };
        let id = request.id;
        self.events
            .push(match outcome::finish(&request.target, outcome) {
                Ok(result) => Event::Result { id, result },
                Err(error) => Event::Error {
                    id,
                    error: error.into_json_rpc(false).into(),
                },
            });
    }
}

fn list_changed(kind: Kind) -> &'static str {
    match kind {
        Kind::Tool => "notifications/tools/list_changed",
        Kind::Prompt => "notifications/prompts/list_changed",
        Kind::Resource | Kind::ResourceTemplate => "notifications/resources/list_changed",
    }
}

/// The bridge answers such a request over HTTP with 413.
fn too_large(bytes: usize) -> ErrorResponse {
    ErrorResponse {
        code: INVALID_REQUEST,
        message: format!(
            "the request has {bytes} bytes: a bridge takes at most {MAX_REQUEST_BYTES} (`max_request_bytes`)"
        ),
        data: Some(json!({ "code": ErrorCode::RequestTooLarge.as_str() })),
    }
}

fn client_error(message: &str) -> ClientError {
    ClientError {
        code: ErrorCode::ClientRequestFailed,
        message: format!("the client answered with an error: {message}"),
        data: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::realm_limits;

    const AT: Duration = Duration::from_secs(1);

    fn error_of(events: &[Event]) -> &ErrorResponse {
        match events {
            [Event::Error { error, .. }] => error,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn clients_are_limited_and_leave_room() {
        let mut server = Server::new(0);
        let clients = realm_limits().clients as u64;
        for number in 1..=clients {
            assert_eq!(server.client_connected("test", "1", "{}"), number);
        }
        assert_eq!(server.client_connected("test", "1", "{}"), 0);
        server.client_disconnected(1, AT);
        assert_eq!(server.client_connected("test", "1", "{}"), clients + 1);
    }

    #[test]
    fn unknown_methods_and_invalid_parameters_are_errors() {
        let mut server = Server::new(0);
        let client = server.client_connected("test", "1", "{}");
        let events = server.request(client, 1, "tools/lists", "{}", AT);
        assert_eq!(error_of(&events).code, -32601);
        let events = server.request(client, 2, "resources/read", r#"{"url":"a://b"}"#, AT);
        assert_eq!(error_of(&events).code, -32602);
        assert!(error_of(&events).message.contains("missing field `uri`"));
    }

    #[test]
    fn without_pages_lists_are_empty_and_calls_are_errors() {
        let mut server = Server::new(0);
        let client = server.client_connected("test", "1", "{}");
        let events = server.request(client, 1, "tools/list", "{}", AT);
        let [Event::Result { result, .. }] = &events[..] else {
            panic!("{events:?}");
        };
        assert_eq!(result.get(), r#"{"tools":[]}"#);
        let events = server.request(client, 2, "tools/call", r#"{"name":"add"}"#, AT);
        let [Event::Result { result, .. }] = &events[..] else {
            panic!("{events:?}");
        };
        assert!(result.get().contains(r#""isError":true"#), "{result}");
    }

    #[test]
    fn events_of_ended_calls_and_connections_are_ignored() {
        let mut server = Server::new(0);
        assert!(server.cancel(7, AT).is_empty());
        assert!(
            server
                .respond(7, "elicit-1", Ok("{}".to_owned()), AT)
                .is_empty()
        );
        assert!(server.deadline_passed(AT).is_empty());
    }
}

//! The interface for JavaScript. Events are JSON, times are milliseconds since the server began.

use std::time::Duration;

use wasm_bindgen::prelude::wasm_bindgen;

use crate::event::Event;
use crate::server::Server;

/// The MCP server of one token.
#[wasm_bindgen]
#[derive(Debug)]
pub struct TestServer(Server);

#[wasm_bindgen]
impl TestServer {
    /// Creates a server without pages and clients. `unix_ms` is the time now.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new(unix_ms: f64) -> Self {
        Self(Server::new(unix_ms as u64))
    }

    /// A page has opened a connection for a session.
    #[wasm_bindgen(js_name = connectionOpened)]
    pub fn connection_opened(&mut self, connection: f64, session: &str) {
        self.0.connection_opened(connection as u64, session);
    }

    /// A frame of a page has arrived.
    #[wasm_bindgen(js_name = frameArrived)]
    pub fn frame_arrived(&mut self, connection: f64, frame: &str, at: f64) -> String {
        to_json(&self.0.frame_arrived(connection as u64, frame, time(at)))
    }

    /// A page has closed its connection.
    #[wasm_bindgen(js_name = connectionClosed)]
    pub fn connection_closed(&mut self, connection: f64, code: u16, at: f64) -> String {
        to_json(&self.0.connection_closed(connection as u64, code, time(at)))
    }

    /// A client has connected. `capabilities` is the JSON of MCP's `ClientCapabilities`. Returns its number, or 0 when
    /// there are too many clients.
    #[wasm_bindgen(js_name = clientConnected)]
    pub fn client_connected(&mut self, name: &str, version: &str, capabilities: &str) -> f64 {
        self.0.client_connected(name, version, capabilities) as f64
    }

    /// Returns what has happened since the last events were returned.
    #[wasm_bindgen(js_name = takeEvents)]
    pub fn take_events(&mut self) -> String {
        to_json(&self.0.take_events())
    }

    /// A client has disconnected.
    #[wasm_bindgen(js_name = clientDisconnected)]
    pub fn client_disconnected(&mut self, client: f64, at: f64) -> String {
        to_json(&self.0.client_disconnected(client as u64, time(at)))
    }

    /// A client has sent a request. `params` is JSON.
    pub fn request(&mut self, client: f64, id: f64, method: &str, params: &str, at: f64) -> String {
        let events = self
            .0
            .request(client as u64, id as u64, method, params, time(at));
        to_json(&events)
    }

    /// A client has cancelled a request.
    pub fn cancel(&mut self, id: f64, at: f64) -> String {
        to_json(&self.0.cancel(id as u64, time(at)))
    }

    /// A client has responded to the request of a handler with the JSON of a result, or with an error.
    pub fn respond(
        &mut self,
        id: f64,
        key: &str,
        result: Option<String>,
        error: &str,
        at: f64,
    ) -> String {
        let result = result.ok_or(error);
        to_json(&self.0.respond(id as u64, key, result, time(at)))
    }

    /// When `deadlinePassed` must be called next; `undefined` for never.
    #[wasm_bindgen(js_name = nextDeadline)]
    #[must_use]
    pub fn next_deadline(&self) -> Option<f64> {
        let deadline = self.0.next_deadline()?;
        Some(deadline.as_secs_f64() * 1000.0)
    }

    /// Handles all deadlines that have passed.
    #[wasm_bindgen(js_name = deadlinePassed)]
    pub fn deadline_passed(&mut self, at: f64) -> String {
        to_json(&self.0.deadline_passed(time(at)))
    }
}

fn time(ms: f64) -> Duration {
    Duration::from_secs_f64(ms.max(0.0) / 1000.0)
}

/// Events have string keys only: encoding them cannot fail.
fn to_json(events: &[Event]) -> String {
    serde_json::to_string(events).unwrap_or_default()
}

//! The interface for JavaScript. Events are JSON, and times are in milliseconds since the server
//! started.

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
    /// Creates a server without pages and clients. `unix_ms` is the current time.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new(unix_ms: f64) -> Self {
        Self(Server::new(unix_ms as u64))
    }

    /// Opens a connection of a page for a session.
    #[wasm_bindgen(js_name = connectionOpened)]
    pub fn connection_opened(&mut self, connection: f64, session: &str) {
        self.0.connection_opened(connection as u64, session);
    }

    /// Receives a frame of a page.
    #[wasm_bindgen(js_name = frameArrived)]
    pub fn frame_arrived(&mut self, connection: f64, frame: &str, at: f64) -> String {
        to_json(&self.0.frame_arrived(connection as u64, frame, time(at)))
    }

    /// Closes a connection of a page.
    #[wasm_bindgen(js_name = connectionClosed)]
    pub fn connection_closed(&mut self, connection: f64, code: u16, at: f64) -> String {
        to_json(&self.0.connection_closed(connection as u64, code, time(at)))
    }

    /// Connects a client. `capabilities` is the JSON of MCP's `ClientCapabilities`. Returns its
    /// number, or 0 if there are too many clients.
    #[wasm_bindgen(js_name = clientConnected)]
    pub fn client_connected(&mut self, name: &str, version: &str, capabilities: &str) -> f64 {
        self.0.client_connected(name, version, capabilities) as f64
    }

    /// Returns the events since the last call that returned events.
    #[wasm_bindgen(js_name = takeEvents)]
    pub fn take_events(&mut self) -> String {
        to_json(&self.0.take_events())
    }

    /// Disconnects a client.
    #[wasm_bindgen(js_name = clientDisconnected)]
    pub fn client_disconnected(&mut self, client: f64, at: f64) -> String {
        to_json(&self.0.client_disconnected(client as u64, time(at)))
    }

    /// Receives a request of a client. `params` is JSON.
    pub fn request(&mut self, client: f64, id: f64, method: &str, params: &str, at: f64) -> String {
        let events = self
            .0
            .request(client as u64, id as u64, method, params, time(at));
        to_json(&events)
    }

    /// Receives a client's cancellation of a request.
    pub fn cancel(&mut self, id: f64, at: f64) -> String {
        to_json(&self.0.cancel(id as u64, time(at)))
    }

    /// Receives a client's response to the request of a handler: the JSON of a result, or an error.
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

    /// Returns when `deadlinePassed` must be called next; `undefined` for never.
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

/// Events have only string keys, so that encoding them cannot fail.
fn to_json(events: &[Event]) -> String {
    serde_json::to_string(events).unwrap_or_default()
}

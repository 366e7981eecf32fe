//! The wasm that a page loads: the only Rust of the SDK that uses JavaScript. It has the socket, JSON,
//! timers and listeners, and the API for `mcp-web.js`.
//!
//! `js/mcp-web.js` is the module that an app imports: it has the public API (`McpWeb`), stores the token,
//! and loads this crate as wasm. [`web_sdk_core`] is the page's side of the protocol as plain data.
//!
//! The path of a call: the socket receives a text from the browser's WebSocket, decodes it ([`codec`]) and
//! passes the message to [`web_sdk_core::Page`]. The page returns effects: acknowledge the call, and start
//! the handler, which `js/mcp-web.js` does. When the handler has ended, its outcome is passed to the page,
//! whose effect sends the answer. Every other event takes the same path.
//!
//! A panic traps without a message: the release build removes the messages (`strip_panics.rs` of the xtask).
#![warn(missing_docs)]

pub mod codec;
mod handler;
mod js_imports;
pub mod message_parts;
mod runtime;
mod socket;

use std::rc::Rc;

use bridge_protocol::CallId;
use js_sys::JsString;
use wasm_bindgen::prelude::*;
use web_sdk_core::{ClientRequest, DefinitionKey, Item, Kind};

pub use js_imports::{Host, Options};
use runtime::Runtime;

/// A small allocator with constant time: the default one would be a tenth of the wasm.
#[cfg(target_arch = "wasm32")]
#[global_allocator]
static ALLOCATOR: rlsf::SmallGlobalTlsf = rlsf::SmallGlobalTlsf::new();

/// The connection of a page to a bridge, for `mcp-web.js`.
#[wasm_bindgen]
pub struct Connection(Rc<Runtime>);

#[wasm_bindgen]
impl Connection {
    /// Creates a connection in the disconnected state. `host` receives its events.
    #[wasm_bindgen(constructor)]
    pub fn new(host: Host, options: Options) -> Connection {
        Connection(Runtime::start(host, options))
    }

    /// Starts to connect, unless the page is connected or an attempt is in progress.
    pub fn connect(&self) {
        self.0.dispatch(|page| page.connect());
    }

    /// Disconnects the page and cancels running calls.
    pub fn disconnect(&self) {
        self.0.dispatch(|page| page.disconnect());
    }

    /// Changes the session of the page, which connects at `socketUrl` from now on. Before `connect`
    /// and after a failure, the change takes effect with the next `connect`.
    #[wasm_bindgen(js_name = setSession)]
    pub fn set_session(
        &self,
        #[wasm_bindgen(js_name = sessionId)] session_id: String,
        #[wasm_bindgen(js_name = socketUrl)] socket_url: String,
    ) {
        self.0.set_session(session_id, socket_url);
    }

    /// Adds a definition of the app. `definition` is the JSON text of the complete MCP object. The
    /// host chooses a `key` and never reuses it. `kind` has its name on the wire. `repeatable` says
    /// that calls may safely be repeated.
    pub fn add(&self, key: u32, kind: &str, name: String, definition: JsString, repeatable: bool) {
        if let Some(kind) = Kind::parse(kind) {
            let definition = codec::sized_json(definition);
            let item = Item { kind, name };
            let key = DefinitionKey(key);
            self.0
                .dispatch(|page| page.definition_added(key, item, definition, repeatable));
        }
    }

    /// Removes a definition of the app.
    pub fn remove(&self, key: u32) {
        self.0
            .dispatch(|page| page.definition_removed(DefinitionKey(key)));
    }

    /// Reports that a task has run that the host scheduled with `scheduleTask`.
    #[wasm_bindgen(js_name = taskEnded)]
    pub fn task_ended(&self) {
        self.0.dispatch(|page| page.task_ended());
    }

    /// Reports that the content of a resource changed.
    #[wasm_bindgen(js_name = resourceUpdated)]
    pub fn resource_updated(&self, uri: String) {
        self.0.dispatch(|page| page.resource_updated(uri));
    }

    /// Sends a message about a query, which is the JSON text of the complete message. Returns
    /// whether it was sent.
    pub fn query(&self, message: JsString) -> bool {
        self.0.dispatch(|page| page.query(message.into()))
    }

    /// Reports the progress of a handler; the numbers are JSON texts.
    pub fn progress(
        &self,
        call: String,
        progress: JsString,
        total: Option<JsString>,
        message: Option<String>,
    ) {
        let total = total.map(JsValue::from);
        self.0
            .dispatch(|page| page.progressed(CallId(call), progress.into(), total, message));
    }

    /// Sends a log message of a handler to the client; `data` is a JSON text.
    pub fn log(&self, call: String, level: String, logger: Option<String>, data: JsString) {
        let data = codec::sized_json(data);
        self.0
            .dispatch(|page| page.logged(CallId(call), level, logger, data));
    }

    /// Arms the hand-over of a call, with a state as JSON text, or disarms it without one.
    #[wasm_bindgen(js_name = handOver)]
    pub fn hand_over(&self, call: String, state: JsString, is_armed: bool) {
        self.0
            .dispatch(|page| page.hand_over_requested(CallId(call), state.into(), is_armed));
    }

    /// Sends a request of a handler to the client; `params` is a JSON text.
    pub fn ask(&self, call: String, key: String, method: String, params: JsString) {
        let params = codec::sized_json(params);
        let request = ClientRequest {
            key,
            method,
            params: params.json,
        };
        self.0
            .dispatch(|page| page.client_requested(CallId(call), request, params.bytes));
    }
}

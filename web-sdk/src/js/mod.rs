//! Everything that knows JavaScript: JSON, the socket, timers, listeners, the app.

mod bindings;
pub mod codec;
mod handler;
pub mod parts;
mod runtime;
mod socket;

use std::rc::Rc;

use bridge_protocol::CallId;
use js_sys::JsString;
use wasm_bindgen::prelude::*;

pub use bindings::{Host, Options};
use runtime::Runtime;

use crate::core::{ClientRequest, DefinitionKey, Item, Kind};

/// One page's connection to a bridge, as `mcp-web.js` holds it.
#[wasm_bindgen]
pub struct Connection(Rc<Runtime>);

#[wasm_bindgen]
impl Connection {
    /// A connection that is not wanted yet. `host` hears what happens.
    #[wasm_bindgen(constructor)]
    pub fn new(host: Host, options: Options) -> Connection {
        Connection(Runtime::start(host, options))
    }

    /// The app wants to be connected.
    pub fn connect(&self) {
        self.0.dispatch(|page| page.connect());
    }

    /// The app wants to be disconnected.
    pub fn disconnect(&self) {
        self.0.dispatch(|page| page.disconnect());
    }

    /// The page goes on as another session: the bridge hears of it at `socketUrl`. Before `connect`, and
    /// after a failure, that takes effect with the next `connect`.
    #[wasm_bindgen(js_name = setSession)]
    pub fn set_session(
        &self,
        #[wasm_bindgen(js_name = sessionId)] session_id: String,
        #[wasm_bindgen(js_name = socketUrl)] socket_url: String,
    ) {
        self.0.set_session(session_id, socket_url);
    }

    /// The app added something. `definition` is the JSON text of the whole MCP object; `key` is the
    /// host's own and never used twice; `kind` is the word on the wire.
    pub fn add(&self, key: u32, kind: &str, name: String, definition: JsString) {
        if let Some(kind) = Kind::parse(kind) {
            let definition = codec::sized_json(definition);
            let item = Item { kind, name };
            self.0
                .dispatch(|page| page.added(DefinitionKey(key), item, definition));
        }
    }

    /// The app removed something.
    pub fn remove(&self, key: u32) {
        self.0
            .dispatch(|page| page.definition_removed(DefinitionKey(key)));
    }

    /// The content of a resource changed.
    #[wasm_bindgen(js_name = resourceUpdated)]
    pub fn resource_updated(&self, uri: String) {
        self.0.dispatch(|page| page.resource_updated(uri));
    }

    /// The app asks an agent, or has more to say of that: the JSON text of the whole message. Returns
    /// whether it goes out.
    pub fn query(&self, message: JsString) -> bool {
        self.0.dispatch(|page| page.query(message.into()))
    }

    /// A handler says how far it is; the numbers are JSON texts.
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

    /// A handler has something for the client's log; `data` is a JSON text.
    pub fn log(&self, call: String, level: String, logger: Option<String>, data: JsString) {
        let data = codec::sized_json(data);
        self.0
            .dispatch(|page| page.logged(CallId(call), level, logger, data));
    }

    /// A handler asks the client; `params` is a JSON text.
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

//! Everything that knows JavaScript: JSON, the socket, timers, listeners, handlers, the app.

mod bindings;
pub mod codec;
mod handler;
mod runtime;
mod socket;

use std::rc::Rc;

use js_sys::{Function, JsString};
use wasm_bindgen::prelude::*;

pub use bindings::{Host, Options};
use runtime::Runtime;

use crate::core::ToolKey;

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
        self.0.tell(|page| page.connect());
    }

    /// The app wants to be disconnected.
    pub fn disconnect(&self) {
        self.0.tell(|page| page.disconnect());
    }

    /// The app added a tool. `definition` is the JSON text of the whole tool object; `key` is the
    /// host's own and never used twice.
    #[wasm_bindgen(js_name = addTool)]
    pub fn add_tool(&self, key: u32, name: String, definition: JsString, handler: Function) {
        let definition = codec::measured(definition);
        self.0
            .tell(|page| page.tool_added(ToolKey(key), name, definition, handler.into()));
    }

    /// The app removed a tool.
    #[wasm_bindgen(js_name = removeTool)]
    pub fn remove_tool(&self, key: u32) {
        self.0.tell(|page| page.tool_removed(ToolKey(key)));
    }
}

//! Bindings to JavaScript that js-sys and web-sys do not have, or whose bindings there are larger.
//!
//! JavaScript sees the names in this file.

use js_sys::{Function, JsString, Promise};
use wasm_bindgen::prelude::*;
use web_sys::WebSocket;

#[wasm_bindgen]
extern "C" {
    /// The properties of a page, as `mcp-web.js` passes them.
    pub type Options;

    #[wasm_bindgen(method, getter, js_name = bridgeUrl)]
    pub(super) fn bridge_url(this: &Options) -> String;
    #[wasm_bindgen(method, getter, js_name = socketUrl)]
    pub(super) fn socket_url(this: &Options) -> String;
    #[wasm_bindgen(method, getter, js_name = sessionId)]
    pub(super) fn session_id(this: &Options) -> String;
    #[wasm_bindgen(method, getter, js_name = sessionName)]
    pub(super) fn session_name(this: &Options) -> Option<String>;
    #[wasm_bindgen(method, getter)]
    pub(super) fn app(this: &Options) -> JsString;
    #[wasm_bindgen(method, getter)]
    pub(super) fn origin(this: &Options) -> Option<String>;
    #[wasm_bindgen(method, getter, js_name = documentId)]
    pub(super) fn document_id(this: &Options) -> Option<String>;
    #[wasm_bindgen(method, getter, js_name = userAgent)]
    pub(super) fn user_agent(this: &Options) -> Option<String>;
    /// Returns whether the token is fetched by a function, which can be called for a fresh one.
    #[wasm_bindgen(method, getter)]
    pub(super) fn renewable(this: &Options) -> bool;
    /// Returns whether the document is visible, whether it has the focus, and its title; a worker has none.
    #[wasm_bindgen(method)]
    pub(super) fn visibility(this: &Options) -> JsValue;

    /// The callbacks of `mcp-web.js`.
    pub type Host;

    /// Returns a promise of the token.
    #[wasm_bindgen(method)]
    pub(super) fn token(this: &Host) -> Promise;
    #[wasm_bindgen(method)]
    pub(super) fn status(
        this: &Host,
        state: &str,
        code: Option<&str>,
        message: Option<&str>,
        retry_in_ms: Option<u32>,
    );
    /// Reports that the bridge accepted the page, with the name of the session and the largest
    /// message that the bridge accepts.
    #[wasm_bindgen(method)]
    pub(super) fn welcomed(this: &Host, session_name: Option<&str>, max_message_bytes: u32);
    #[wasm_bindgen(method)]
    pub(super) fn clients(this: &Host, clients: &JsValue);
    #[wasm_bindgen(method)]
    pub(super) fn subscriptions(this: &Host, uris: &JsValue);
    #[wasm_bindgen(method)]
    pub(super) fn registered(this: &Host, key: u32, published_name: Option<&str>);
    #[wasm_bindgen(method)]
    pub(super) fn refused(this: &Host, key: u32, code: &str, message: &str);
    #[wasm_bindgen(method)]
    pub(super) fn dropped(this: &Host, key: u32);
    #[wasm_bindgen(method)]
    pub(super) fn removed(this: &Host, key: u32);
    /// Schedules a later task that calls `taskEnded`.
    #[wasm_bindgen(method, js_name = scheduleTask)]
    pub(super) fn schedule_task(this: &Host);
    /// Starts a handler. Returns a promise of its outcome, which is never rejected.
    #[wasm_bindgen(method)]
    pub(super) fn call(this: &Host, call: &str, key: u32, message: &JsValue) -> Promise;
    /// Reports that a call ended. Without a code, its handler returned a result.
    #[wasm_bindgen(method, js_name = callEnded)]
    pub(super) fn call_ended(
        this: &Host,
        call: &str,
        phase: &str,
        code: Option<&str>,
        message: Option<&str>,
    );
    #[wasm_bindgen(method, js_name = clientAnswered)]
    pub(super) fn client_answered(this: &Host, call: &str, key: &str, answer: &JsValue);
    #[wasm_bindgen(method, js_name = clientRefused)]
    pub(super) fn client_refused(this: &Host, call: &str, key: &str, code: &str, message: &str);
    /// Delivers a message of the bridge about a query.
    #[wasm_bindgen(method)]
    pub(super) fn query(this: &Host, message: &JsValue);
    /// Opens a `WebSocket`. Throws if its class rejects the address.
    #[wasm_bindgen(method, catch, js_name = openSocket)]
    pub(super) fn open_socket(this: &Host, url: &str) -> Result<WebSocket, JsValue>;
    /// Adds a listener for an event of the document or worker.
    #[wasm_bindgen(method)]
    pub(super) fn listen(this: &Host, event: &str, listener: &JsValue, capture: bool);
    /// Reports a warning for the developer.
    #[wasm_bindgen(method)]
    pub(super) fn warn(this: &Host, message: &str);

    #[wasm_bindgen(js_name = setTimeout)]
    pub(super) fn set_timeout(callback: &Function, ms: u32) -> JsValue;
    #[wasm_bindgen(js_name = clearTimeout)]
    pub(super) fn clear_timeout(timer: &JsValue);
    #[wasm_bindgen(js_name = queueMicrotask)]
    pub(super) fn queue_microtask(callback: &Function);

    /// Calls `JSON.parse` with a string that stays in the browser.
    #[wasm_bindgen(js_namespace = JSON, catch)]
    pub(super) fn parse(text: &JsString) -> Result<JsValue, JsValue>;

    /// A `WebSocket` whose frames stay strings of the browser.
    pub(super) type TextSocket;
    #[wasm_bindgen(method, catch)]
    pub(super) fn send(this: &TextSocket, frame: &JsString) -> Result<(), JsValue>;

    /// A `Promise` with a `then` that takes functions that free themselves once called.
    pub(super) type Settling;
    #[wasm_bindgen(method)]
    pub(super) fn then(this: &Settling, resolved: &JsValue, rejected: &JsValue) -> JsValue;

    pub(super) type Encoder;
    #[wasm_bindgen(constructor, js_class = "TextEncoder")]
    pub(super) fn new() -> Encoder;
    #[wasm_bindgen(method)]
    pub(super) fn encode(this: &Encoder, text: &JsString) -> js_sys::Uint8Array;
}

//! The browser's WebSocket.

use js_sys::{Function, JsString};
use wasm_bindgen::prelude::*;
use web_sys::{CloseEvent, Event, MessageEvent, WebSocket};

use super::bindings::TextSocket;
use super::parts;

/// What a socket says.
pub(super) enum SocketEvent {
    Opened,
    Frame(JsString),
    /// Also when it never opened: a blocked socket fires `error` and no `close` at all.
    Closed {
        code: u16,
        reason: String,
    },
}

/// RFC 6455 section 7.4.1: the connection ended without a close frame.
const ABNORMAL_CLOSE: u16 = 1006;

/// Done with: to the bridge, the page is gone.
const NORMAL_CLOSE: u16 = 1000;

/// Any other code means that the page comes back; a browser allows 1000 and 3000 to 4999.
const ABANDONED_CLOSE: u16 = 4000;

/// An open or opening socket. Dropping it abandons it, unheard.
pub(super) struct Socket {
    socket: WebSocket,
    /// Alive as long as the browser may call it.
    _listener: Closure<dyn FnMut(Event)>,
}

impl Socket {
    /// Opens a socket.
    ///
    /// # Errors
    /// The browser's exception when it does not even try.
    pub(super) fn open(
        url: &str,
        mut heard: impl FnMut(SocketEvent) + 'static,
    ) -> Result<Self, JsValue> {
        let socket = WebSocket::new(url)?;
        let listener = Closure::new(move |event: Event| {
            if let Some(event) = parse_event(event) {
                heard(event);
            }
        });
        set_listeners(&socket, Some(listener.as_ref().unchecked_ref()));
        Ok(Self {
            socket,
            _listener: listener,
        })
    }

    /// Sends a message. A frame that cannot be sent is lost with the socket, whose close is on its way.
    pub(super) fn send(&self, message: &JsString) {
        parts::split(message, |frame| {
            let _ = self.socket.unchecked_ref::<TextSocket>().send(frame);
        });
    }

    /// Closes the socket as done with.
    pub(super) fn close(self) {
        let _ = self.socket.close_with_code(NORMAL_CLOSE);
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        set_listeners(&self.socket, None);
        let _ = self.socket.close_with_code(ABANDONED_CLOSE);
    }
}

fn set_listeners(socket: &WebSocket, listener: Option<&Function>) {
    socket.set_onopen(listener);
    socket.set_onmessage(listener);
    socket.set_onerror(listener);
    socket.set_onclose(listener);
}

fn parse_event(event: Event) -> Option<SocketEvent> {
    match event.type_().as_str() {
        "open" => Some(SocketEvent::Opened),
        // A binary frame is no message of this protocol.
        "message" => {
            let event: MessageEvent = event.unchecked_into();
            event.data().dyn_into().ok().map(SocketEvent::Frame)
        }
        "close" => {
            let event: CloseEvent = event.unchecked_into();
            Some(SocketEvent::Closed {
                code: event.code(),
                reason: event.reason(),
            })
        }
        _ => Some(SocketEvent::Closed {
            code: ABNORMAL_CLOSE,
            reason: String::new(),
        }),
    }
}

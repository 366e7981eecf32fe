//! The browser's WebSocket.

use js_sys::{Function, JsString};
use wasm_bindgen::prelude::*;
use web_sdk_core::close_codes::{ABANDONED_CLOSE, ABNORMAL_CLOSE, NORMAL_CLOSE};
use web_sys::{CloseEvent, Event, MessageEvent, WebSocket};

use super::js_imports::{Host, TextSocket};
use super::{codec, message_parts};

/// An event of a socket.
pub(super) enum SocketEvent {
    Opened,
    Frame(JsString),
    /// The socket closed or never opened. A blocked socket has an `error` event and no `close`
    /// event.
    Closed {
        code: u16,
        reason: String,
    },
}

/// An open or opening socket. Dropping it closes it with [`ABANDONED_CLOSE`], without further
/// events.
pub(super) struct Socket {
    socket: WebSocket,
    /// Kept alive as long as the browser may call it.
    _listener: Closure<dyn FnMut(Event)>,
}

impl Socket {
    /// Opens a socket and calls `on_event` for its events.
    ///
    /// # Errors
    /// Returns the exception of the browser if it rejects the address.
    pub(super) fn open(
        host: &Host,
        url: &str,
        mut on_event: impl FnMut(SocketEvent) + 'static,
    ) -> Result<Self, JsValue> {
        let socket = host.open_socket(url)?;
        let listener = Closure::new(move |event: Event| {
            if let Some(event) = parse_event(event) {
                on_event(event);
            }
        });
        set_listeners(&socket, Some(listener.as_ref().unchecked_ref()));
        Ok(Self {
            socket,
            _listener: listener,
        })
    }

    /// Sends a message. Sending fails only when the socket is closing: the close event follows.
    pub(super) fn send(&self, message: &JsString) {
        message_parts::split(message, |frame| {
            let _ = self.socket.unchecked_ref::<TextSocket>().send(frame);
        });
    }

    /// Returns the number of bytes that the browser still has to transmit.
    pub(super) fn buffered_bytes(&self) -> u32 {
        // `codec::number` is needed anyway. A separate binding would be a noticeable part of the
        // download.
        codec::number(&self.socket, "bufferedAmount").unwrap_or_default() as u32
    }

    /// Closes the socket with [`NORMAL_CLOSE`].
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
        // A binary frame is not a message of this protocol.
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

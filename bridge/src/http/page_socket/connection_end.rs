//! How the connection of a page ends.

use bridge_protocol::{Authenticate, CloseCode, Retry};
use bridge_realm::page_messages::CloseFrame;
use bridge_realm::realm::Disconnect;

/// Why the connection loop has ended.
pub(super) enum ConnectionEnd {
    /// The peer closed the socket, or is gone.
    Disconnected(Disconnect),
    /// The bridge closes the socket.
    Close(CloseFrame),
    /// The peer does not read: the hub aborted the connection.
    Aborted,
    /// A page of mcp-web 0.1 has authenticated again.
    Reauthenticate(Box<Authenticate>),
}

/// Returns what a close frame of the bridge means for the session: a page that must not retry is
/// gone.
pub(super) fn disconnect_for_close(frame: &CloseFrame) -> Disconnect {
    match CloseCode::retry(frame.code.code()) {
        Retry::Never => Disconnect::DocumentGone,
        Retry::Soon | Retry::Later => Disconnect::ConnectionLost,
    }
}

/// Returns what a close frame of the peer means for the session. Codes 1000 and 1001 mean that the
/// page's JavaScript is gone.
pub(super) fn disconnect_for_code(code: Option<u16>) -> Disconnect {
    match code {
        Some(1000 | 1001) => Disconnect::DocumentGone,
        _ => Disconnect::ConnectionLost,
    }
}

//! The WebSocket of a page, and how the bridge closes it.

use std::time::Duration;

use bridge_protocol::{CloseCode, limits};
use bridge_realm::page_messages::CloseFrame;
use tokio::time::timeout;

use super::early_frames::MAX_EARLY_FRAMES_PER_SECOND;
use crate::config::Config;
use crate::websocket::{SocketLimits, UpgradedIo, WebSocket};

/// How long sending a close frame and receiving the peer's may take: the peer may not be reading.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

pub(super) type PageSocket = WebSocket<UpgradedIo>;

/// The limits of a page that has not authenticated. A longer frame is refused by its header.
pub(super) fn unauthenticated_limits(config: &Config) -> SocketLimits {
    let limits = authenticated_limits(config);
    SocketLimits {
        max_message_bytes: limits::MAX_AUTHENTICATE_BYTES,
        frames_per_second: limits.frames_per_second.min(MAX_EARLY_FRAMES_PER_SECOND),
    }
}

/// The limits of a page that has authenticated.
pub(super) fn authenticated_limits(config: &Config) -> SocketLimits {
    let frames_per_second = config.page_limits.max_frames_per_second;
    SocketLimits {
        max_message_bytes: limits::MAX_FRAME_BYTES,
        frames_per_second: u32::try_from(frames_per_second).unwrap_or(u32::MAX),
    }
}

/// Sends a close frame, and waits until the peer has closed too or [`CLOSE_TIMEOUT`] has passed.
pub(super) async fn close(socket: &mut PageSocket, frame: CloseFrame) {
    socket.queue_close(frame.code.code(), &frame.reason);
    let _ = timeout(CLOSE_TIMEOUT, socket.flush_and_drain()).await;
}

/// Closes the socket of a page that may retry later: after a restart many pages connect at once.
pub(super) fn too_many_pending_pages() -> CloseFrame {
    CloseFrame::new(
        CloseCode::TryAgainLater,
        "too many pages are connecting, most of them from this address: retry later, or raise \
         `max_pending_pages`",
    )
}

/// Closes the socket of a page that has sent nothing, because other pages wait for its place.
pub(super) fn silent_page_evicted() -> CloseFrame {
    CloseFrame::new(
        CloseCode::TryAgainLater,
        "other pages wait, and this one has sent no token: retry later, or raise \
         `max_pending_pages`",
    )
}

pub(super) fn binary_unsupported() -> CloseFrame {
    CloseFrame::new(
        CloseCode::UnsupportedData,
        "binary frames are not understood",
    )
}

pub(super) fn frame_too_big() -> CloseFrame {
    CloseFrame::new(
        CloseCode::MessageTooBig,
        format!("a frame may have {} bytes", limits::MAX_FRAME_BYTES),
    )
}

//! The WebSocket of a page, and how the bridge closes it.

use std::time::Duration;

use bridge_protocol::{CloseCode, ErrorCode, RetryHint, limits};
use bridge_realm::page_messages::CloseFrame;
use tokio::time::timeout;

use super::early_frames::MAX_EARLY_FRAMES_PER_SECOND;
use crate::budget::{PageParty, PoolUse, RefusalKind};
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

/// Closes the socket of a page that may connect again after this time. A `message` of more than
/// about 80 bytes is cut off.
pub(super) fn retry_frame(after: Duration, code: Option<ErrorCode>, message: &str) -> CloseFrame {
    let hint = RetryHint {
        code: code.map(ErrorCode::as_str),
        after_s: u16::try_from(after.as_secs()).unwrap_or(u16::MAX),
        message,
    };
    CloseFrame::new(CloseCode::TryAgainLater, hint.to_string())
}

/// Closes the socket of a page for whose message there is no memory. The page connects again later,
/// and sends what was not received again.
pub(super) fn no_memory_frame(message: &str) -> CloseFrame {
    let after = RefusalKind::MaxMemoryBytes.retry_after();
    let after = after.unwrap_or(limits::RETRY_LATER_DELAY);
    retry_frame(after, Some(ErrorCode::MemoryLimitExceeded), message)
}

/// The reason why a page is refused while others connect: after a restart, many connect at once.
pub(super) fn too_many_pending_pages(used: PoolUse, party: &PageParty) -> String {
    format!(
        "{} pages are connecting, {} of them from {}: raise `max_pending_pages`",
        used.capacity, used.by_address, party.address
    )
}

/// The reason why a page that has sent nothing is refused while others connect.
pub(super) const SILENT_PAGE_EVICTED: &str =
    "this page has sent no token, and others connect: raise `max_pending_pages`";

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

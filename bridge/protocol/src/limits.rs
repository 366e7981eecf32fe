//! Limits that both sides of the page socket obey.
//!
//! The bridge sends those that an operator can change to the page in `authenticated`; for these,
//! the constants here are the defaults.

use std::time::Duration;

/// The largest frame, in bytes. A larger one closes the socket with 1009, whatever the other
/// limits.
pub const MAX_FRAME_BYTES: usize = 16 * 1024 * 1024;

/// The largest `authenticate` message, in bytes. Until it has been accepted, no frame may be larger.
pub const MAX_AUTHENTICATE_BYTES: usize = 64 * 1024;

/// A message longer than this, in bytes, is sent in [parts](crate::message_parts) of at most this size.
pub const PART_BYTES: usize = 256 * 1024;

/// The largest number of unfinished messages in parts on a connection, in one direction.
pub const MAX_UNFINISHED_MESSAGES: usize = 8;

/// The largest size of a message without the result that it carries, in bytes.
pub const ENVELOPE_BYTES: usize = 64 * 1024;

/// Default for the largest tool result, in bytes of JSON. The SDK checks it before sending.
pub const MAX_RESULT_BYTES: usize = 10 * 1024 * 1024;

/// A page that does not send `authenticate` in this time is closed with 1008.
pub const AUTHENTICATE_TIMEOUT: Duration = Duration::from_secs(10);

/// When the page has not acknowledged a call in this time, the bridge finds out whether it may have
/// started: the tab may be suspended.
pub const RECEIPT_TIMEOUT: Duration = Duration::from_secs(5);

/// A call that arrives this long after it was sent may have ended: the page sends `calls-check`
/// before it starts the handler.
pub const STALE_AFTER: Duration = Duration::from_secs(2);

/// While more of what the page has sent is buffered in the browser, in bytes, a call that arrives
/// counts as late: its acknowledgement would wait behind the rest.
pub const MAX_BUFFERED_BYTES: u32 = 16 * 1024;

/// How long a session outlives a connection that broke without a close frame.
pub const PAGE_GRACE: Duration = Duration::from_secs(5);

/// Default for the time in which a session waits for its next document, counted from `leaving` or
/// from the connection of that document.
///
/// A page that loads within this time on a slow network is the next document; a caller waits no
/// longer for one that never comes.
pub const PAGE_RETURN: Duration = Duration::from_secs(15);

/// The largest state of a call that is handed over, in bytes of JSON.
pub const MAX_HAND_OVER_BYTES: usize = 64 * 1024;

/// The largest number of calls of a document whose hand-over is armed.
pub const MAX_ARMED_CALLS: usize = 8;

/// The largest size of the states of all armed calls of a document, in bytes of JSON.
pub const MAX_ARMED_BYTES: usize = 256 * 1024;

/// How often one call can be handed over.
pub const MAX_HAND_OVERS: u32 = 5;

/// The interval of the bridge's `heartbeat` to a page.
///
/// It is less than the 30 s after which the strictest proxies and address translators drop a silent
/// connection; ten thousand idle pages cost less than two hundredths of a core.
pub const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(25);

/// How long a page waits before it reconnects after a close with
/// [`Retry::Later`](crate::Retry::Later) whose reason has no [time](crate::RetryHint).
pub const RETRY_LATER_DELAY: Duration = Duration::from_secs(30);

/// The shortest opaque token that may name a realm, in characters.
pub const MIN_TOKEN_CHARS: usize = 16;

/// The longest token, in bytes. A signed token with the ids of 200 groups has about 11 KiB. It fits
/// into the head of a request (64 KiB) and into [`MAX_AUTHENTICATE_BYTES`].
pub const MAX_TOKEN_BYTES: usize = 16 * 1024;

/// The longest session id, in bytes.
pub const MAX_SESSION_ID_BYTES: usize = 128;

/// The longest id of a query, in bytes.
pub const MAX_QUERY_ID_BYTES: usize = 128;

/// The longest id of a call of an agent that a person can approve, in bytes.
pub const MAX_APPROVAL_ID_BYTES: usize = 128;

/// The longest id of a conversation, in bytes.
pub const MAX_CONVERSATION_ID_BYTES: usize = 64;

/// The longest published tool name, in characters: several clients require
/// `^[a-zA-Z0-9_-]{1,64}$`.
pub const MAX_TOOL_NAME_CHARS: usize = 64;

/// The SDK warns in development about a longer tool name, in characters: some clients add a prefix
/// and allow 60 in total.
pub const ADVISED_TOOL_NAME_CHARS: usize = 40;

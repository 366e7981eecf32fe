//! Numbers that both sides of the page socket keep to.
//!
//! Those an operator can change are told to the page in `authenticated`; these are their defaults.

use std::time::Duration;

/// A frame larger than this closes the socket with 1009, whatever the other limits say.
pub const MAX_FRAME_BYTES: usize = 16 * 1024 * 1024;

/// A message longer than this, in bytes, is sent in [parts](crate::parts) of at most this.
pub const PART_BYTES: usize = 256 * 1024;

/// So many messages in parts may be under way on a connection at a time, in one direction.
pub const MAX_UNFINISHED_MESSAGES: usize = 8;

/// What a message has beside the result that it carries, at most, in bytes.
pub const ENVELOPE_BYTES: usize = 64 * 1024;

/// Default for the largest tool result, in bytes of JSON. The SDK measures before it sends.
pub const MAX_RESULT_BYTES: usize = 10 * 1024 * 1024;

/// A page that has not sent `authenticate` by then is closed with 1008.
pub const AUTHENTICATE_TIMEOUT: Duration = Duration::from_secs(10);

/// A call that the page has not acknowledged by then has failed: the tab is suspended.
pub const RECEIPT_TIMEOUT: Duration = Duration::from_secs(5);

/// A call that arrives this much later than it was sent may be over: the page asks before it starts
/// its handler.
pub const STALE_AFTER: Duration = Duration::from_secs(2);

/// How long a session outlives a connection that broke without a close frame.
pub const PAGE_GRACE: Duration = Duration::from_secs(5);

/// How often the bridge sends `heartbeat` to a page. Less than the 30 s after which the most
/// impatient of proxies and address translators forget a silent connection; ten thousand pages at
/// rest cost less than two hundredths of a core.
pub const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(25);

/// How long a page waits after a close that means "later".
pub const RETRY_LATER_DELAY: Duration = Duration::from_secs(30);

/// The shortest opaque token that may name a realm, in characters.
pub const MIN_TOKEN_CHARS: usize = 16;

/// The longest opaque token, in bytes.
pub const MAX_TOKEN_BYTES: usize = 4096;

/// The longest session id, in bytes.
pub const MAX_SESSION_ID_BYTES: usize = 128;

/// The longest id of a query, in bytes.
pub const MAX_QUERY_ID_BYTES: usize = 128;

/// The longest published tool name: the rule of several clients is `^[a-zA-Z0-9_-]{1,64}$`.
pub const MAX_TOOL_NAME_CHARS: usize = 64;

/// Above this the SDK warns in development: some clients add a prefix and cap at 60.
pub const ADVISED_TOOL_NAME_CHARS: usize = 40;

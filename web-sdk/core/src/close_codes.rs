//! The close codes of a page's socket that the bridge does not send: those of [`bridge_protocol::CloseCode`]
//! are the others.
//!
//! A page reconnects after each of them but [`NORMAL_CLOSE`]. A browser can send 1000 and 3000 to 4999.

/// The session ends.
pub const NORMAL_CLOSE: u16 = 1000;

/// RFC 6455 section 7.4.1: the program is going away, like a page that is being unloaded.
pub const LEAVING_CLOSE: u16 = 1001;

/// RFC 6455 section 7.1.5: the close frame has no code.
pub const NO_CODE: u16 = 1005;

/// RFC 6455 section 7.1.5: the connection ended without a close frame.
pub const ABNORMAL_CLOSE: u16 = 1006;

/// The page closes its socket, and reconnects.
pub const ABANDONED_CLOSE: u16 = 4000;

//! WebSocket close codes of the page socket, and whether a page reconnects after each of them.

/// Whether a page reconnects after its socket was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// Do not reconnect: the same attempt would end the same way.
    Never,
    /// Reconnect with the ordinary backoff.
    Soon,
    /// Reconnect after the time in the reason at the earliest ([`RetryHint`](crate::RetryHint)), or
    /// else after [`RETRY_LATER_DELAY`](crate::limits::RETRY_LATER_DELAY).
    Later,
}

/// Why the bridge closes a page socket (RFC 6455 section 7.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseCode {
    /// 1000: the page requested the close, or (v1) the bridge is shutting down.
    Normal,
    /// 1001: the document is gone.
    GoingAway,
    /// 1003: a binary frame, or a text frame that is not a JSON object with a `type`.
    UnsupportedData,
    /// 1008: the page was rejected; a message with the error was sent before.
    PolicyViolation,
    /// 1009: a frame was larger than [`MAX_FRAME_BYTES`](crate::limits::MAX_FRAME_BYTES).
    MessageTooBig,
    /// 1011: an internal error of the bridge.
    InternalError,
    /// 1012: the bridge is restarting.
    ServiceRestart,
    /// 1013: a limit of the bridge is currently reached.
    TryAgainLater,
    /// 4001: a newer connection of the same session took over.
    Superseded,
    /// 4003: the token has expired, or the page has sent one of another user; it reconnects with a
    /// fresh one.
    TokenExpired,
}

impl CloseCode {
    /// Every code that the bridge sends.
    pub const ALL: &'static [CloseCode] = &[
        CloseCode::Normal,
        CloseCode::GoingAway,
        CloseCode::UnsupportedData,
        CloseCode::PolicyViolation,
        CloseCode::MessageTooBig,
        CloseCode::InternalError,
        CloseCode::ServiceRestart,
        CloseCode::TryAgainLater,
        CloseCode::Superseded,
        CloseCode::TokenExpired,
    ];

    /// The number on the wire.
    pub const fn code(self) -> u16 {
        match self {
            CloseCode::Normal => 1000,
            CloseCode::GoingAway => 1001,
            CloseCode::UnsupportedData => 1003,
            CloseCode::PolicyViolation => 1008,
            CloseCode::MessageTooBig => 1009,
            CloseCode::InternalError => 1011,
            CloseCode::ServiceRestart => 1012,
            CloseCode::TryAgainLater => 1013,
            CloseCode::Superseded => 4001,
            CloseCode::TokenExpired => 4003,
        }
    }

    /// Returns whether a page reconnects after a close with this number.
    ///
    /// Numbers that are not a `CloseCode` mean [`Retry::Soon`]. The most frequent one is 1006: the
    /// connection broke.
    pub const fn retry(code: u16) -> Retry {
        match code {
            1003 | 1008 | 4001 => Retry::Never,
            1013 => Retry::Later,
            _ => Retry::Soon,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejections_are_final_and_lost_connections_are_retried() {
        assert_eq!(
            CloseCode::retry(CloseCode::PolicyViolation.code()),
            Retry::Never
        );
        assert_eq!(CloseCode::retry(CloseCode::Superseded.code()), Retry::Never);
        assert_eq!(
            CloseCode::retry(CloseCode::TryAgainLater.code()),
            Retry::Later
        );
        assert_eq!(
            CloseCode::retry(CloseCode::ServiceRestart.code()),
            Retry::Soon
        );
        assert_eq!(
            CloseCode::retry(CloseCode::TokenExpired.code()),
            Retry::Soon
        );
        assert_eq!(CloseCode::retry(1006), Retry::Soon);
    }
}

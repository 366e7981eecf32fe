//! WebSocket close codes of the page socket and what each one asks of the page.

/// Whether a page should come back after its socket was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// Final: the same attempt would end the same way.
    Never,
    /// At once, with the ordinary back-off.
    Soon,
    /// Not before [`crate::limits::RETRY_LATER`].
    Later,
}

/// Why the bridge closes a page socket (RFC 6455 section 7.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseCode {
    /// 1000: the page asked for it, or (v1) the bridge is shutting down.
    Normal,
    /// 1001: the document is gone.
    GoingAway,
    /// 1003: a binary frame, or a text frame that is not a JSON object with a `type`.
    UnsupportedData,
    /// 1008: refused; the error was sent before in words.
    PolicyViolation,
    /// 1009: a frame over [`crate::limits::MAX_FRAME_BYTES`].
    MessageTooBig,
    /// 1011: a fault of the bridge.
    InternalError,
    /// 1012: the bridge restarts.
    ServiceRestart,
    /// 1013: a limit of the bridge is reached for now.
    TryAgainLater,
    /// 4001: a newer connection of the same session took over.
    Superseded,
    /// 4003: the token has expired. The page comes back with a fresh one.
    TokenExpired,
}

impl CloseCode {
    /// Every code the bridge sends.
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

    /// What a page does after a close with this number, known or not.
    ///
    /// Numbers outside the table (1006 above all: the connection broke) mean [`Retry::Soon`].
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

//! The log of the bridge's refusals, and their counts.
//!
//! A peer that is not authenticated can cause a refusal, so each kind of refusal has at most one
//! line a second, which is a warning unless the kind is ordinary. A line has the number of earlier
//! refusals of its kind that were not logged. If no other refusal follows a burst,
//! [`RefusalLog::log_suppressed`] logs their number.

mod kind;

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use bridge_edge::ClientAddress;
use bridge_edge::connections::{ConnectionObserver, ConnectionRefusal};
use bridge_protocol::{BridgeToPage, ErrorCode};
use tokio::time::Instant;
use tracing::field::display;

use crate::lifecycle::LineLimit;

pub(crate) use kind::RefusalKind;

/// The target of the lines, for filters of the log.
const LOG_TARGET: &str = "bridge::refusals";

/// The maximum number of lines of each kind in a second.
const MAX_LINES_PER_SECOND: u32 = 1;

/// The maximum length of a reason in the log. Reasons may quote a header of the request.
const MAX_REASON_CHARS: usize = 256;

/// The refusal that a response reports. It is an extension of the response, so that one place logs
/// the refusals of all routes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RefusalRecord {
    pub(crate) kind: RefusalKind,
    /// The message for the client, which contains no token.
    pub(crate) reason: String,
}

/// Logs and counts refusals.
#[derive(Debug, Default)]
pub(crate) struct RefusalLog([KindLog; RefusalKind::ALL.len()]);

/// The refusals of one kind.
#[derive(Debug)]
struct KindLog {
    count: AtomicU64,
    lines: LineLimit,
}

impl Default for KindLog {
    fn default() -> Self {
        Self {
            count: AtomicU64::new(0),
            lines: LineLimit::new(MAX_LINES_PER_SECOND),
        }
    }
}

/// Logs a refusal with the level of its kind.
macro_rules! log_refusal {
    ($is_ordinary:expr, $($fields:tt)*) => {
        if $is_ordinary {
            tracing::debug!(target: LOG_TARGET, $($fields)*);
        } else {
            tracing::warn!(target: LOG_TARGET, $($fields)*);
        }
    };
}

impl RefusalLog {
    /// Counts a refusal and logs it, unless another one of its kind was logged recently. `address` is
    /// that of the page or client that is refused. `reason` is a message for it, which contains no
    /// token.
    pub(crate) fn record(
        &self,
        kind: RefusalKind,
        address: ClientAddress,
        route: &'static str,
        reason: &str,
    ) {
        self.record_for_page(kind, address, None, route, reason);
    }

    /// Like [`Self::record`], for a client that is refused something of a page, whose address is also
    /// logged.
    pub(crate) fn record_for_page(
        &self,
        kind: RefusalKind,
        address: ClientAddress,
        page_address: Option<ClientAddress>,
        route: &'static str,
        reason: &str,
    ) {
        let log = &self.0[kind as usize];
        log.count.fetch_add(1, Ordering::Relaxed);
        if let Some(suppressed) = log.lines.next_line(Instant::now()) {
            let reason: String = reason.chars().take(MAX_REASON_CHARS).collect();
            let (is_ordinary, kind) = (kind.is_ordinary(), kind.as_str());
            let page_address = page_address.map(display);
            log_refusal!(
                is_ordinary, kind, %address, page_address, route, reason, suppressed, "refused"
            );
        }
    }

    /// Logs how many refusals have no lines, of each kind whose burst is over at this time.
    pub(crate) fn log_suppressed(&self, now: Instant) {
        for kind in RefusalKind::ALL {
            if let Some(suppressed) = self.0[kind as usize].lines.take_suppressed(now) {
                let (is_ordinary, kind) = (kind.is_ordinary(), kind.as_str());
                log_refusal!(is_ordinary, kind, suppressed, "refused: more without lines");
            }
        }
    }

    /// Records what a message to a page refuses, if it refuses something.
    pub(crate) fn record_message(
        &self,
        message: &BridgeToPage,
        address: impl Fn() -> ClientAddress,
    ) {
        let record = |code, reason: &str| {
            if let Some(kind) = RefusalKind::from_code(code) {
                self.record(kind, address(), "/ws", reason);
            }
        };
        match message {
            BridgeToPage::Registered(registered) => {
                for error in &registered.errors {
                    record(error.code, &error.message);
                }
            }
            BridgeToPage::RenewalFailed(failed) => record(failed.code, &failed.error),
            // Agents report their own codes.
            BridgeToPage::QueryFailure(failure)
                if failure.code == ErrorCode::QueryLimitExceeded =>
            {
                record(failure.code, &failure.error);
            }
            _ => {}
        }
    }

    /// The number of refusals of a kind.
    pub(crate) fn count(&self, kind: RefusalKind) -> u64 {
        self.0[kind as usize].count.load(Ordering::Relaxed)
    }
}

impl ConnectionObserver for RefusalLog {
    fn on_refused(&self, peer: IpAddr, refusal: ConnectionRefusal) {
        let (kind, reason) = match refusal {
            ConnectionRefusal::LimitReached => (
                RefusalKind::MaxConnections,
                "the bridge has as many connections as it may: raise `max_connections`",
            ),
            ConnectionRefusal::AddressShare => (
                RefusalKind::MaxConnections,
                "this address has as many connections as one address may have of \
                 `max_connections`: raise it, or name the proxy in `trusted_proxies`",
            ),
            ConnectionRefusal::HeadTooLarge => (
                RefusalKind::HeadTooLarge,
                "the head of a request has more than 64 KiB or 100 fields",
            ),
            ConnectionRefusal::ResponseTooSlow => (
                RefusalKind::ResponseTooSlow,
                "the response was read too slowly: `response_progress_within` is the limit",
            ),
        };
        self.record(kind, ClientAddress::from(peer), "connection", reason);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bridge_output::CapturedLog;

    use super::*;
    use crate::lifecycle::LINE_INTERVAL;

    /// Returns the lines since the last call.
    fn take_lines(log: &CapturedLog) -> Vec<String> {
        log.take().lines().map(str::to_owned).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn each_kind_has_one_line_a_second_with_the_number_of_suppressed_ones() {
        let (output, _guard) = CapturedLog::start();
        let log = RefusalLog::default();
        let address = ClientAddress::from(IpAddr::from([192, 0, 2, 1]));
        let record = |kind, reason: &str| log.record(kind, address, "/mcp", reason);
        let record_host = || {
            record(
                RefusalKind::ForeignHost,
                "the host \"evil\"\n is not served",
            )
        };
        for _ in 0..5 {
            record_host();
        }
        let lines = take_lines(&output);
        assert_eq!(
            lines,
            [
                " WARN bridge::refusals: refused kind=\"foreign_host\" address=192.0.2.1 \
                 route=\"/mcp\" reason=\"the host \\\"evil\\\"\\n is not served\" suppressed=0"
            ]
        );
        // Another kind has a separate line.
        record(RefusalKind::MissingToken, &"é".repeat(1000));
        let lines = take_lines(&output);
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].starts_with("DEBUG"), "an ordinary one: {lines:?}");
        assert_eq!(lines[0].matches('é').count(), MAX_REASON_CHARS);

        tokio::time::advance(LINE_INTERVAL - Duration::from_millis(1)).await;
        record_host();
        assert!(take_lines(&output).is_empty());
        tokio::time::advance(Duration::from_millis(1)).await;
        record_host();
        let lines = take_lines(&output);
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].ends_with("suppressed=5"), "{lines:?}");
        assert_eq!(log.count(RefusalKind::ForeignHost), 7);
        assert_eq!(log.count(RefusalKind::MissingToken), 1);
        assert_eq!(log.count(RefusalKind::InvalidToken), 0);
    }
}

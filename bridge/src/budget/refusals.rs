//! The log of the bridge's refusals, and their counts.
//!
//! A peer that is not authenticated can cause a refusal, so each kind of refusal has at most one
//! line in [`LINE_INTERVAL`]. A line has the number of earlier refusals of its kind that were not
//! logged.

mod kind;

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bridge_edge::ClientAddress;
use bridge_edge::connections::{ConnectionObserver, ConnectionRefusal};
use bridge_protocol::{BridgeToPage, ErrorCode};
use tokio::time::Instant;

pub(crate) use kind::RefusalKind;

/// The target of the lines, for filters of the log.
const LOG_TARGET: &str = "bridge::refusals";

/// The time in which at most one refusal of a kind is logged.
const LINE_INTERVAL: Duration = Duration::from_secs(1);

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
#[derive(Debug, Default)]
struct KindLog {
    count: AtomicU64,
    lines: Mutex<Lines>,
}

#[derive(Debug, Default)]
struct Lines {
    last: Option<Instant>,
    /// The refusals since the last line.
    suppressed: u64,
}

impl RefusalLog {
    /// Counts a refusal and logs it, unless another one of its kind was logged recently. `reason` is
    /// a message for the client, which contains no token.
    pub(crate) fn record(
        &self,
        kind: RefusalKind,
        address: ClientAddress,
        route: &'static str,
        reason: &str,
    ) {
        let log = &self.0[kind as usize];
        log.count.fetch_add(1, Ordering::Relaxed);
        if let Some(suppressed) = log.next_line(Instant::now()) {
            let reason: String = reason.chars().take(MAX_REASON_CHARS).collect();
            let kind = kind.as_str();
            tracing::warn!(target: LOG_TARGET, kind, %address, route, reason, suppressed, "refused");
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

impl KindLog {
    /// Returns the number of refusals without a line before this one, or `None` if this one has no
    /// line either.
    fn next_line(&self, now: Instant) -> Option<u64> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let is_recent = |last: Instant| now.duration_since(last) < LINE_INTERVAL;
        if lines.last.is_some_and(is_recent) {
            lines.suppressed += 1;
            return None;
        }
        lines.last = Some(now);
        Some(std::mem::take(&mut lines.suppressed))
    }
}

#[cfg(test)]
mod tests {
    use bridge_output::CapturedLog;

    use super::*;

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

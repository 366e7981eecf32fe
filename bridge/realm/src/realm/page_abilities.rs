//! The abilities of a page, on which the rules of its session depend.

use std::time::Duration;
use web_time::Instant;

use super::Receipt;

/// The abilities of a page, which the codec of its socket knows. By default, a page can only answer
/// calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageAbilities {
    /// The page continues its session on a new connection or in a new document: its calls and
    /// queries wait for it. Otherwise its session ends with its connection.
    pub resumes_sessions: bool,
    /// The page acknowledges calls.
    pub sends_receipts: bool,
    /// The page checks late calls, see
    /// [`Authenticate::checks_late_calls`](bridge_protocol::Authenticate::checks_late_calls).
    pub checks_late_calls: bool,
    /// The page answers heartbeats. Otherwise only its browser can be checked, with
    /// [`Effect::Ping`](super::Effect::Ping).
    pub answers_heartbeats: bool,
    /// The page can be given another session name than it has asked for.
    pub accepts_other_name: bool,
    /// The agent of the page can be sent a token for each query, and stops when a query ends
    /// without it.
    pub has_controllable_agent: bool,
    /// The page validates the arguments of calls itself, by other rules than its published schemas.
    pub validates_arguments: bool,
    /// The page fails with a result, which is the data of the failure.
    pub fails_with_results: bool,
    /// The maximum duration of each call, if the page relies on it.
    pub call_timeout: Option<Duration>,
}

impl PageAbilities {
    /// The abilities of a page with our SDK.
    pub const SDK: Self = Self {
        resumes_sessions: true,
        sends_receipts: true,
        checks_late_calls: true,
        answers_heartbeats: true,
        accepts_other_name: true,
        has_controllable_agent: true,
        validates_arguments: false,
        fails_with_results: false,
        call_timeout: None,
    };

    /// The receipt state of a call that is sent now.
    pub(super) fn receipt(self, until: Instant) -> Receipt {
        if self.sends_receipts {
            Receipt::Awaited { until }
        } else {
            Receipt::Received
        }
    }

    /// How long calls or queries wait for the page to return.
    pub(super) fn return_timeout(self, configured: Duration) -> Duration {
        if self.resumes_sessions {
            configured
        } else {
            Duration::ZERO
        }
    }
}

//! The tool calls of an agent that wait for the approval of a person.

use std::borrow::Cow;
use std::collections::BTreeMap;

use bridge_protocol::limits::MAX_APPROVAL_ID_BYTES;
use serde::Deserialize;
use serde_json::value::RawValue;
use web_time::Instant;

/// The maximum number of calls of a query that can wait for an approval. When one more is added, the
/// oldest can no longer be answered.
const MAX_OPEN_APPROVALS: usize = 32;

/// How often the bridge tries to send the answers to one request.
const MAX_APPROVAL_ATTEMPTS: u8 = 3;

/// The `type` of the progress with which an agent requests an approval.
const REQUEST_TYPE: &str = "approval-requested";

/// The calls of one query that wait for an approval. Each is answered once, so that a page cannot
/// make the bridge send more requests than the agent has asked for.
#[derive(Debug, Default)]
pub(in crate::realm) struct Approvals {
    open: Vec<OpenApproval>,
    /// The number of requests so far, which is also the round of the newest one.
    rounds: u64,
}

#[derive(Debug)]
struct OpenApproval {
    call: Box<str>,
    /// Distinguishes this request from earlier ones for the same call.
    round: u64,
    attempts: u8,
    /// Whether an answer is being sent.
    is_sending: bool,
    /// The number of the progress with the request.
    progress: u64,
    /// Since when the time of the request counts.
    since: Instant,
    /// The time until the agent refuses the call, in milliseconds, if the request names one.
    expires_in_ms: Option<u64>,
}

/// The state of a request for approval after an attempt to send its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::realm) enum AfterSending {
    /// The request can be answered again.
    Open,
    /// The request cannot be answered any more.
    Closed,
    /// Meanwhile, the agent has sent a newer request for the same call.
    RequestedAgain,
}

impl Approvals {
    /// Records the request, if the progress of this number is one.
    pub(in crate::realm) fn record_request(
        &mut self,
        content: &RawValue,
        progress: u64,
        now: Instant,
    ) {
        #[derive(Deserialize)]
        struct Content<'a> {
            #[serde(borrow, rename = "type")]
            kind: Cow<'a, str>,
            #[serde(borrow)]
            id: Cow<'a, str>,
            #[serde(default, rename = "expiresInMs")]
            expires_in_ms: Option<f64>,
        }
        if !content.get().contains(REQUEST_TYPE) {
            return;
        }
        let Ok(content) = serde_json::from_str::<Content<'_>>(content.get()) else {
            return;
        };
        if content.kind != REQUEST_TYPE || !is_valid_id(&content.id) {
            return;
        }
        self.open.retain(|open| *open.call != *content.id);
        if self.open.len() == MAX_OPEN_APPROVALS {
            self.open.remove(0);
        }
        self.rounds += 1;
        self.open.push(OpenApproval {
            call: content.id.into(),
            round: self.rounds,
            attempts: 0,
            is_sending: false,
            progress,
            since: now,
            expires_in_ms: content.expires_in_ms.map(|it| it as u64),
        });
    }

    /// Returns the numbers of the progress with open requests whose time has begun to pass, and the
    /// milliseconds that are left of it.
    pub(in crate::realm) fn times_left(&self, now: Instant) -> impl Iterator<Item = (u64, u64)> {
        self.open.iter().filter_map(move |open| {
            let elapsed = now.saturating_duration_since(open.since).as_millis();
            let elapsed = u64::try_from(elapsed).unwrap_or(u64::MAX);
            let left = open.expires_in_ms?.saturating_sub(elapsed);
            (elapsed > 0).then_some((open.progress, left))
        })
    }

    /// Returns the round of the request for this call if its answer must be sent. It is sent once
    /// until [`Approvals::record_sent`].
    pub(in crate::realm) fn begin_sending(&mut self, call: &str) -> Option<u64> {
        let open = self.open.iter_mut().find(|open| *open.call == *call);
        let open = open.filter(|open| !open.is_sending)?;
        open.is_sending = true;
        open.attempts += 1;
        Some(open.round)
    }

    /// Records whether the answer to the request of this round has reached the agent. If not, the
    /// request can be answered again, but not without end.
    pub(in crate::realm) fn record_sent(
        &mut self,
        call: &str,
        round: u64,
        has_arrived: bool,
    ) -> AfterSending {
        let Some(index) = self.open.iter().position(|open| *open.call == *call) else {
            return AfterSending::Closed;
        };
        let open = &mut self.open[index];
        if open.round != round {
            return AfterSending::RequestedAgain;
        }
        if has_arrived || open.attempts >= MAX_APPROVAL_ATTEMPTS {
            self.open.remove(index);
            return AfterSending::Closed;
        }
        open.is_sending = false;
        AfterSending::Open
    }
}

/// Returns the request with the time that is left, for a page that receives it later.
pub(in crate::realm) fn with_time_left(request: &RawValue, left_ms: u64) -> Option<Box<RawValue>> {
    let mut members: BTreeMap<String, Box<RawValue>> = serde_json::from_str(request.get()).ok()?;
    let left = RawValue::from_string(left_ms.to_string()).ok()?;
    members.insert("expiresInMs".to_owned(), left);
    serde_json::value::to_raw_value(&members).ok()
}

/// Whether the id can be a segment of a URL. Dots alone would be resolved there.
fn is_valid_id(call: &str) -> bool {
    !matches!(call, "" | "." | "..") && call.len() <= MAX_APPROVAL_ID_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(call: &str) -> Box<RawValue> {
        let content = serde_json::json!({ "type": REQUEST_TYPE, "id": call, "tool": "t" });
        RawValue::from_string(content.to_string()).unwrap()
    }

    #[test]
    fn only_requests_with_a_usable_id_can_be_answered() {
        let longest = "x".repeat(MAX_APPROVAL_ID_BYTES);
        for (call, is_usable) in [
            ("1", true),
            ("a/b ?é\"", true),
            (&*longest, true),
            ("", false),
            (".", false),
            ("..", false),
            (&*format!("{longest}x"), false),
        ] {
            let mut approvals = Approvals::default();
            approvals.record_request(&request(call), 1, Instant::now());
            assert_eq!(approvals.begin_sending(call).is_some(), is_usable, "{call}");
        }
        for other in [
            r#""approval-requested""#,
            r#"{"type":"text","text":"approval-requested","id":"1"}"#,
            r#"{"type":"approval-requested"}"#,
            r#"{"type":"approval-requested","id":1}"#,
        ] {
            let mut approvals = Approvals::default();
            approvals.record_request(
                &RawValue::from_string(other.to_owned()).unwrap(),
                1,
                Instant::now(),
            );
            assert_eq!(approvals.begin_sending("1"), None, "{other}");
        }
    }

    #[test]
    fn each_request_is_answered_once_and_retried_a_few_times() {
        let mut approvals = Approvals::default();
        assert_eq!(approvals.begin_sending("1"), None);
        approvals.record_request(&request("1"), 1, Instant::now());
        assert_eq!(approvals.begin_sending("1"), Some(1));
        assert_eq!(approvals.begin_sending("1"), None);
        assert_eq!(approvals.begin_sending("2"), None);
        for attempt in 1..MAX_APPROVAL_ATTEMPTS {
            let after = approvals.record_sent("1", 1, false);
            assert_eq!(after, AfterSending::Open, "{attempt}");
            assert_eq!(approvals.begin_sending("1"), Some(1), "{attempt}");
        }
        let after = approvals.record_sent("1", 1, false);
        assert_eq!(after, AfterSending::Closed);
        assert_eq!(approvals.begin_sending("1"), None);
        approvals.record_request(&request("2"), 1, Instant::now());
        assert_eq!(approvals.begin_sending("2"), Some(2));
        assert_eq!(approvals.record_sent("2", 2, true), AfterSending::Closed);
        assert_eq!(approvals.begin_sending("2"), None);
    }

    #[test]
    fn a_late_outcome_does_not_change_a_newer_request_for_the_same_call() {
        for has_arrived in [true, false] {
            let mut approvals = Approvals::default();
            approvals.record_request(&request("1"), 1, Instant::now());
            assert_eq!(approvals.begin_sending("1"), Some(1));
            approvals.record_request(&request("1"), 1, Instant::now());
            assert_eq!(approvals.begin_sending("1"), Some(2));
            let after = approvals.record_sent("1", 1, has_arrived);
            assert_eq!(after, AfterSending::RequestedAgain);
            assert_eq!(approvals.begin_sending("1"), None);
            assert_eq!(approvals.record_sent("1", 2, false), AfterSending::Open);
            assert_eq!(approvals.begin_sending("1"), Some(2));
        }
    }

    #[test]
    fn open_requests_are_bounded_and_the_newest_are_kept() {
        let mut approvals = Approvals::default();
        for call in 0..=MAX_OPEN_APPROVALS {
            approvals.record_request(&request(&call.to_string()), 1, Instant::now());
        }
        assert_eq!(approvals.open.len(), MAX_OPEN_APPROVALS);
        assert_eq!(approvals.begin_sending("0"), None);
        assert_eq!(approvals.begin_sending("1"), Some(2));
    }
}

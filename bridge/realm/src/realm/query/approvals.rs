//! The tool calls of an agent that wait for the approval of a person.

use std::borrow::Cow;

use bridge_protocol::limits::MAX_APPROVAL_ID_BYTES;
use serde::Deserialize;
use serde_json::value::RawValue;

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
pub(in crate::realm) struct Approvals(Vec<OpenApproval>);

#[derive(Debug)]
struct OpenApproval {
    call: Box<str>,
    attempts: u8,
    /// Whether an answer is being sent.
    is_sending: bool,
}

impl Approvals {
    /// Records the request, if this is one.
    pub(in crate::realm) fn record_request(&mut self, content: &RawValue) {
        #[derive(Deserialize)]
        struct Content<'a> {
            #[serde(borrow, rename = "type")]
            kind: Cow<'a, str>,
            #[serde(borrow)]
            id: Cow<'a, str>,
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
        self.0.retain(|open| *open.call != *content.id);
        if self.0.len() == MAX_OPEN_APPROVALS {
            self.0.remove(0);
        }
        self.0.push(OpenApproval {
            call: content.id.into(),
            attempts: 0,
            is_sending: false,
        });
    }

    /// Whether the answer for this call is to be sent, which it is once until
    /// [`Approvals::record_sent`].
    pub(in crate::realm) fn begin_sending(&mut self, call: &str) -> bool {
        let open = self.0.iter_mut().find(|open| *open.call == *call);
        let Some(open) = open.filter(|open| !open.is_sending) else {
            return false;
        };
        open.is_sending = true;
        open.attempts += 1;
        true
    }

    /// Records whether the answer has reached the agent. If not, the call can be answered again, but
    /// not without end. Returns whether it can.
    pub(in crate::realm) fn record_sent(&mut self, call: &str, has_arrived: bool) -> bool {
        let Some(index) = self.0.iter().position(|open| *open.call == *call) else {
            return false;
        };
        if has_arrived || self.0[index].attempts >= MAX_APPROVAL_ATTEMPTS {
            self.0.remove(index);
            return false;
        }
        self.0[index].is_sending = false;
        true
    }
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
            approvals.record_request(&request(call));
            assert_eq!(approvals.begin_sending(call), is_usable, "{call}");
        }
        for other in [
            r#""approval-requested""#,
            r#"{"type":"text","text":"approval-requested","id":"1"}"#,
            r#"{"type":"approval-requested"}"#,
            r#"{"type":"approval-requested","id":1}"#,
        ] {
            let mut approvals = Approvals::default();
            approvals.record_request(&RawValue::from_string(other.to_owned()).unwrap());
            assert!(!approvals.begin_sending("1"), "{other}");
        }
    }

    #[test]
    fn each_request_is_answered_once_and_retried_a_few_times() {
        let mut approvals = Approvals::default();
        assert!(!approvals.begin_sending("1"));
        approvals.record_request(&request("1"));
        assert!(approvals.begin_sending("1"));
        assert!(!approvals.begin_sending("1") && !approvals.begin_sending("2"));
        for attempt in 1..MAX_APPROVAL_ATTEMPTS {
            assert!(approvals.record_sent("1", false), "{attempt}");
            assert!(approvals.begin_sending("1"), "{attempt}");
        }
        assert!(!approvals.record_sent("1", false));
        assert!(!approvals.begin_sending("1"));
        approvals.record_request(&request("2"));
        assert!(approvals.begin_sending("2") && !approvals.record_sent("2", true));
        assert!(!approvals.begin_sending("2"));
    }

    #[test]
    fn open_requests_are_bounded_and_the_newest_are_kept() {
        let mut approvals = Approvals::default();
        for call in 0..=MAX_OPEN_APPROVALS {
            approvals.record_request(&request(&call.to_string()));
        }
        assert_eq!(approvals.0.len(), MAX_OPEN_APPROVALS);
        assert!(!approvals.begin_sending("0") && approvals.begin_sending("1"));
    }
}

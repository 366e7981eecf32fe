//! A delay between the last progress notification of a request and its answer.
//!
//! The TypeScript SDKs (1.10 to 2.4) lose a progress notification that they read together with the
//! answer: they handle the answer immediately and the notification a moment later, when its handler
//! has been removed. Only time between the two writes prevents this; the order and the number of
//! writes do not matter.

use std::collections::HashMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::message::{self, JsonRpcRequest};

/// The least time between the last progress notification and the answer. Node reads within one or
/// two milliseconds, unless the machine is busy.
const MIN_GAP: Duration = Duration::from_millis(10);

/// The times of the last progress notifications.
#[derive(Debug, Default)]
pub(crate) struct ProgressGap {
    /// By progress token, as JSON.
    last_reports: HashMap<Box<str>, Instant>,
}

#[derive(Deserialize)]
struct ProgressParams<'a> {
    #[serde(borrow, rename = "progressToken")]
    token: &'a RawValue,
}

#[derive(Deserialize)]
struct RequestParams<'a> {
    #[serde(borrow, rename = "_meta")]
    meta: ProgressParams<'a>,
}

impl ProgressGap {
    /// Records a `notifications/progress` to the client, and drops the records that do not delay an
    /// answer any more.
    pub(crate) fn record(&mut self, text: &str, now: Instant) {
        self.last_reports
            .retain(|_, last_report| now < *last_report + MIN_GAP);
        if let Some(ProgressParams { token }) = message::params(text) {
            self.last_reports.insert(token.get().into(), now);
        }
    }

    /// Returns the time before which the answer to a request must not be written, or `None` if it
    /// may be written immediately.
    pub(crate) fn response_not_before(
        &mut self,
        request: &JsonRpcRequest,
        now: Instant,
    ) -> Option<Instant> {
        if self.last_reports.is_empty() {
            return None;
        }
        let RequestParams { meta } = request.params()?;
        let not_before = self.last_reports.remove(meta.token.get())? + MIN_GAP;
        (now < not_before).then_some(not_before)
    }
}

#[cfg(test)]
mod tests {
    use crate::message::JsonRpcMessage;

    use super::*;

    fn request(token: &str) -> JsonRpcRequest {
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"t","_meta":{{"progressToken":{token}}}}}}}"#
        );
        match JsonRpcMessage::parse(text) {
            Ok(JsonRpcMessage::Request(request)) => request,
            other => panic!("{other:?}"),
        }
    }

    fn report(token: &str) -> String {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":1}}}}"#
        )
    }

    #[test]
    fn an_answer_waits_for_its_own_last_report_and_for_no_other() {
        let mut gap = ProgressGap::default();
        let now = Instant::now();
        assert_eq!(gap.response_not_before(&request("7"), now), None);
        gap.record(&report("7"), now);
        gap.record(&report("\"7\""), now);
        let later = now + MIN_GAP / 2;
        assert_eq!(gap.response_not_before(&request("8"), later), None);
        assert_eq!(
            gap.response_not_before(&request("7"), later),
            Some(now + MIN_GAP)
        );
        assert_eq!(
            gap.response_not_before(&request("\"7\""), now + MIN_GAP),
            None
        );
    }

    #[test]
    fn old_reports_are_dropped() {
        let mut gap = ProgressGap::default();
        let now = Instant::now();
        for token in 0..1_000 {
            gap.record(&report(&token.to_string()), now);
        }
        gap.record(&report("\"last\""), now + MIN_GAP);
        assert_eq!(gap.last_reports.len(), 1);
    }
}

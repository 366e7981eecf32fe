//! The calls of a query, for its final event.

use bridge_protocol::QueryToolCall;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

/// The maximum total size of the recorded arguments and results, in bytes. Longer ones are left
/// out, and their calls are still recorded. They are part of the final event, and bridges refuse
/// one of more than 1 MiB.
const MAX_CALL_BYTES: usize = 512 * 1024;

/// The calls of a query, in the order in which they ended.
#[derive(Debug, Default)]
pub(super) struct ToolCallLog {
    calls: Vec<QueryToolCall>,
    bytes: usize,
}

impl ToolCallLog {
    /// Records a call that has ended.
    pub(super) fn add(
        &mut self,
        tool: String,
        source: Option<String>,
        arguments: &Map<String, Value>,
        result: Option<Box<RawValue>>,
    ) {
        let arguments = to_raw_value(arguments).unwrap_or_default();
        let arguments = self.keep(arguments).unwrap_or_default();
        let result = result.and_then(|result| self.keep(result));
        self.calls.push(QueryToolCall {
            tool,
            arguments,
            result,
            source,
        });
    }

    /// Returns a value if there is still room for it.
    fn keep(&mut self, value: Box<RawValue>) -> Option<Box<RawValue>> {
        let bytes = self.bytes + value.get().len();
        (bytes <= MAX_CALL_BYTES).then(|| {
            self.bytes = bytes;
            value
        })
    }

    pub(super) fn into_calls(self) -> Vec<QueryToolCall> {
        self.calls
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_beyond_the_limit_are_left_out_and_their_calls_are_not() {
        let large = || to_raw_value(&"x".repeat(MAX_CALL_BYTES / 2)).ok();
        let mut log = ToolCallLog::default();
        for _ in 0..2 {
            log.add("large".to_owned(), None, &Map::new(), large());
        }
        log.add("small".to_owned(), None, &Map::new(), to_raw_value(&1).ok());
        let has_result: Vec<_> = (log.calls.iter())
            .map(|call| call.result.is_some())
            .collect();
        assert_eq!(has_result, [true, false, true]);
        let long = Map::from_iter([("text".to_owned(), "x".repeat(MAX_CALL_BYTES).into())]);
        log.add("long".to_owned(), None, &long, None);
        assert_eq!(log.into_calls()[3].arguments.get(), "null");
    }
}

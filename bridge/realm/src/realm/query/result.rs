//! The report of an agent that has completed a query.

use bridge_protocol::{QueryToolCall, QueryUsage, TokenUsage};
use serde_json::value::RawValue;

/// The largest report of what a query has used, in bytes of JSON.
const MAX_USAGE_BYTES: usize = 16 * 1024;

/// The end of a query that its agent has completed.
#[derive(Debug, Default)]
pub struct CompletedQuery {
    /// Any JSON value; `None` if the agent has answered with a call of the response tool.
    pub value: Option<Box<RawValue>>,
    /// The usage that the agent reports.
    pub usage: Option<Box<RawValue>>,
    /// The calls of the agent. Only those with a source are passed on, because the bridge knows the
    /// calls of the page's tools itself.
    pub tool_calls: Vec<QueryToolCall>,
}

impl CompletedQuery {
    /// The usage, if it is an object that is not too large.
    pub(in crate::realm) fn checked_usage(&mut self) -> Option<Box<RawValue>> {
        let usage = self.usage.take()?;
        let is_valid = usage.get().starts_with('{') && usage.get().len() <= MAX_USAGE_BYTES;
        is_valid.then_some(usage)
    }

    /// The tokens of all models, if the agent has reported them.
    pub(in crate::realm) fn tokens(&self) -> Option<TokenUsage> {
        let usage = self.usage.as_ref().map(|usage| usage.get());
        let usage = usage.filter(|usage| usage.len() <= MAX_USAGE_BYTES)?;
        let usage: QueryUsage = serde_json::from_str(usage).ok()?;
        let models = usage.models.into_values();
        models.reduce(TokenUsage::saturating_add)
    }
}

impl From<Option<Box<RawValue>>> for CompletedQuery {
    fn from(value: Option<Box<RawValue>>) -> Self {
        Self {
            value,
            ..Self::default()
        }
    }
}

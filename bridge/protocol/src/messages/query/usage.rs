//! The usage of a query: tokens and time.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The usage of a query.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueryUsage {
    /// The tokens by the name of the model.
    pub models: BTreeMap<String, TokenUsage>,
    /// The time since the agent has accepted the query, in milliseconds.
    pub milliseconds: u64,
}

/// The tokens of one model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenUsage {
    /// The tokens of the input, those from the cache of the provider included.
    pub input: u64,
    /// The tokens of the output, those of the thinking included.
    pub output: u64,
    /// The tokens of the input that the provider had in its cache.
    pub cached: u64,
    /// The tokens of the output that the model used to think.
    pub thinking: u64,
}

impl TokenUsage {
    /// Returns the sum of two counts.
    #[must_use]
    pub fn saturating_add(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cached: self.cached.saturating_add(other.cached),
            thinking: self.thinking.saturating_add(other.thinking),
        }
    }
}

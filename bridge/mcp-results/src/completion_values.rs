//! The values that a page proposes for an argument.

use bridge_protocol::ErrorCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::request_error::RequestError;

/// The maximum number of values in one result (MCP, "Completion").
const MAX_VALUES: usize = 100;

/// The values that a page proposes for an argument, as `completion/complete` has them.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompletionValues {
    pub values: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has_more: Option<bool>,
}

impl CompletionValues {
    /// Parses the answer of a page, and truncates it to what one result may contain.
    ///
    /// # Errors
    ///
    /// Fails if the answer has another shape.
    pub fn from_page(answer: Map<String, Value>) -> Result<Self, RequestError> {
        let values: Self = serde_json::from_value(Value::Object(answer)).map_err(|error| {
            let message = format!("the page's answer for a completion: {error}");
            RequestError::failed(ErrorCode::InvalidResult, message)
        })?;
        Ok(values.truncated())
    }

    fn truncated(mut self) -> Self {
        if self.values.len() > MAX_VALUES {
            self.total = self.total.or_else(|| u32::try_from(self.values.len()).ok());
            self.has_more = Some(true);
            self.values.truncate(MAX_VALUES);
        }
        self
    }
}

//! Completion of the arguments of prompts and the variables of templates.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use bridge_protocol::Argument;
use serde_json::{Value, json};
use web_sdk_core::{Answer, HandlerOutcome};

use crate::json;

type Complete = Arc<dyn Fn(&str) -> Vec<String> + Send + Sync>;

/// The completion functions of the arguments.
#[derive(Clone, Default)]
pub(crate) struct Completers(BTreeMap<String, Complete>);

impl Completers {
    pub(crate) fn add(
        &mut self,
        argument: &str,
        complete: impl Fn(&str) -> Vec<String> + Send + Sync + 'static,
    ) {
        self.0.insert(argument.to_owned(), Arc::new(complete));
    }

    pub(crate) fn answer(&self, argument: &Argument) -> HandlerOutcome<String> {
        let complete = self.0.get(&argument.name);
        let values = complete.map_or_else(Vec::new, |complete| complete(&argument.value));
        returned(&json!({ "values": values }))
    }
}

impl fmt::Debug for Completers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// Returns the outcome with this result.
pub(crate) fn returned(result: &Value) -> HandlerOutcome<String> {
    let result = json::text(result);
    HandlerOutcome::Returned {
        bytes: result.len(),
        answer: Answer {
            result: Some(result),
            ..Answer::default()
        },
    }
}

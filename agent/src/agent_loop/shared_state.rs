//! The state that an application shares with the agent: the model reads it in the context, and changes
//! it with a tool of the agent itself.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value, json};

use crate::model::ModelTool;

/// The name of the tool that changes the state.
const TOOL_NAME: &str = "update_state";

/// The state that the application shares for a query, if it shares one.
#[derive(Debug, Default)]
pub(crate) struct SharedState {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    value: Option<Value>,
    is_changed: bool,
}

impl SharedState {
    /// Lets the model change this state. Returns whether it is another one than before.
    pub(crate) fn share(&self, value: &Value) -> bool {
        let mut inner = self.inner();
        let is_changed = inner.value.as_ref() != Some(value);
        if is_changed {
            inner.value = Some(value.clone());
        }
        is_changed
    }

    /// Returns the state if it has changed since the last call of this method.
    pub(crate) fn take_change(&self) -> Option<Value> {
        let mut inner = self.inner();
        if !std::mem::take(&mut inner.is_changed) {
            return None;
        }
        inner.value.clone()
    }

    /// Returns the tool that changes the state, if there is one.
    pub(super) fn tool(&self) -> Option<ModelTool> {
        self.inner().value.as_ref()?;
        let description = "Changes the state of the application. `changes` is a JSON Merge Patch: \
                           its members replace those of the state, and null removes one.";
        Some(ModelTool {
            name: TOOL_NAME.to_owned(),
            description: Some(description.to_owned()),
            input_schema: json!({
                "type": "object",
                "properties": { "changes": { "type": "object" } },
                "required": ["changes"],
            }),
        })
    }

    /// Changes the state as a call requests. Fails with the reason for the model.
    pub(super) fn update(&self, arguments: &Map<String, Value>) -> Result<(), &'static str> {
        let Some(changes @ Value::Object(_)) = arguments.get("changes") else {
            return Err("`changes` must be an object.");
        };
        let mut inner = self.inner();
        if let Some(value) = &mut inner.value {
            merge(value, changes);
            inner.is_changed = true;
        }
        Ok(())
    }

    /// Locks the state. A poisoned lock is used anyway, because no code panics while it holds the
    /// lock.
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Applies a JSON Merge Patch (RFC 7386).
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(members) = target else {
        return;
    };
    for (name, change) in patch {
        if change.is_null() {
            members.remove(name);
        } else {
            merge(members.entry(name.clone()).or_insert(Value::Null), change);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_merged_and_reported_once() {
        let state = SharedState::default();
        assert!(state.tool().is_none() && state.take_change().is_none());
        let shared = json!({ "page": 1, "filter": { "late": true, "owner": "Ada" }, "x": 0 });
        assert!(state.share(&shared) && !state.share(&shared));
        assert!(state.tool().is_some());
        assert_eq!(state.take_change(), None, "nothing has changed yet");
        let update = |changes: Value| {
            let arguments = json!({ "changes": changes });
            state.update(arguments.as_object().unwrap())
        };
        let changes = json!({ "page": 2, "filter": { "owner": null }, "x": { "y": 1 } });
        assert_eq!(update(changes), Ok(()));
        let expected = json!({ "page": 2, "filter": { "late": true }, "x": { "y": 1 } });
        assert_eq!(state.take_change(), Some(expected));
        assert_eq!(state.take_change(), None);
        assert!(update(json!([1])).is_err());
    }
}

//! Validation against the schemas of tools. If it is not cheap, it runs in the CPU pool: first as
//! short work, and as long work if it turns out to take longer than that.

use std::sync::Arc;

use serde_json::value::RawValue;

use crate::budget::{WorkError, WorkLength, WorkOrder};
use crate::hub::Hub;
use bridge_auth::RealmId;
use bridge_mcp_results::schema_violation::input_schema_violation;
use bridge_mcp_results::tool_result::{CallToolResult, StructuredContent};
use bridge_realm::definition::SharedTool;
use bridge_realm::realm::CallFailure;
use bridge_schema::{Effort, ValidationFailure, Validator};

/// Why something was not accepted.
#[derive(Debug)]
pub(super) enum ValidationError {
    Invalid(ValidationFailure),
    /// It was not validated.
    Work(WorkError),
}

/// A value to validate. It waits as text, unless it had to be parsed for another reason.
pub(super) trait Validate: Send + 'static {
    /// Validates it if that takes no more than `effort`, and returns `None` otherwise.
    fn try_validate(
        &self,
        validator: &Validator,
        effort: Effort,
    ) -> Option<Result<(), ValidationFailure>>;

    /// The work of a token for a full validation.
    fn work_order(&self, realm: RealmId) -> WorkOrder;
}

/// The arguments of a call.
impl Validate for Box<RawValue> {
    fn try_validate(
        &self,
        validator: &Validator,
        effort: Effort,
    ) -> Option<Result<(), ValidationFailure>> {
        validator.try_validate_text(self.get(), effort)
    }

    fn work_order(&self, realm: RealmId) -> WorkOrder {
        WorkOrder::for_json(realm, self.get().len())
    }
}

/// The structured content of a result.
impl Validate for CallToolResult {
    fn try_validate(
        &self,
        validator: &Validator,
        effort: Effort,
    ) -> Option<Result<(), ValidationFailure>> {
        match self.structured() {
            None => Some(Ok(())),
            Some(StructuredContent::Text(json)) => validator.try_validate_text(json, effort),
            Some(StructuredContent::Value(value)) => validator.try_validate(value, effort),
        }
    }

    fn work_order(&self, realm: RealmId) -> WorkOrder {
        WorkOrder::for_result(realm, self)
    }
}

/// Validates something against one of the schemas of a tool, and returns it.
pub(super) async fn validate<T: Validate>(
    hub: &Hub,
    realm: RealmId,
    tool: &Arc<SharedTool>,
    schema: fn(&SharedTool) -> Option<&Validator>,
    value: T,
) -> Result<T, ValidationError> {
    let Some(validator) = schema(tool) else {
        return Ok(value);
    };
    if let Some(outcome) = value.try_validate(validator, Effort::Inline) {
        return outcome.map(|()| value).map_err(ValidationError::Invalid);
    }
    let mut value = value;
    for (effort, length) in [
        (Effort::Short, WorkLength::Short),
        (Effort::Full, WorkLength::Long),
    ] {
        let order = value.work_order(realm);
        if length == WorkLength::Short && order.length == WorkLength::Long {
            continue;
        }
        let tool = Arc::clone(tool);
        let work = move || {
            let outcome = schema(&tool).and_then(|validator| value.try_validate(validator, effort));
            (value, outcome)
        };
        let done = hub.run_work(WorkOrder { length, ..order }, work).await;
        let (validated, outcome) = done.map_err(ValidationError::Work)?;
        match outcome {
            Some(outcome) => {
                return outcome
                    .map(|()| validated)
                    .map_err(ValidationError::Invalid);
            }
            None => value = validated,
        }
    }
    // Cannot happen, because a full effort always has an outcome.
    Err(ValidationError::Invalid(ValidationFailure::TooCostly))
}

/// Validates the arguments of a tool and returns them. They are not parsed if the tool accepts any
/// object.
pub(super) async fn validate_input(
    hub: &Hub,
    realm: RealmId,
    tool: &Arc<SharedTool>,
    input: Box<RawValue>,
) -> Result<Box<RawValue>, CallFailure> {
    if tool.input_validator().accepts_any_object() {
        return Ok(input);
    }
    let validated = validate(hub, realm, tool, input_schema, input).await;
    validated.map_err(|error| match error {
        ValidationError::Invalid(failure) => input_schema_violation(tool, &failure),
        ValidationError::Work(error) => error.into(),
    })
}

fn input_schema(tool: &SharedTool) -> Option<&Validator> {
    Some(tool.input_validator())
}

#[cfg(test)]
mod tests;

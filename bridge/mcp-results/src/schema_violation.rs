//! The failures of calls whose arguments or result do not fit the schemas of their tool.

use bridge_protocol::ErrorCode;
use bridge_realm::definition::SharedTool;
use bridge_realm::realm::CallFailure;
use bridge_schema::ValidationFailure;

use crate::tool_call::unusable_result;
use crate::tool_result::parse_error_message;

/// The failure of a call whose arguments cannot be passed on.
pub fn invalid_arguments(message: String) -> CallFailure {
    CallFailure::new(ErrorCode::InvalidArguments, message)
}

/// The failure of a call whose arguments are not valid against the tool's input schema.
pub fn input_schema_violation(tool: &SharedTool, violation: &ValidationFailure) -> CallFailure {
    invalid_arguments(match violation {
        ValidationFailure::Unreadable(error) => {
            format!("the arguments must be an object that can be read: {error}")
        }
        violation => {
            let name = tool.name();
            format!("the arguments of `{name}` do not fit its input schema: {violation}")
        }
    })
}

/// The failure of a call whose result is not valid against the tool's output schema.
pub fn output_schema_violation(tool: &SharedTool, violation: &ValidationFailure) -> CallFailure {
    if let ValidationFailure::Unreadable(error) = violation {
        return unusable_result(tool, &parse_error_message(error));
    }
    let message = format!(
        "the result of `{}` does not fit its output schema: {violation}",
        tool.name()
    );
    CallFailure::new(ErrorCode::InvalidResult, message)
}

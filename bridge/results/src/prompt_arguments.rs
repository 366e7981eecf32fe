//! The arguments of `prompts/get`.

use bridge_realm::definition::Definition;
use serde_json::{Map, Value};

use crate::request_error::CallError;

/// Checks that all arguments are strings, and that none is missing.
///
/// # Errors
///
/// Names the arguments that are wrong.
pub fn validate(prompt: &Definition, given: &Map<String, Value>) -> Result<(), CallError> {
    let Definition::Prompt(prompt) = prompt else {
        return Ok(());
    };
    if let Some((name, _)) = given.iter().find(|(_, value)| !value.is_string()) {
        let message = format!("the argument `{name}` must be a string, as all of prompts");
        return Err(CallError::InvalidArguments(message));
    }
    match &prompt.missing_arguments(given)[..] {
        [] => Ok(()),
        missing => Err(CallError::InvalidArguments(format!(
            "prompt `{}` needs the arguments {}",
            prompt.name,
            missing.join(", ")
        ))),
    }
}

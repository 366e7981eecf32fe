//! The arguments of `prompts/get`.

use bridge_realm::definition::SharedDefinition;
use serde_json::{Map, Value};

use crate::request_error::RequestError;

/// Checks that all arguments are strings, and that none is missing.
///
/// # Errors
///
/// Names the arguments that are wrong.
pub fn validate(prompt: &SharedDefinition, given: &Map<String, Value>) -> Result<(), RequestError> {
    let SharedDefinition::Prompt(prompt) = prompt else {
        return Ok(());
    };
    if let Some((name, _)) = given.iter().find(|(_, value)| !value.is_string()) {
        let message = format!("the argument `{name}` must be a string, as all of prompts");
        return Err(RequestError::InvalidArguments(message));
    }
    match &prompt.missing_arguments(given)[..] {
        [] => Ok(()),
        missing => Err(RequestError::InvalidArguments(format!(
            "prompt `{}` needs the arguments {}",
            prompt.name,
            missing.join(", ")
        ))),
    }
}

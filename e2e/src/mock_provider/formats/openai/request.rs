//! The requirements of OpenAI for a request.
//!
//! <https://platform.openai.com/docs/api-reference/chat/create>.

use std::collections::HashSet;

use serde_json::Value;

use super::super::provider_request::{
    KEY, ProviderError, ProviderRequest, array, root_keyword, text,
};
use super::error_response;

pub(in crate::mock_provider::formats) fn validate(
    request: &ProviderRequest<'_>,
) -> Result<(), ProviderError> {
    check_key(request)?;
    let body = request.body;
    if text(&body["model"]).is_none() {
        return bad_request("you must provide a model parameter");
    }
    if body["stream"] != true {
        return bad_request("this provider only streams: `stream` must be true");
    }
    check_tools(body)?;
    check_messages(array(&body["messages"]))
}

fn check_key(request: &ProviderRequest<'_>) -> Result<(), ProviderError> {
    let header = request.header("authorization").unwrap_or_default();
    match header.strip_prefix("Bearer ") {
        None => {
            let message = "You didn't provide an API key. You need to provide your API key in an \
                           Authorization header using Bearer auth (i.e. Authorization: Bearer \
                           YOUR_KEY).";
            Err(error_response(401, Some(message.to_owned())))
        }
        Some(key) if key != KEY => Err(error_response(401, None)),
        Some(_) => Ok(()),
    }
}

fn check_tools(body: &Value) -> Result<(), ProviderError> {
    let mut names = HashSet::new();
    for (index, tool) in array(&body["tools"]).iter().enumerate() {
        if tool["type"] != "function" {
            return bad_request(&format!(
                "Missing required parameter: 'tools[{index}].type'."
            ));
        }
        let function = &tool["function"];
        let name = text(&function["name"]).unwrap_or_default();
        let is_valid = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || name.len() > 64 || !name.chars().all(is_valid) {
            return bad_request(&format!(
                "Invalid 'tools[{index}].function.name': string does not match pattern. Expected \
                 a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
            ));
        }
        let parameters = &function["parameters"];
        if !parameters.is_null() && parameters["type"] != "object" {
            return bad_request(&format!(
                "Invalid schema for function '{name}': schema must be a JSON Schema of 'type: \
                 \"object\"', got 'type: {}'.",
                parameters["type"]
            ));
        }
        check_root(name, parameters)?;
        names.insert(name);
    }
    match body["tool_choice"]["function"]["name"].as_str() {
        Some(forced) if !names.contains(forced) => bad_request(&format!(
            "Invalid value for 'tool_choice': function '{forced}' is not in 'tools'."
        )),
        _ => Ok(()),
    }
}

/// Checks that the root of a schema has no union. The API for responses has the same check.
pub(in crate::mock_provider::formats) fn check_root(
    name: &str,
    parameters: &Value,
) -> Result<(), ProviderError> {
    match root_keyword(parameters, &["oneOf", "anyOf", "allOf", "enum", "not"]) {
        None => Ok(()),
        Some(_) => bad_request(&format!(
            "Invalid schema for function '{name}': schema must have type 'object' and not have \
             'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level."
        )),
    }
}

fn check_messages(messages: &[Value]) -> Result<(), ProviderError> {
    if messages.is_empty() {
        return bad_request(
            "Invalid 'messages': empty array. Expected an array with minimum length 1.",
        );
    }
    let mut missing: Vec<&str> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let role = text(&message["role"]).unwrap_or_default();
        if role == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            let Some(found) = missing.iter().position(|missing| *missing == id) else {
                return bad_request(
                    "Invalid parameter: messages with role 'tool' must be a response to a \
                     preceeding message with 'tool_calls'.",
                );
            };
            if !message["content"].is_string() && !message["content"].is_array() {
                return bad_request(&format!(
                    "Invalid value for 'messages[{index}].content': expected a string or an array."
                ));
            }
            missing.remove(found);
            continue;
        }
        require_answered(&missing)?;
        if !["system", "developer", "user", "assistant"].contains(&role) {
            return bad_request(&format!(
                "Invalid value: '{role}'. Supported values are: 'system', 'assistant', 'user', \
                 'function', 'tool', and 'developer'."
            ));
        }
        let calls = array(&message["tool_calls"]);
        if calls.is_empty() && message["content"].is_null() {
            return bad_request(&format!(
                "Invalid value for 'content': expected a string, got null. (messages[{index}])"
            ));
        }
        if calls
            .iter()
            .any(|call| !call["function"]["arguments"].is_string())
        {
            return bad_request(&format!(
                "Invalid type for 'messages[{index}].tool_calls[0].function.arguments': expected a \
                 string."
            ));
        }
        missing = calls
            .iter()
            .filter_map(|call| call["id"].as_str())
            .collect();
    }
    require_answered(&missing)
}

fn require_answered(missing: &[&str]) -> Result<(), ProviderError> {
    if missing.is_empty() {
        return Ok(());
    }
    bad_request(&format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to \
         each 'tool_call_id'. The following tool_call_ids did not have response messages: {}",
        missing.join(", ")
    ))
}

fn bad_request(message: &str) -> Result<(), ProviderError> {
    Err(error_response(400, Some(message.to_owned())))
}

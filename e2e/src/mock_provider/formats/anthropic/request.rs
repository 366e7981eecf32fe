//! The requirements of Anthropic for a request.
//!
//! <https://platform.claude.com/docs/en/api/messages>; results of tools:
//! <https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use>, section
//! "Handling results from client tools"; thinking:
//! <https://platform.claude.com/docs/en/build-with-claude/extended-thinking>, section "Extended
//! thinking with tool use"; cache:
//! <https://platform.claude.com/docs/en/build-with-claude/prompt-caching>.

use std::collections::HashSet;

use serde_json::Value;

use super::super::provider_request::{
    KEY, ProviderError, ProviderRequest, array, root_keyword, text,
};
use super::{SIGNATURE, error_response};
use crate::mock_provider::script::Script;

/// How many blocks may be marked for the cache.
const MAX_CACHE_MARKS: usize = 4;

pub(in crate::mock_provider::formats) fn validate(
    request: &ProviderRequest<'_>,
    script: &Script,
) -> Result<(), ProviderError> {
    check_headers(request)?;
    let body = request.body;
    if text(&body["model"]).is_none() {
        return bad_request("model: Field required");
    }
    if body["max_tokens"].as_u64().is_none_or(|max| max == 0) {
        return bad_request("max_tokens: Field required");
    }
    if body["stream"] != true {
        return bad_request("this provider only streams: `stream` must be true");
    }
    check_tools(body)?;
    check_thinking(body)?;
    if count_cache_marks(body) > MAX_CACHE_MARKS {
        let found = count_cache_marks(body);
        return bad_request(&format!(
            "A maximum of {MAX_CACHE_MARKS} blocks with cache_control may be provided. Found {found}."
        ));
    }
    // Claude Code sends system messages in the middle of a conversation.
    let messages = array(&body["messages"]).iter();
    let messages: Vec<_> = messages
        .filter(|message| message["role"] != "system")
        .cloned()
        .collect();
    check_messages(&messages)?;
    check_thinking_history(body, script)
}

fn check_headers(request: &ProviderRequest<'_>) -> Result<(), ProviderError> {
    match request.header("x-api-key") {
        None => {
            let message = "x-api-key header is required".to_owned();
            return Err(error_response(401, Some(message)));
        }
        Some(key) if key != KEY => return Err(error_response(401, None)),
        Some(_) => {}
    }
    if request.header("anthropic-version").is_none() {
        return bad_request("anthropic-version: header is required");
    }
    let content_type = request.header("content-type").unwrap_or_default();
    if !content_type.starts_with("application/json") {
        return bad_request("content-type: must be application/json");
    }
    Ok(())
}

fn check_tools(body: &Value) -> Result<(), ProviderError> {
    let mut names = HashSet::new();
    for (index, tool) in array(&body["tools"]).iter().enumerate() {
        let name = text(&tool["name"]).unwrap_or_default();
        let is_valid = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || name.len() > 128 || !name.chars().all(is_valid) {
            return bad_request(&format!(
                "tools.{index}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
            ));
        }
        if !names.insert(name) {
            return bad_request("tools: Tool names must be unique.");
        }
        if tool["input_schema"]["type"] != "object" {
            return bad_request(&format!(
                "tools.{index}.custom.input_schema.type: Input should be 'object'"
            ));
        }
        if root_keyword(&tool["input_schema"], &["oneOf", "allOf", "anyOf"]).is_some() {
            return bad_request(&format!(
                "tools.{index}.custom.input_schema: input_schema does not support oneOf, allOf, or \
                 anyOf at the top level"
            ));
        }
        let properties = tool["input_schema"]["properties"].as_object();
        let is_valid = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
        let is_valid = |name: &String| (1..=64).contains(&name.len()) && name.chars().all(is_valid);
        if !properties.is_none_or(|properties| properties.keys().all(is_valid)) {
            return bad_request(&format!(
                "tools.{index}.custom.input_schema.properties: Property keys should match pattern \
                 '^[a-zA-Z0-9_.-]{{1,64}}$'"
            ));
        }
    }
    let forced = &body["tool_choice"]["name"];
    match forced.as_str() {
        Some(forced) if !names.contains(forced) => {
            bad_request(&format!("Tool '{forced}' not found in provided tools"))
        }
        _ => Ok(()),
    }
}

fn check_thinking(body: &Value) -> Result<(), ProviderError> {
    if body["thinking"]["type"] != "enabled" {
        return Ok(());
    }
    let budget = body["thinking"]["budget_tokens"].as_u64().unwrap_or(0);
    if budget < 1024 {
        return bad_request(
            "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
        );
    }
    if body["max_tokens"].as_u64().unwrap_or(0) <= budget {
        return bad_request("`max_tokens` must be greater than `thinking.budget_tokens`.");
    }
    match body["tool_choice"]["type"].as_str() {
        Some("any" | "tool") => {
            bad_request("Thinking may not be enabled when tool_choice forces tool use.")
        }
        _ => Ok(()),
    }
}

fn check_messages(messages: &[Value]) -> Result<(), ProviderError> {
    if messages.is_empty() {
        return bad_request("messages: at least one message is required");
    }
    if messages[0]["role"] != "user" {
        return bad_request("messages: first message must use the \"user\" role");
    }
    let mut open_calls: Vec<&str> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let role = text(&message["role"]).unwrap_or_default();
        if !["user", "assistant"].contains(&role) {
            return bad_request(&format!(
                "messages.{index}.role: Input should be 'user' or 'assistant'"
            ));
        }
        if index > 0 && messages[index - 1]["role"] == role {
            return bad_request(&format!(
                "messages: roles must alternate between \"user\" and \"assistant\", but found \
                 multiple \"{role}\" roles in a row"
            ));
        }
        if text(&message["content"]).is_none() && array(&message["content"]).is_empty() {
            return bad_request(&format!(
                "messages.{index}: all messages must have non-empty content except for the \
                 optional final assistant message"
            ));
        }
        let blocks = array(&message["content"]);
        if blocks
            .iter()
            .any(|block| block["type"] == "text" && block["text"] == "")
        {
            return bad_request("messages: text content blocks must be non-empty");
        }
        check_results(index, blocks, &open_calls)?;
        let uses = blocks.iter().filter(|block| block["type"] == "tool_use");
        open_calls = uses.filter_map(|block| block["id"].as_str()).collect();
    }
    if open_calls.is_empty() {
        Ok(())
    } else {
        unanswered(messages.len() - 1, &open_calls)
    }
}

/// Checks that a message has a result for each call of the previous message, and no others.
fn check_results(index: usize, blocks: &[Value], calls: &[&str]) -> Result<(), ProviderError> {
    let mut missing: Vec<&str> = calls.to_vec();
    for (position, block) in blocks.iter().enumerate() {
        if block["type"] != "tool_result" {
            continue;
        }
        let id = block["tool_use_id"].as_str().unwrap_or_default();
        match missing.iter().position(|missing| *missing == id) {
            Some(found) => missing.remove(found),
            None => {
                return bad_request(&format!(
                    "messages.{index}.content.{position}: unexpected `tool_use_id` found in \
                     `tool_result` blocks: {id}. Each `tool_result` block must have a \
                     corresponding `tool_use` block in the previous message."
                ));
            }
        };
    }
    if missing.is_empty() {
        Ok(())
    } else {
        unanswered(index.saturating_sub(1), &missing)
    }
}

fn unanswered(index: usize, missing: &[&str]) -> Result<(), ProviderError> {
    bad_request(&format!(
        "messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately \
         after: {}. Each `tool_use` block must have a corresponding `tool_result` block in the \
         next message.",
        missing.join(", ")
    ))
}

/// Checks that the history contains the thinking that preceded tool calls, with its signature.
fn check_thinking_history(body: &Value, script: &Script) -> Result<(), ProviderError> {
    if body["thinking"]["type"] != "enabled" {
        return Ok(());
    }
    let messages = array(&body["messages"]).iter().enumerate();
    let answers = messages.filter(|(_, message)| message["role"] == "assistant");
    for ((index, message), turn) in answers.zip(&script.turns) {
        let first = &array(&message["content"])[0];
        if !turn.has_thinking() || turn.calls() == 0 {
            continue;
        }
        if first["type"] != "thinking" {
            let found = first["type"].as_str().unwrap_or_default();
            return bad_request(&format!(
                "messages.{index}.content.0.type: Expected `thinking` or `redacted_thinking`, but \
                 found `{found}`. When `thinking` is enabled, a final `assistant` message must \
                 start with a thinking block (preceeding the lastmost set of `tool_use` and \
                 `tool_result` blocks)."
            ));
        }
        if first["signature"] != SIGNATURE {
            return bad_request(&format!(
                "messages.{index}.content.0: Invalid `signature` in `thinking` block"
            ));
        }
    }
    Ok(())
}

/// Returns how many blocks are marked for the cache.
fn count_cache_marks(value: &Value) -> usize {
    match value {
        Value::Object(fields) => {
            let inside: usize = fields.values().map(count_cache_marks).sum();
            inside + usize::from(fields.contains_key("cache_control"))
        }
        Value::Array(elements) => elements.iter().map(count_cache_marks).sum(),
        _ => 0,
    }
}

fn bad_request(message: &str) -> Result<(), ProviderError> {
    Err(error_response(400, Some(message.to_owned())))
}

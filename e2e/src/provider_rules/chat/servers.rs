//! The rules of other servers than OpenAI's.

use serde_json::Value;

use super::super::fields::{has, is_picture_url, items, text, unknown_field};
use super::super::openai::check_key;
use super::super::request::{Accepted, ProviderRequest};
use super::super::table::{Check, Rules};
use super::issued_calls::IssuedCalls;

const MISTRAL_FIELDS: &[&str] = &[
    "messages",
    "model",
    "max_tokens",
    "stream",
    "stop",
    "random_seed",
    "metadata",
    "response_format",
    "tools",
    "tool_choice",
    "presence_penalty",
    "frequency_penalty",
    "n",
    "prediction",
    "parallel_tool_calls",
    "prompt_mode",
    "reasoning_effort",
    "prompt_cache_key",
    "guardrails",
    "safe_prompt",
    "temperature",
    "top_p",
];

const OLLAMA_FIELDS: &[&str] = &[
    "model",
    "messages",
    "stream",
    "stream_options",
    "max_tokens",
    "seed",
    "stop",
    "temperature",
    "frequency_penalty",
    "presence_penalty",
    "top_p",
    "response_format",
    "tools",
    "reasoning",
    "reasoning_effort",
    "logprobs",
    "top_logprobs",
];

pub(super) fn check_mistral(request: &ProviderRequest<'_>, rules: &'static Rules) -> Check {
    let body = request.body;
    check_key(request, rules)?;
    if let Some(field) = unknown_field(body, MISTRAL_FIELDS) {
        return Err(rules.refuse("mistral.extra", &[("param", field)]));
    }
    let mut previous = "";
    for message in items(&body["messages"]) {
        let role = text(message, "role");
        let fields: &[&str] = match role {
            "assistant" => &["role", "content", "tool_calls", "prefix"],
            "tool" => &["role", "content", "tool_call_id", "name"],
            _ => &["role", "content"],
        };
        if let Some(field) = unknown_field(message, fields) {
            return Err(rules.refuse("mistral.extra", &[("param", field)]));
        }
        let is_unknown = !["system", "user", "assistant", "tool"].contains(&role);
        if is_unknown || previous == "tool" && role == "user" {
            let values = [("role", role), ("previous", previous)];
            return Err(rules.refuse("mistral.role", &values));
        }
        previous = role;
        let calls = items(&message["tool_calls"])
            .iter()
            .map(|call| text(call, "id"));
        let mut ids = calls.chain(message["tool_call_id"].as_str());
        let is_valid =
            |id: &str| id.len() == 9 && id.chars().all(|char| char.is_ascii_alphanumeric());
        if let Some(id) = ids.find(|id| !is_valid(id)) {
            return Err(rules.refuse("mistral.call_id", &[("id", id)]));
        }
    }
    let choice = &body["tool_choice"];
    let names = ["auto", "none", "any", "required"];
    let is_named = choice["type"] == "function" && has(&choice["function"], "name");
    if !choice.is_null()
        && !is_named
        && !choice
            .as_str()
            .is_some_and(|choice| names.contains(&choice))
    {
        return Err(rules.refuse("mistral.extra", &[("param", "tool_choice")]));
    }
    Ok(())
}

pub(super) fn check_deepseek(
    request: &ProviderRequest<'_>,
    rules: &'static Rules,
    issued: &IssuedCalls,
    accepted: &mut Accepted,
) -> Check {
    let body = request.body;
    check_key(request, rules)?;
    accepted.thinks = body["thinking"]["type"] != "disabled";
    let choice = &body["tool_choice"];
    if accepted.thinks && (choice == "required" || choice.is_object()) {
        return Err(rules.refuse("deepseek.forced", &[("param", "tool_choice")]));
    }
    if body["response_format"]["type"] == "json_schema" {
        return Err(rules.refuse("deepseek.format", &[("param", "response_format")]));
    }
    let with_calls = items(&body["messages"])
        .iter()
        .filter(|message| !items(&message["tool_calls"]).is_empty());
    for message in with_calls {
        let id = text(&message["tool_calls"][0], "id");
        let reasoning = issued.reasoning(id);
        let is_same = reasoning.is_none_or(|reasoning| message["reasoning_content"] == *reasoning);
        if accepted.thinks && !(message["reasoning_content"].is_string() && is_same) {
            return Err(rules.refuse("deepseek.reasoning_content", &[("param", "messages")]));
        }
    }
    Ok(())
}

pub(super) fn check_llama_cpp(
    body: &Value,
    rules: &'static Rules,
    accepted: &mut Accepted,
) -> Check {
    let choice = &body["tool_choice"];
    if let Some(choice) = choice.as_str()
        && !["auto", "none", "required"].contains(&choice)
    {
        return Err(rules.refuse("llama_cpp.choice", &[("value", choice)]));
    }
    if choice.is_object() {
        accepted
            .effects
            .push(rules.effect("llama_cpp.choice_ignored"));
    }
    if accepted.wants_json && !accepted.tools.is_empty() {
        accepted.effects.push(rules.effect("llama_cpp.schema_wins"));
    }
    let last = items(&body["messages"]).last();
    if last.is_some_and(|message| message["role"] == "assistant") {
        return Err(rules.refuse("llama_cpp.prefill", &[]));
    }
    Ok(())
}

pub(super) fn check_vllm(body: &Value, rules: &'static Rules) -> Check {
    if body["tools"].as_array().is_some_and(Vec::is_empty) {
        return Err(rules.refuse("vllm.tools_empty", &[("param", "tools")]));
    }
    if has(body, "tool_choice") && body["tool_choice"] != "none" && body["tools"].is_null() {
        return Err(rules.refuse("vllm.choice_without_tools", &[("param", "tool_choice")]));
    }
    if body["tool_choice"]["type"] == "allowed_tools" {
        return Err(rules.refuse("vllm.allowed_tools", &[("param", "tool_choice")]));
    }
    if has(body, "stream_options") && body["stream"] != true {
        return Err(rules.refuse("chat.stream_options", &[("param", "stream_options")]));
    }
    Ok(())
}

pub(super) fn check_ollama(body: &Value, rules: &'static Rules, accepted: &mut Accepted) -> Check {
    let mut read = OLLAMA_FIELDS.to_vec();
    if has(body, "tool_choice") {
        accepted.effects.push(rules.effect("ollama.choice_ignored"));
        read.push("tool_choice");
    }
    if unknown_field(body, &read).is_some() {
        accepted.effects.push(rules.effect("ollama.ignored"));
    }
    let effort = &body["reasoning_effort"];
    let efforts = ["high", "medium", "low", "none", "max", "minimal", "xhigh"];
    if let Some(effort) = effort.as_str()
        && !efforts.contains(&effort)
    {
        return Err(rules.refuse("ollama.effort", &[("effort", effort)]));
    }
    for message in items(&body["messages"]) {
        let content = &message["content"];
        if content.is_null() && items(&message["tool_calls"]).is_empty() || content.is_object() {
            return Err(rules.refuse("ollama.content", &[("type", "<nil>")]));
        }
        for part in items(content) {
            let types = ["image/jpeg", "image/jpg", "image/png", "image/webp"];
            let url = part["image_url"]["url"]
                .as_str()
                .or(part["image_url"].as_str());
            if url.is_some_and(|url| !is_picture_url(url, &types)) {
                return Err(rules.refuse("ollama.image", &[]));
            }
        }
        for call in items(&message["tool_calls"]) {
            let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
            if serde_json::from_str::<serde_json::Map<String, Value>>(arguments).is_err() {
                return Err(rules.refuse("ollama.arguments", &[]));
            }
        }
    }
    Ok(())
}

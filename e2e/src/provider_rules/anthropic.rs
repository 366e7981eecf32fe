//! The Messages API of Anthropic.

mod messages;
mod rule;
mod signatures;

use serde_json::Value;

use super::fields::{has, is_name, items, text};
use super::request::{Accepted, ProviderRequest};
use super::schema::{self, Grammars};
use super::table::{Check, Rules};
use messages::{check_first_block, check_marks, check_messages, check_system};
use rule::{Rule, extra};
pub(crate) use signatures::IssuedThinking;

/// Checks a request.
pub(crate) fn check(request: &ProviderRequest<'_>, issued: &IssuedThinking) -> Check<Accepted> {
    let (rules, body) = (Rules::get(), request.body);
    let version = check_headers(request, rules)?;
    for field in ["model", "max_tokens", "messages"] {
        if !has(body, field) {
            return Err(rules.refuse("anthropic.required", &[("path", field)]));
        }
    }
    check_fields(request, rules)?;
    let name = text(body, "model");
    let model = rules.anthropic(name);
    let rule = (rules, model);
    if model.retired {
        return Err(rules.refuse("anthropic.retired", &[("model", name)]));
    }
    if body["stream"] != true {
        return Err(rules.refuse("mock.stream", &[]));
    }
    let limit = body["max_tokens"].as_u64().filter(|limit| *limit > 0);
    let Some(limit) = limit else {
        let values = [("path", "max_tokens"), ("type", "integer")];
        return Err(rules.refuse("anthropic.type", &values));
    };
    if limit > model.max_tokens {
        let (value, limit) = (limit.to_string(), model.max_tokens.to_string());
        let values = [("value", &*value), ("limit", &limit), ("model", name)];
        return Err(rules.refuse("anthropic.max_tokens", &values));
    }
    check_sampling(body, version, rule)?;
    let mut grammars = Grammars::default();
    let tools = check_tools(body, rules, &mut grammars)?;
    let effort = check_effort(body, rule)?;
    let (thinks, asked) = check_thinking(body, effort, limit, rule)?;
    let forced = check_choice(body, &tools, asked, rule)?;
    let wants_json = check_format(body, rules, &mut grammars)?;
    if grammars.are_too_complex() {
        return Err(rules.refuse("anthropic.schema_complex", &[]));
    }
    check_system(body, rules)?;
    check_messages(body, rule)?;
    check_marks(body, rules)?;
    if asked && body["thinking"]["type"] == "enabled" {
        check_first_block(body, rules)?;
    }
    let mut effects = Vec::new();
    issued.check(body, rule, &mut effects)?;
    let display = body["thinking"]["display"].as_str();
    Ok(Accepted {
        thinks: thinks && !forced,
        shows_thinking: display.map_or(model.summarized, |display| display == "summarized"),
        wants_json,
        tools,
        effects,
    })
}

fn check_headers(request: &ProviderRequest<'_>, rules: &'static Rules) -> Check<&'static str> {
    let key = request.header("x-api-key").or(request.bearer());
    if key.is_none_or(str::is_empty) {
        return Err(rules.refuse("anthropic.key", &[]));
    }
    match request.header("anthropic-version") {
        Some("2023-06-01") => Ok("2023-06-01"),
        Some("2026-10-21") => Ok("2026-10-21"),
        _ => Err(rules.refuse("anthropic.version", &[])),
    }
}

fn check_fields(request: &ProviderRequest<'_>, rules: &'static Rules) -> Check {
    const FIELDS: &[&str] = &[
        "model",
        "max_tokens",
        "messages",
        "system",
        "tools",
        "tool_choice",
        "thinking",
        "output_config",
        "cache_control",
        "stop_sequences",
        "stream",
        "metadata",
        "service_tier",
        "speed",
        "inference_geo",
        "container",
        "diagnostics",
        "temperature",
        "top_p",
        "top_k",
    ];
    const BETA: &[(&str, &str)] = &[
        ("context_management", "context-management-2025-06-27"),
        ("fallbacks", "server-side-fallback-2026-07-01"),
    ];
    let beta = request.headers.get_all("anthropic-beta").iter();
    let beta: Vec<_> = beta.filter_map(|value| value.to_str().ok()).collect();
    let beta = beta.join(",");
    let enabled = BETA.iter().filter(|(_, name)| beta.contains(name));
    let known: Vec<_> = FIELDS
        .iter()
        .copied()
        .chain(enabled.map(|(field, _)| *field))
        .collect();
    let body = request.body;
    extra(body, "", &known, rules)?;
    extra(&body["metadata"], "metadata.", &["user_id"], rules)?;
    let output = ["effort", "format"];
    extra(&body["output_config"], "output_config.", &output, rules)?;
    let thinking = &body["thinking"];
    let allowed: &[&str] = match text(thinking, "type") {
        "adaptive" => &["type", "display", "block_binding"],
        "enabled" => &["type", "display", "block_binding", "budget_tokens"],
        _ => &["type"],
    };
    extra(thinking, "thinking.", allowed, rules)?;
    if has(thinking, "block_binding") && !beta.contains("thinking-binding-controls-2026-08-01") {
        let path = [("path", "thinking.block_binding")];
        return Err(rules.refuse("anthropic.extra", &path));
    }
    Ok(())
}

fn check_sampling(body: &Value, version: &str, (rules, model): Rule<'_>) -> Check {
    let sent = ["temperature", "top_p", "top_k"].into_iter();
    let sent: Vec<_> = sent.filter(|field| has(body, field)).collect();
    let Some(field) = sent.first() else {
        return Ok(());
    };
    if version == "2026-10-21" {
        return Err(rules.refuse("anthropic.sampling_removed", &[("field", field)]));
    }
    if !model.sampling {
        return Err(rules.refuse("anthropic.sampling", &[("field", field)]));
    }
    if sent.starts_with(&["temperature", "top_p"]) {
        return Err(rules.refuse("anthropic.sampling_both", &[]));
    }
    Ok(())
}

fn check_tools(body: &Value, rules: &'static Rules, grammars: &mut Grammars) -> Check<Vec<String>> {
    const FIELDS: &[&str] = &[
        "name",
        "description",
        "input_schema",
        "type",
        "strict",
        "cache_control",
        "defer_loading",
        "eager_input_streaming",
        "input_examples",
        "allowed_callers",
    ];
    let mut names = Vec::new();
    for (index, tool) in items(&body["tools"]).iter().enumerate() {
        let path = format!("tools.{index}.custom");
        extra(tool, &format!("{path}."), FIELDS, rules)?;
        let name = text(tool, "name");
        if !is_name(name) {
            let path = format!("{path}.name");
            return Err(rules.refuse("anthropic.tool_name", &[("path", &path)]));
        }
        if names.iter().any(|known| known == name) {
            return Err(rules.refuse("anthropic.tool_names_unique", &[]));
        }
        names.push(name.to_owned());
        let schema = &tool["input_schema"];
        let path = format!("{path}.input_schema");
        if schema["type"] != "object" {
            let path = format!("{path}.type");
            return Err(rules.refuse("anthropic.required", &[("path", &path)]));
        }
        if ["oneOf", "allOf", "anyOf"]
            .iter()
            .any(|field| has(schema, field))
        {
            return Err(rules.refuse("anthropic.input_schema", &[("path", &path)]));
        }
        if !schema::property_names(schema).all(is_property_name) {
            return Err(rules.refuse("anthropic.property_name", &[("path", &path)]));
        }
        if tool["strict"] == true {
            grammars.strict_tools += 1;
            let added = grammars.add(schema);
            added.map_err(|detail| {
                rules.refuse("anthropic.schema", &[("path", &path), ("detail", &detail)])
            })?;
        }
    }
    Ok(names)
}

/// Returns whether a text is a name of a property of a tool.
fn is_property_name(name: &str) -> bool {
    let allowed = |char: char| char.is_ascii_alphanumeric() || "_.-".contains(char);
    (1..=64).contains(&name.len()) && name.chars().all(allowed)
}

fn check_effort<'a>(body: &'a Value, (rules, model): Rule<'_>) -> Check<&'a str> {
    let effort = text(&body["output_config"], "effort");
    if !has(&body["output_config"], "effort") {
        return Ok(effort);
    }
    if model.efforts.is_empty() {
        return Err(rules.refuse("anthropic.effort", &[]));
    }
    if !model.efforts.iter().any(|known| known == effort) {
        return Err(rules.refuse("anthropic.effort_value", &[("effort", effort)]));
    }
    Ok(effort)
}

/// Returns whether the model thinks, and whether the request asks for it.
fn check_thinking(
    body: &Value,
    effort: &str,
    limit: u64,
    (rules, model): Rule<'_>,
) -> Check<(bool, bool)> {
    let thinking = &body["thinking"];
    if thinking.is_null() {
        return Ok((model.thinks, false));
    }
    let kind = text(thinking, "type");
    if !model.thinking.iter().any(|known| known == kind) {
        let between = model.thinking.iter().any(|known| known == "between_tools");
        let id = match kind {
            "enabled" => "anthropic.thinking_enabled",
            "disabled" if between => "anthropic.thinking_disabled_between",
            "disabled" => "anthropic.thinking_disabled",
            "adaptive" => "anthropic.thinking_adaptive",
            "between_tools" => "anthropic.thinking_between_tools",
            _ => "anthropic.type",
        };
        return Err(rules.refuse(id, &[("path", "thinking"), ("type", "thinking type")]));
    }
    let is_limited = model.limited_to_high.iter().any(|known| known == kind);
    if is_limited && ["xhigh", "max"].contains(&effort) {
        let values = [("type", kind), ("effort", effort)];
        return Err(rules.refuse("anthropic.thinking_effort", &values));
    }
    if kind == "enabled" {
        let budget = thinking["budget_tokens"].as_u64().unwrap_or_default();
        if budget < 1024 {
            return Err(rules.refuse("anthropic.budget_minimum", &[]));
        }
        if budget >= limit {
            return Err(rules.refuse("anthropic.budget_maximum", &[]));
        }
    }
    // `between_tools` has no thinking before the answer.
    let thinks = ["adaptive", "enabled"].contains(&kind);
    Ok((thinks, thinks))
}

/// Returns whether a tool is forced.
fn check_choice(
    body: &Value,
    tools: &[String],
    asked_to_think: bool,
    (rules, model): Rule<'_>,
) -> Check<bool> {
    let choice = &body["tool_choice"];
    if choice.is_null() {
        return Ok(false);
    }
    let kind = text(choice, "type");
    let fields: &[&str] = match kind {
        "tool" => &["type", "name", "disable_parallel_tool_use"],
        "none" => &["type"],
        "auto" | "any" => &["type", "disable_parallel_tool_use"],
        _ => {
            let values = [("path", "tool_choice.type"), ("type", "tool choice")];
            return Err(rules.refuse("anthropic.type", &values));
        }
    };
    extra(choice, "tool_choice.", fields, rules)?;
    if tools.is_empty() {
        return Err(rules.refuse("anthropic.choice_without_tools", &[]));
    }
    if !["any", "tool"].contains(&kind) {
        return Ok(false);
    }
    match &*model.forced {
        "never" => return Err(rules.refuse("anthropic.forced", &[])),
        "unless-asked" if asked_to_think => {
            return Err(rules.refuse("anthropic.forced_thinking", &[]));
        }
        _ => {}
    }
    let name = text(choice, "name");
    if kind == "tool" && !tools.iter().any(|tool| tool == name) {
        return Err(rules.refuse("anthropic.choice_unknown", &[("name", name)]));
    }
    Ok(true)
}

fn check_format(body: &Value, rules: &'static Rules, grammars: &mut Grammars) -> Check<bool> {
    let format = &body["output_config"]["format"];
    if format.is_null() {
        return Ok(false);
    }
    extra(format, "output_config.format.", &["type", "schema"], rules)?;
    let path = "output_config.format.schema";
    if format["type"] != "json_schema" || !format["schema"].is_object() {
        return Err(rules.refuse("anthropic.required", &[("path", path)]));
    }
    let added = grammars.add(&format["schema"]);
    added.map_err(|detail| {
        rules.refuse("anthropic.schema", &[("path", path), ("detail", &detail)])
    })?;
    Ok(true)
}

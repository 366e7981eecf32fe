//! The Responses API of OpenAI.

mod input;

use serde_json::Value;

use super::fields::{has, items, text};
use super::openai::{
    check_cache, check_effort, check_format_name, check_function, check_key, check_sampling,
    check_strict, known,
};
use super::request::{Accepted, ProviderRequest};
use super::schema::openai_strict;
use super::table::{Check, OpenAiModel, Rules};
pub(crate) use input::IssuedItems;

/// Checks a request.
pub(crate) fn check(request: &ProviderRequest<'_>, issued: &IssuedItems) -> Check<Accepted> {
    const FIELDS: &[&str] = &[
        "access_programs",
        "background",
        "background_options",
        "context_management",
        "conversation",
        "image",
        "include",
        "input",
        "instructions",
        "max_output_tokens",
        "max_tool_calls",
        "metadata",
        "model",
        "moderation",
        "parallel_tool_calls",
        "previous_response_id",
        "prompt",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "reasoning",
        "safety_identifier",
        "service_tier",
        "store",
        "stream",
        "stream_options",
        "temperature",
        "text",
        "tool_choice",
        "tools",
        "top_logprobs",
        "top_p",
        "truncation",
        "user",
    ];
    let (rules, body) = (Rules::get(), request.body);
    check_key(request, rules)?;
    known(body, "", FIELDS, rules)?;
    for field in ["model", "input"] {
        if !has(body, field) {
            return Err(rules.refuse("openai.missing", &[("param", field)]));
        }
    }
    let name = text(body, "model");
    let model = rules.openai(name);
    if model.retired {
        return Err(rules.refuse("openai.model", &[("model", name)]));
    }
    if body["stream"] != true {
        return Err(rules.refuse("mock.stream", &[]));
    }
    let mut effects = Vec::new();
    known(
        &body["stream_options"],
        "stream_options.",
        &["include_obfuscation"],
        rules,
    )?;
    check_output_limit(body, model, rules)?;
    let effort = check_reasoning(body, model, rules)?;
    check_sampling(
        body,
        model,
        effort,
        &["temperature", "top_p", "top_logprobs"],
        rules,
    )?;
    check_cache(body, "input", model, rules, &mut effects)?;
    let tools = check_tools(body, rules, &mut effects)?;
    check_choice(body, &tools, rules)?;
    let wants_json = check_text(body, model, rules)?;
    check_include(body, model, rules)?;
    if model.drops_after_edit && has(body, "instructions") {
        effects.push(rules.effect("openai.instructions_last"));
    }
    issued.check(body, rules)?;
    if model.drops_after_edit && issued.are_edited(body) {
        effects.push(rules.effect("openai.reasoning_dropped"));
    }
    Ok(Accepted {
        thinks: model.reasoning && effort != "none",
        shows_thinking: has(&body["reasoning"], "summary"),
        wants_json,
        tools,
        effects,
    })
}

fn check_output_limit(body: &Value, model: &OpenAiModel, rules: &'static Rules) -> Check {
    let Some(value) = body["max_output_tokens"].as_u64() else {
        return Ok(());
    };
    let (given, limit) = (value.to_string(), model.max_output.to_string());
    let values = [
        ("param", "max_output_tokens"),
        ("value", &given),
        ("limit", &limit),
    ];
    if value < 16 {
        return Err(rules.refuse("responses.output_minimum", &values));
    }
    if value > model.max_output {
        return Err(rules.refuse("responses.output_maximum", &values));
    }
    Ok(())
}

/// Returns the effort with which the model reasons.
fn check_reasoning<'a>(
    body: &'a Value,
    model: &'a OpenAiModel,
    rules: &'static Rules,
) -> Check<&'a str> {
    let reasoning = &body["reasoning"];
    known(
        reasoning,
        "reasoning.",
        &["effort", "summary", "mode", "context", "generate_summary"],
        rules,
    )?;
    if reasoning.is_null() {
        return Ok(&model.default_effort);
    }
    if !model.reasoning {
        return Err(rules.refuse("openai.reasoning", &[("param", "reasoning.effort")]));
    }
    check_effort(&reasoning["effort"], "reasoning.effort", model, rules)?;
    Ok(reasoning["effort"]
        .as_str()
        .unwrap_or(&model.default_effort))
}

fn check_tools(
    body: &Value,
    rules: &'static Rules,
    effects: &mut Vec<&'static str>,
) -> Check<Vec<String>> {
    const FIELDS: &[&str] = &[
        "type",
        "name",
        "description",
        "parameters",
        "strict",
        "defer_loading",
        "async",
        "allowed_callers",
        "output_schema",
    ];
    let mut names = Vec::new();
    for (index, tool) in items(&body["tools"]).iter().enumerate() {
        let path = format!("tools[{index}].");
        if tool["type"] == "function" {
            known(tool, &path, FIELDS, rules)?;
        }
        let name = text(tool, "name");
        if name.is_empty() {
            let param = format!("{path}name");
            return Err(rules.refuse("openai.missing", &[("param", &param)]));
        }
        check_function(tool, &path, rules)?;
        // A namespace contains tools.
        for inner in items(&tool["tools"]) {
            check_function(inner, &path, rules)?;
        }
        // Leaving `strict` out is not the same as false.
        let is_loose = tool["strict"].is_null() && openai_strict(&tool["parameters"]).is_err();
        if is_loose && has(&tool["parameters"], "properties") {
            effects.push(rules.effect("openai.strict_normalised"));
        }
        names.push(name.to_owned());
    }
    effects.dedup();
    Ok(names)
}

fn check_choice(body: &Value, tools: &[String], rules: &'static Rules) -> Check {
    let choice = &body["tool_choice"];
    if choice.is_null() {
        return Ok(());
    }
    let values = [("param", "tool_choice")];
    if tools.is_empty() && choice != "none" && choice != "auto" {
        return Err(rules.refuse("openai.choice_without_tools", &values));
    }
    let names: Vec<&str> = match (choice.as_str(), text(choice, "type")) {
        (Some("none" | "auto" | "required"), _) => vec![],
        (None, "function") => {
            known(choice, "tool_choice.", &["type", "name"], rules)?;
            vec![text(choice, "name")]
        }
        (None, "allowed_tools") => {
            known(choice, "tool_choice.", &["type", "mode", "tools"], rules)?;
            items(&choice["tools"])
                .iter()
                .map(|tool| text(tool, "name"))
                .collect()
        }
        _ => {
            let value = choice.to_string();
            let supported = "'none', 'auto', and 'required'";
            let values = [values[0], ("value", &*value), ("supported", supported)];
            return Err(rules.refuse("openai.value", &values));
        }
    };
    match names
        .iter()
        .find(|name| !tools.iter().any(|tool| tool == *name))
    {
        Some(name) => Err(rules.refuse("openai.choice_unknown", &[values[0], ("name", name)])),
        None => Ok(()),
    }
}

fn check_text(body: &Value, model: &OpenAiModel, rules: &'static Rules) -> Check<bool> {
    known(&body["text"], "text.", &["format", "verbosity"], rules)?;
    let verbosity = text(&body["text"], "verbosity");
    if has(&body["text"], "verbosity") && verbosity != "medium" && !model.reasoning {
        let values = [("param", "text.verbosity"), ("value", verbosity)];
        return Err(rules.refuse("openai.verbosity", &values));
    }
    let format = &body["text"]["format"];
    match text(format, "type") {
        "json_schema" => {
            let fields = ["type", "name", "schema", "strict", "description"];
            known(format, "text.format.", &fields, rules)?;
            check_format_name(format, "text.format.name", rules)?;
            if format["strict"] == true {
                let what = format!("response_format '{}'", text(format, "name"));
                check_strict(&format["schema"], &what, "text.format.schema", rules)?;
            }
            Ok(true)
        }
        "json_object" => Ok(true),
        _ => Ok(false),
    }
}

fn check_include(body: &Value, model: &OpenAiModel, rules: &'static Rules) -> Check {
    let asks = items(&body["include"])
        .iter()
        .any(|item| item == "reasoning.encrypted_content");
    if asks && !model.reasoning {
        return Err(rules.refuse("responses.include_encrypted", &[("param", "include")]));
    }
    Ok(())
}

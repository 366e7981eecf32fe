//! `streamGenerateContent` of Gemini.

mod contents;
mod rule;

use serde_json::Value;

use super::fields::{has, items, text};
use super::request::{Accepted, ProviderRequest};
use super::schema::{
    any_schema, gemini_json_schema, has_ignored_keywords, openapi, root_keyword, sum_of_max_items,
};
use super::table::{Check, Rules};
pub(crate) use contents::IssuedSignatures;
use contents::{check_contents, check_turns};
use rule::{Rule, known};

/// Returns whether a model gives signatures, and ids to its calls.
pub(crate) fn has_signatures(model: &str) -> bool {
    Rules::get().gemini(model).signatures
}

/// Checks a request.
pub(crate) fn check(request: &ProviderRequest<'_>, issued: &IssuedSignatures) -> Check<Accepted> {
    const FIELDS: &[&str] = &[
        "contents",
        "systemInstruction",
        "tools",
        "toolConfig",
        "safetySettings",
        "generationConfig",
        "cachedContent",
        "serviceTier",
        "labels",
        "store",
        "continuationToken",
    ];
    const CONFIG: &[&str] = &[
        "temperature",
        "topP",
        "topK",
        "candidateCount",
        "maxOutputTokens",
        "stopSequences",
        "responseLogprobs",
        "logprobs",
        "presencePenalty",
        "frequencyPenalty",
        "seed",
        "responseMimeType",
        "responseSchema",
        "responseJsonSchema",
        "_responseJsonSchema",
        "responseFormat",
        "responseModalities",
        "mediaResolution",
        "speechConfig",
        "thinkingConfig",
        "imageConfig",
        "enableEnhancedCivicAnswers",
        "audioTranscriptionConfig",
        "translationConfig",
    ];
    let (rules, body) = (Rules::get(), &camel_case(request.body));
    let key = request.header("x-goog-api-key");
    if key.is_none_or(str::is_empty) && !request.path.contains("key=") {
        return Err(rules.refuse("gemini.key", &[]));
    }
    let name = request.model();
    let model = rules.gemini(name);
    let rule = (rules, model);
    if model.retired {
        return Err(rules.refuse("gemini.model", &[("model", name)]));
    }
    if !request.path.contains("alt=sse") {
        return Err(rules.refuse("mock.stream", &[]));
    }
    known(body, "", FIELDS, rules)?;
    let config = &body["generationConfig"];
    known(config, "generation_config", CONFIG, rules)?;
    if has(body, "cachedContent")
        && ["tools", "toolConfig", "systemInstruction"]
            .iter()
            .any(|field| has(body, field))
    {
        return Err(rules.refuse("gemini.cached_content", &[]));
    }
    let tools = check_tools(body, rules)?;
    let mode = check_config(body, &tools, rules)?;
    let wants_json = check_format(config, &mode, &tools, rule)?;
    let (thinks, shows_thinking) = check_thinking(&config["thinkingConfig"], rule)?;
    if name.starts_with("gemini-2.5")
        && (has(config, "presencePenalty") || has(config, "frequencyPenalty"))
    {
        return Err(rules.refuse("gemini.penalty", &[("model", name)]));
    }
    let mut effects = Vec::new();
    if model.sampling_ignored
        && ["temperature", "topP", "topK"]
            .iter()
            .any(|field| has(config, field))
    {
        effects.push(rules.effect("gemini.sampling_ignored"));
    }
    let functions = items(&body["tools"])
        .iter()
        .flat_map(|tool| items(&tool["functionDeclarations"]));
    let mut schemas = functions.map(|function| &function["parametersJsonSchema"]);
    if schemas.any(has_ignored_keywords) || has_ignored_keywords(&config["responseJsonSchema"]) {
        effects.push(rules.effect("gemini.schema_ignored"));
    }
    check_contents(body, rule)?;
    check_turns(body, rules)?;
    issued.check(body, rule)?;
    let last = items(&body["contents"]).last();
    if !model.prefill && last.is_some_and(|content| content["role"] == "model") {
        return Err(rules.refuse("gemini.model_turn", &[]));
    }
    Ok(Accepted {
        thinks,
        shows_thinking,
        wants_json,
        tools,
        effects,
    })
}

/// Returns a request with the names of its fields in camel case: both cases are accepted. Values that
/// are free JSON are left unchanged.
fn camel_case(value: &Value) -> Value {
    const FREE: &[&str] = &[
        "args",
        "response",
        "parameters",
        "parametersJsonSchema",
        "responseSchema",
        "responseJsonSchema",
        "labels",
    ];
    match value {
        Value::Object(object) => {
            let fields = object.iter().map(|(name, value)| {
                let words = name.split('_').filter(|word| !word.is_empty());
                let words = words.enumerate().map(|(index, word)| match word.get(..1) {
                    Some(first) if index > 0 => first.to_uppercase() + &word[1..],
                    _ => word.to_owned(),
                });
                let name = words.collect::<String>();
                let is_free = FREE.contains(&&*name);
                let value = if is_free {
                    value.clone()
                } else {
                    camel_case(value)
                };
                (name, value)
            });
            Value::Object(fields.collect())
        }
        Value::Array(items) => items.iter().map(camel_case).collect(),
        other => other.clone(),
    }
}

fn check_tools(body: &Value, rules: &'static Rules) -> Check<Vec<String>> {
    const TOOLS: &[&str] = &[
        "functionDeclarations",
        "googleSearch",
        "urlContext",
        "codeExecution",
        "fileSearch",
        "googleMaps",
        "computerUse",
        "mcpServers",
    ];
    const FIELDS: &[&str] = &[
        "name",
        "description",
        "parameters",
        "parametersJsonSchema",
        "response",
        "responseJsonSchema",
        "behavior",
    ];
    let mut names = Vec::new();
    for (tool_index, tool) in items(&body["tools"]).iter().enumerate() {
        known(tool, &format!("tools[{tool_index}]"), TOOLS, rules)?;
        for (index, function) in items(&tool["functionDeclarations"]).iter().enumerate() {
            let path = format!("tools[{tool_index}].function_declarations[{index}]");
            known(function, &path, FIELDS, rules)?;
            let name = text(function, "name");
            let starts = name.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_');
            let allowed = |char: char| char.is_ascii_alphanumeric() || "_.:-".contains(char);
            if !starts || name.len() > 128 || !name.chars().all(allowed) {
                let index = index.to_string();
                return Err(rules.refuse("gemini.tool_name", &[("index", &index)]));
            }
            names.push(name.to_owned());
            check_schemas(function, "parameters", "parametersJsonSchema", &path, rules)?;
            for field in ["parameters", "parametersJsonSchema"] {
                check_parameters(&function[field], name, &format!("{path}.{field}"), rules)?;
            }
        }
    }
    Ok(names)
}

fn check_schemas(
    object: &Value,
    one: &str,
    other: &str,
    path: &str,
    rules: &'static Rules,
) -> Check {
    if has(object, one) && has(object, other) {
        return Err(rules.refuse("gemini.both_schemas", &[("one", one), ("other", other)]));
    }
    if has(object, one) {
        let checked = openapi(&object[one], &format!("{path}.{one}"));
        checked.map_err(|(name, path)| {
            rules.refuse("gemini.schema", &[("name", &name), ("path", &path)])
        })?;
    }
    if has(object, other) {
        let checked = gemini_json_schema(&object[other], &format!("{path}.{other}"));
        checked.map_err(|(name, path)| {
            rules.refuse("gemini.json_schema", &[("name", &name), ("path", &path)])
        })?;
    }
    if sum_of_max_items(&object[one]) + sum_of_max_items(&object[other]) > 960 {
        return Err(rules.refuse("gemini.max_items", &[]));
    }
    Ok(())
}

/// Checks what is refused in the schema of a function only.
fn check_parameters(schema: &Value, name: &str, path: &str, rules: &'static Rules) -> Check {
    let requires_unknown = |schema: &Value| {
        let mut required = items(&schema["required"]).iter().filter_map(Value::as_str);
        required.any(|name| !has(&schema["properties"], name))
    };
    let has_open_api_field = |schema: &Value| has(schema, "nullable") || has(schema, "example");
    let id = if root_keyword(schema, &["anyOf", "oneOf", "allOf"]) {
        "gemini.root_union"
    } else if any_schema(schema, &|schema| schema["type"].is_array()) {
        "gemini.type_list"
    } else if any_schema(schema, &requires_unknown) {
        "gemini.required_unknown"
    } else if path.ends_with("parametersJsonSchema") && any_schema(schema, &has_open_api_field) {
        "mock.open_api_field"
    } else {
        return Ok(());
    };
    Err(rules.refuse(id, &[("name", name), ("path", path)]))
}

/// Returns the mode of function calls.
fn check_config(body: &Value, tools: &[String], rules: &'static Rules) -> Check<String> {
    known(
        &body["toolConfig"],
        "tool_config",
        &[
            "functionCallingConfig",
            "retrievalConfig",
            "includeServerSideToolInvocations",
        ],
        rules,
    )?;
    let config = &body["toolConfig"]["functionCallingConfig"];
    known(
        config,
        "tool_config.function_calling_config",
        &["mode", "allowedFunctionNames"],
        rules,
    )?;
    let mode = text(config, "mode").to_owned();
    if config.is_null() {
        return Ok(mode);
    }
    if tools.is_empty() {
        return Err(rules.refuse("gemini.config_without_tools", &[]));
    }
    let names = items(&config["allowedFunctionNames"]);
    if !names.is_empty() && !["ANY", "VALIDATED"].contains(&&*mode) {
        return Err(rules.refuse("gemini.allowed_names", &[]));
    }
    let names = names.iter().filter_map(Value::as_str);
    let mut unknown = names.filter(|name| !tools.iter().any(|tool| tool == name));
    match unknown.next() {
        Some(name) => Err(rules.refuse("gemini.allowed_unknown", &[("name", name)])),
        None => Ok(mode),
    }
}

fn check_format(
    config: &Value,
    mode: &str,
    tools: &[String],
    (rules, model): Rule<'_>,
) -> Check<bool> {
    let is_json = config["responseMimeType"] == "application/json";
    let has_schema = [
        "responseSchema",
        "responseJsonSchema",
        "_responseJsonSchema",
    ];
    if has_schema.iter().any(|field| has(config, field)) && !is_json {
        return Err(rules.refuse("gemini.mime_required", &[]));
    }
    check_schemas(
        config,
        "responseSchema",
        "responseJsonSchema",
        "generation_config",
        rules,
    )?;
    if is_json && mode == "ANY" {
        return Err(rules.refuse("gemini.forced_json", &[]));
    }
    if is_json && !tools.is_empty() && !model.json_with_tools {
        return Err(rules.refuse("gemini.tools_json", &[]));
    }
    Ok(is_json)
}

/// Returns whether the model thinks, and whether it shows that.
fn check_thinking(config: &Value, (rules, model): Rule<'_>) -> Check<(bool, bool)> {
    known(
        config,
        "generation_config.thinking_config",
        &["includeThoughts", "thinkingBudget", "thinkingLevel"],
        rules,
    )?;
    let shows = config["includeThoughts"] == true;
    if config.is_null() {
        return Ok((model.signatures, false));
    }
    if model.levels.is_empty() && model.budget.is_none() {
        return Err(rules.refuse("gemini.thinking_unknown", &[]));
    }
    let (level, budget) = (&config["thinkingLevel"], &config["thinkingBudget"]);
    if !level.is_null() && !budget.is_null() {
        return Err(rules.refuse("gemini.level_and_budget", &[]));
    }
    if let Some(level) = level.as_str() {
        let level = level.to_uppercase();
        if model.levels.is_empty() {
            return Err(rules.refuse("gemini.level_unsupported", &[]));
        }
        if !model.levels.contains(&level) {
            return Err(rules.refuse("gemini.level", &[("level", &level)]));
        }
    }
    let Some(budget) = budget.as_i64() else {
        return Ok((true, shows));
    };
    let Some([min, max]) = model.budget else {
        return Err(rules.refuse("gemini.budget_unsupported", &[]));
    };
    if budget == 0 && !model.budget_zero && min > 0 {
        return Err(rules.refuse("gemini.budget_zero", &[]));
    }
    if budget != -1 && budget != 0 && !(min..=max).contains(&budget) {
        let (budget, min, max) = (budget.to_string(), min.to_string(), max.to_string());
        let values = [("budget", &*budget), ("min", &*min), ("max", &*max)];
        return Err(rules.refuse("gemini.budget", &values));
    }
    Ok((budget != 0, shows))
}

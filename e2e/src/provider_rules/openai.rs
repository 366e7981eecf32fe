//! The checks that the APIs of OpenAI share.

use serde_json::Value;

use super::fields::{has, is_name, text, unknown_field};
use super::request::ProviderRequest;
use super::schema::{openai_strict, root_keyword};
use super::table::{Check, OpenAiModel, Rules};

pub(super) const PICTURES: &[&str] = &["image/jpeg", "image/png", "image/gif", "image/webp"];

/// Checks the key of OpenAI's APIs.
pub(super) fn check_key(request: &ProviderRequest<'_>, rules: &'static Rules) -> Check {
    let missing = || rules.refuse("openai.key", &[]);
    request.bearer().map(|_| ()).ok_or_else(missing)
}

/// Checks that an object has no other fields.
pub(super) fn known(value: &Value, path: &str, fields: &[&str], rules: &'static Rules) -> Check {
    let Some(field) = unknown_field(value, fields) else {
        return Ok(());
    };
    let param = format!("{path}{field}");
    Err(rules.refuse("openai.unknown", &[("param", &param)]))
}

/// Checks that a model has an effort, if one is sent.
pub(super) fn check_effort(
    effort: &Value,
    param: &str,
    model: &OpenAiModel,
    rules: &'static Rules,
) -> Check {
    let Some(effort) = effort.as_str() else {
        return Ok(());
    };
    if model.efforts.iter().any(|known| known == effort) {
        return Ok(());
    }
    let supported: Vec<_> = model
        .efforts
        .iter()
        .map(|effort| format!("'{effort}'"))
        .collect();
    let values = [
        ("param", param),
        ("effort", effort),
        ("supported", &supported.join(", ")),
    ];
    Err(rules.refuse("openai.effort", &values))
}

/// Checks parameters of sampling.
pub(super) fn check_sampling(
    body: &Value,
    model: &OpenAiModel,
    effort: &str,
    fields: &[&str],
    rules: &'static Rules,
) -> Check {
    let is_allowed = match &*model.sampling {
        "always" => true,
        "effort-none" => effort == "none",
        _ => false,
    };
    match fields.iter().find(|field| has(body, field)) {
        Some(field) if !is_allowed => Err(rules.refuse("openai.sampling", &[("param", field)])),
        _ => Ok(()),
    }
}

/// Checks marks and options of the cache.
pub(super) fn check_cache(
    body: &Value,
    messages: &str,
    model: &OpenAiModel,
    rules: &'static Rules,
    effects: &mut Vec<&'static str>,
) -> Check {
    let has_marks = body[messages]
        .to_string()
        .contains("\"prompt_cache_breakpoint\"");
    let options = &body["prompt_cache_options"];
    for (is_sent, param) in [
        (!options.is_null(), "prompt_cache_options"),
        (has_marks, "prompt_cache_breakpoint"),
    ] {
        if is_sent && !model.breakpoints {
            return Err(rules.refuse("openai.breakpoints", &[("param", param)]));
        }
    }
    let allowed = ["mode", "ttl", "prewarm", "comparison_response_id"];
    known(options, "prompt_cache_options.", &allowed, rules)?;
    if has(body, "prompt_cache_retention") && model.breakpoints {
        return Err(rules.refuse("openai.retention", &[("param", "prompt_cache_retention")]));
    }
    if options["mode"] == "explicit" && !has_marks {
        effects.push(rules.effect("openai.cache_off"));
    }
    Ok(())
}

/// Checks the name and the parameters of a function.
pub(super) fn check_function(function: &Value, path: &str, rules: &'static Rules) -> Check {
    let name = text(function, "name");
    if !is_name(name) {
        let param = format!("{path}name");
        return Err(rules.refuse("openai.tool_name", &[("param", &param)]));
    }
    let param = format!("{path}parameters");
    let schema = &function["parameters"];
    if !schema.is_null() && schema["type"] != "object" {
        let kind = schema["type"].as_str().unwrap_or("None");
        let values = [("param", &*param), ("name", name), ("type", kind)];
        return Err(rules.refuse("openai.parameters", &values));
    }
    if root_keyword(schema, &["oneOf", "anyOf", "allOf", "enum", "not"]) {
        let values = [("param", &*param), ("name", name)];
        return Err(rules.refuse("openai.root_union", &values));
    }
    if function["strict"] == true {
        let what = format!("function '{name}'");
        return check_strict(schema, &what, &param, rules);
    }
    Ok(())
}

/// Checks a schema of strict mode.
pub(super) fn check_strict(
    schema: &Value,
    what: &str,
    param: &str,
    rules: &'static Rules,
) -> Check {
    openai_strict(schema).map_err(|detail| {
        let values = [
            ("param", param),
            ("what", what),
            ("context", "()"),
            ("detail", &detail),
        ];
        rules.refuse("openai.strict", &values)
    })
}

/// Checks the name of a format.
pub(super) fn check_format_name(format: &Value, param: &str, rules: &'static Rules) -> Check {
    if !has(format, "name") {
        return Err(rules.refuse("openai.missing", &[("param", param)]));
    }
    if !is_name(text(format, "name")) {
        return Err(rules.refuse("openai.tool_name", &[("param", param)]));
    }
    Ok(())
}

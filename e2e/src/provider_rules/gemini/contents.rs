//! The contents of a request: their parts, pairs of calls and responses, and signatures.

use serde_json::Value;

use super::super::fields::{has, is_base64, items, text};
use super::super::table::{Check, Rules};
use super::rule::{Rule, known};

/// The signatures that the provider has issued.
#[derive(Debug, Default)]
pub(crate) struct IssuedSignatures(Vec<String>);

/// The documented placeholders, plain and as base64.
const PLACEHOLDERS: &[&str] = &[
    "skip_thought_signature_validator",
    "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=",
    "context_engineering_is_the_way_to_go",
    "Y29udGV4dF9lbmdpbmVlcmluZ19pc190aGVfd2F5X3RvX2dv",
];

impl IssuedSignatures {
    /// Adds a signature.
    pub(crate) fn add(&mut self, signature: &str) {
        self.0.push(signature.to_owned());
    }

    /// Checks the signatures of a request.
    pub(super) fn check(&self, body: &Value, (rules, model): Rule<'_>) -> Check {
        let contents = items(&body["contents"]);
        for part in contents.iter().flat_map(|content| items(&content["parts"])) {
            let Some(signature) = part["thoughtSignature"].as_str() else {
                continue;
            };
            let is_known = self.0.iter().any(|known| known == signature);
            if !is_known && !PLACEHOLDERS.contains(&signature) {
                return Err(rules.refuse("gemini.signature_foreign", &[]));
            }
        }
        if !model.signatures {
            return Ok(());
        }
        // The turn that is checked begins with the last content of the user that is not a result.
        let is_prompt = |content: &Value| {
            content["role"] != "model" && parts_of(content, "functionResponse").is_empty()
        };
        let start = contents.iter().rposition(is_prompt).unwrap_or_default();
        for (index, content) in contents.iter().enumerate().skip(start) {
            let parts = items(&content["parts"]);
            let call = parts.iter().position(|part| has(part, "functionCall"));
            let Some(call) = call.filter(|call| !has(&parts[*call], "thoughtSignature")) else {
                continue;
            };
            let position = (index + 1).to_string();
            let name = text(&parts[call]["functionCall"], "name");
            let values = [("name", name), ("position", &position)];
            return Err(rules.refuse("gemini.signature_missing", &values));
        }
        Ok(())
    }
}

pub(super) fn check_contents(body: &Value, (rules, model): Rule<'_>) -> Check {
    const DATA: &[&str] = &[
        "text",
        "inlineData",
        "fileData",
        "functionCall",
        "functionResponse",
        "executableCode",
        "codeExecutionResult",
        "toolCall",
        "toolResponse",
    ];
    const BESIDE: &[&str] = &[
        "thought",
        "thoughtSignature",
        "mediaResolution",
        "videoMetadata",
        "mediaProcessing",
        "partMetadata",
        "speechMetadata",
    ];
    let contents = items(&body["contents"]);
    if contents.is_empty() {
        return Err(rules.refuse("gemini.contents", &[]));
    }
    known(
        &body["systemInstruction"],
        "system_instruction",
        &["role", "parts"],
        rules,
    )?;
    let fields: Vec<_> = DATA.iter().chain(BESIDE).copied().collect();
    for (index, content) in contents.iter().enumerate() {
        known(
            content,
            &format!("contents[{index}]"),
            &["role", "parts"],
            rules,
        )?;
        if has(content, "role") && !["user", "model"].contains(&text(content, "role")) {
            return Err(rules.refuse("gemini.role", &[]));
        }
        let place = index.to_string();
        let parts = items(&content["parts"]);
        if parts.is_empty() {
            return Err(rules.refuse("gemini.empty_part", &[("index", &place)]));
        }
        for (number, part) in parts.iter().enumerate() {
            let path = format!("contents[{index}].parts[{number}]");
            let number = number.to_string();
            let values = [("index", &*place), ("part", &*number)];
            known(part, &path, &fields, rules)?;
            let data = DATA.iter().filter(|field| has(part, field)).count();
            let is_empty = data == 0 || part["text"] == "" && !has(part, "thoughtSignature");
            if is_empty {
                return Err(rules.refuse("gemini.empty_part", &values[..1]));
            }
            if data > 1 {
                return Err(rules.refuse("gemini.part_data", &values));
            }
            check_part(part, &path, &values, (rules, model))?;
        }
    }
    Ok(())
}

fn check_part(
    part: &Value,
    path: &str,
    values: &[(&str, &str)],
    (rules, model): Rule<'_>,
) -> Check {
    let inline = &part["inlineData"];
    known(
        inline,
        &format!("{path}.inline_data"),
        &["mimeType", "data", "displayName"],
        rules,
    )?;
    if !inline.is_null() && !is_base64(text(inline, "data")) {
        return Err(rules.refuse("gemini.unknown", &[("name", "data"), ("path", path)]));
    }
    let call = &part["functionCall"];
    known(
        call,
        &format!("{path}.function_call"),
        &["id", "name", "args"],
        rules,
    )?;
    if has(call, "args") && !call["args"].is_object() {
        return Err(rules.refuse("gemini.args_object", values));
    }
    let response = &part["functionResponse"];
    if response.is_null() {
        return Ok(());
    }
    known(
        response,
        &format!("{path}.function_response"),
        &[
            "id",
            "name",
            "response",
            "parts",
            "scheduling",
            "willContinue",
        ],
        rules,
    )?;
    if !response["response"].is_object() {
        return Err(rules.refuse("gemini.response_object", values));
    }
    if response["response"].to_string().contains("\"$ref\":") {
        return Err(rules.refuse("gemini.response_ref", &[]));
    }
    if has(response, "parts") && !model.media_in_results {
        return Err(rules.refuse("gemini.response_media", &[]));
    }
    Ok(())
}

/// Returns the function calls or responses of a content.
fn parts_of<'a>(content: &'a Value, field: &str) -> Vec<&'a Value> {
    let parts = items(&content["parts"]).iter();
    parts
        .map(|part| &part[field])
        .filter(|value| !value.is_null())
        .collect()
}

pub(super) fn check_turns(body: &Value, rules: &'static Rules) -> Check {
    let contents = items(&body["contents"]);
    if contents[0]["role"] == "model" {
        return Err(rules.refuse("gemini.call_turn", &[]));
    }
    for (index, content) in contents.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| &contents[before]);
        let calls = parts_of(content, "functionCall");
        let responses = parts_of(content, "functionResponse");
        if !calls.is_empty() {
            if before.is_none_or(|before| before["role"] == "model") {
                return Err(rules.refuse("gemini.call_turn", &[]));
            }
            let next = contents.get(index + 1);
            let answers = next
                .map(|next| parts_of(next, "functionResponse"))
                .unwrap_or_default();
            if answers.len() != calls.len() {
                return Err(rules.refuse("gemini.response_count", &[]));
            }
            for call in &calls {
                let matches = |answer: &&&Value| {
                    let same_id = !has(call, "id") || answer["id"] == call["id"];
                    same_id && answer["name"] == call["name"]
                };
                if !answers.iter().any(|answer| matches(&answer)) {
                    let values = [
                        ("name", text(answers[0], "name")),
                        ("call", text(call, "name")),
                    ];
                    return Err(rules.refuse("gemini.response_name", &values));
                }
            }
        }
        let has_calls_before =
            before.is_some_and(|before| !parts_of(before, "functionCall").is_empty());
        if !responses.is_empty() && !has_calls_before {
            return Err(rules.refuse("gemini.response_turn", &[]));
        }
    }
    Ok(())
}

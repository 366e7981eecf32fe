//! The items of the input, some of which the provider has issued.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::super::fields::{has, is_picture_url, items, text, without};
use super::super::openai::{PICTURES, known};
use super::super::table::{Check, Rules};

/// The items that the provider has issued.
#[derive(Debug, Default)]
pub(crate) struct IssuedItems {
    reasoning: Vec<IssuedReasoning>,
    /// Ids of items, with the reasoning item that came before each.
    followers: HashMap<String, String>,
}

#[derive(Debug)]
struct IssuedReasoning {
    encrypted: String,
    /// Tools, format and input for which it was issued.
    prefix: Value,
}

impl IssuedItems {
    /// Adds the last item of an answer to a request.
    pub(crate) fn add(&mut self, body: &Value, output: &[Value]) {
        let Some((item, before)) = output.split_last() else {
            return;
        };
        if item["type"] == "reasoning" {
            let mut body = body.clone();
            if let Some(prompt) = body["input"].as_str() {
                body["input"] = json!([{ "role": "user", "content": prompt }]);
            }
            let input = body["input"].as_array_mut().expect("it was checked");
            input.extend(before.iter().cloned());
            let end = input.len();
            self.reasoning.push(IssuedReasoning {
                encrypted: text(item, "encrypted_content").to_owned(),
                prefix: prefix(&body, end),
            });
        } else if let Some(reasoning) = before.last().filter(|it| it["type"] == "reasoning") {
            // Only the item that follows directly requires the reasoning.
            let (id, reasoning) = (text(item, "id"), text(reasoning, "id"));
            self.followers.insert(id.to_owned(), reasoning.to_owned());
        }
    }

    /// Checks the items of the input.
    pub(super) fn check(&self, body: &Value, rules: &'static Rules) -> Check {
        let input = items(&body["input"]);
        let calls = |kind: &'static str| {
            let found = input.iter().filter(move |item| item["type"] == kind);
            found.map(|item| text(item, "call_id"))
        };
        for (index, item) in input.iter().enumerate() {
            let path = format!("input[{index}]");
            let id = text(item, "id");
            match text(item, "type") {
                "message" | "" => check_message(item, &path, rules)?,
                "function_call" => {
                    let fields = [
                        "type",
                        "call_id",
                        "name",
                        "arguments",
                        "id",
                        "status",
                        "namespace",
                        "async",
                        "caller",
                    ];
                    known(item, &format!("{path}."), &fields, rules)?;
                    let param = format!("{path}.arguments");
                    if !item["arguments"].is_string() {
                        return Err(rules.refuse("responses.arguments", &[("param", &param)]));
                    }
                    check_id(id, "fc", &path, rules)?;
                    let call = text(item, "call_id");
                    let answered = |earlier: &Value| {
                        earlier["type"] == "function_call_output" && earlier["call_id"] == call
                    };
                    if !input[index + 1..].iter().any(answered) {
                        return Err(rules
                            .refuse("responses.open_call", &[("param", "input"), ("id", call)]));
                    }
                }
                "function_call_output" => {
                    known(
                        item,
                        &format!("{path}."),
                        &["type", "call_id", "output", "id", "status"],
                        rules,
                    )?;
                    let call = text(item, "call_id");
                    if !calls("function_call").any(|known| known == call) {
                        let values = [("param", "input"), ("id", call)];
                        return Err(rules.refuse("responses.orphan_output", &values));
                    }
                    let param = format!("{path}.output");
                    if !has(item, "output") {
                        return Err(rules.refuse("openai.missing", &[("param", &param)]));
                    }
                    check_parts(&item["output"], &param, false, rules)?;
                }
                "reasoning" => self.check_reasoning(body, index, rules)?,
                kind => {
                    let values = [
                        ("param", &*path),
                        ("value", kind),
                        (
                            "supported",
                            "'message', 'function_call', 'function_call_output', 'reasoning' …",
                        ),
                    ];
                    return Err(rules.refuse("openai.value", &values));
                }
            }
            let required = self.followers.get(id);
            let previous = index.checked_sub(1).map(|place| text(&input[place], "id"));
            if let Some(required) = required
                && previous != Some(required)
                && !input[..index]
                    .iter()
                    .any(|item| text(item, "id") == required)
            {
                let kind = text(item, "type");
                let values = [
                    ("param", "input"),
                    ("id", id),
                    ("type", kind),
                    ("reasoning", required),
                ];
                return Err(rules.refuse("responses.reasoning_missing", &values));
            }
        }
        Ok(())
    }

    fn check_reasoning(&self, body: &Value, index: usize, rules: &'static Rules) -> Check {
        let input = items(&body["input"]);
        let (item, path) = (&input[index], format!("input[{index}]"));
        let fields = [
            "type",
            "id",
            "summary",
            "content",
            "encrypted_content",
            "status",
        ];
        known(item, &format!("{path}."), &fields, rules)?;
        let id = text(item, "id");
        check_id(id, "rs", &path, rules)?;
        let param = format!("{path}.summary");
        if !item["summary"].is_array() {
            return Err(rules.refuse("openai.missing", &[("param", &param)]));
        }
        if !items(&item["content"]).is_empty() {
            let param = format!("{path}.content");
            return Err(rules.refuse("responses.reasoning_content", &[("param", &param)]));
        }
        let encrypted = text(item, "encrypted_content");
        if encrypted.is_empty() && body["store"] == false {
            return Err(rules.refuse("responses.item_missing", &[("param", "input"), ("id", id)]));
        }
        if !encrypted.is_empty() && self.reasoning(encrypted).is_none() {
            let start: String = encrypted.chars().take(4).collect();
            let values = [("param", "input"), ("start", &*start)];
            return Err(rules.refuse("responses.encrypted", &values));
        }
        let is_follower = |item: &Value| {
            let of_assistant =
                item["role"] == "assistant" && ["", "message"].contains(&text(item, "type"));
            of_assistant || ["function_call", "reasoning"].contains(&text(item, "type"))
        };
        if !input.get(index + 1).is_some_and(is_follower) {
            return Err(rules.refuse(
                "responses.reasoning_alone",
                &[("param", "input"), ("id", id)],
            ));
        }
        Ok(())
    }

    /// Returns whether anything before a reasoning item changed since it was issued.
    pub(super) fn are_edited(&self, body: &Value) -> bool {
        let input = items(&body["input"]).iter().enumerate();
        let mut reasoning = input.filter(|(_, item)| item["type"] == "reasoning");
        reasoning.any(|(index, item)| {
            let issued = self.reasoning(text(item, "encrypted_content"));
            issued.is_some_and(|issued| issued.prefix != prefix(body, index))
        })
    }

    fn reasoning(&self, encrypted: &str) -> Option<&IssuedReasoning> {
        let mut reasoning = self.reasoning.iter();
        reasoning.find(|issued| issued.encrypted == encrypted)
    }
}

fn check_id(id: &str, prefix: &str, path: &str, rules: &'static Rules) -> Check {
    if id.is_empty() || id.starts_with(prefix) {
        return Ok(());
    }
    let param = format!("{path}.id");
    let values = [("param", &*param), ("id", id), ("prefix", prefix)];
    Err(rules.refuse("responses.item_id", &values))
}

fn check_message(item: &Value, path: &str, rules: &'static Rules) -> Check {
    known(
        item,
        &format!("{path}."),
        &["type", "role", "content", "id", "status", "phase"],
        rules,
    )?;
    let role = text(item, "role");
    let param = format!("{path}.role");
    if !["user", "system", "developer", "assistant"].contains(&role) {
        let values = [
            ("param", &*param),
            ("value", role),
            (
                "supported",
                "'assistant', 'system', 'developer', and 'user'",
            ),
        ];
        return Err(rules.refuse("openai.value", &values));
    }
    let param = format!("{path}.content");
    if !has(item, "content") {
        return Err(rules.refuse("openai.missing", &[("param", &param)]));
    }
    if role == "assistant" {
        check_id(text(item, "id"), "msg", path, rules)?;
    }
    check_parts(&item["content"], &param, role == "assistant", rules)
}

fn check_parts(content: &Value, path: &str, of_assistant: bool, rules: &'static Rules) -> Check {
    for (index, part) in items(content).iter().enumerate() {
        let path = format!("{path}[{index}]");
        let kind = text(part, "type");
        let (fields, required): (&[&str], &str) = match (kind, of_assistant) {
            ("input_text", false) => (&["type", "text", "prompt_cache_breakpoint"], "text"),
            ("input_image", false) => (
                &[
                    "type",
                    "detail",
                    "image_url",
                    "file_id",
                    "prompt_cache_breakpoint",
                ],
                "image_url",
            ),
            ("input_file", false) => (
                &[
                    "type",
                    "file_data",
                    "file_id",
                    "file_url",
                    "filename",
                    "detail",
                    "prompt_cache_breakpoint",
                ],
                "file_data",
            ),
            ("output_text", true) => (&["type", "text", "annotations", "logprobs"], "text"),
            ("refusal", true) => (&["type", "refusal"], "refusal"),
            _ => {
                let supported = if of_assistant {
                    "'output_text' and 'refusal'"
                } else {
                    "'input_text', 'input_image', and 'input_file'"
                };
                let values = [("param", &*path), ("value", kind), ("supported", supported)];
                return Err(rules.refuse("openai.value", &values));
            }
        };
        known(part, &format!("{path}."), fields, rules)?;
        let param = format!("{path}.{required}");
        if !has(part, required) {
            return Err(rules.refuse("openai.missing", &[("param", &param)]));
        }
        let url = text(part, "image_url");
        if url.starts_with("data:") && !is_picture_url(url, PICTURES) {
            return Err(rules.refuse("openai.image", &[("param", &param)]));
        }
    }
    Ok(())
}

fn prefix(body: &Value, end: usize) -> Value {
    let input = &items(&body["input"])[..end];
    let prefix =
        json!({ "tools": body["tools"], "format": body["text"]["format"], "input": input });
    without(&prefix, "prompt_cache_breakpoint")
}

//! The messages of a request: their roles, blocks, pairs of calls and results, and marks of the cache.

use std::collections::HashSet;

use serde_json::Value;

use super::super::fields::{has, is_base64, items, text, unknown_field};
use super::super::table::{Check, Rules};
use super::rule::{Rule, extra};

pub(super) fn check_system(body: &Value, rules: &'static Rules) -> Check {
    for (index, block) in items(&body["system"]).iter().enumerate() {
        let path = format!("system.{index}.");
        extra(
            block,
            &path,
            &["type", "text", "cache_control", "citations"],
            rules,
        )?;
        if text(block, "text").is_empty() {
            return Err(rules.refuse("anthropic.empty_text", &[]));
        }
    }
    Ok(())
}

pub(super) fn check_messages(body: &Value, (rules, model): Rule<'_>) -> Check {
    let messages = items(&body["messages"]);
    if messages.is_empty() || messages[0]["role"] != "user" {
        return Err(rules.refuse("anthropic.first_message", &[]));
    }
    for (index, message) in messages.iter().enumerate() {
        let path = format!("messages.{index}.");
        extra(message, &path, &["role", "content"], rules)?;
        let role = text(message, "role");
        if role == "system" && !model.system_role {
            return Err(rules.refuse("anthropic.system_role", &[]));
        }
        if !["user", "assistant", "system"].contains(&role) {
            let path = format!("{path}role");
            let values = [("path", &*path), ("type", "role")];
            return Err(rules.refuse("anthropic.type", &values));
        }
        let place = index.to_string();
        let content = &message["content"];
        if content.as_str() == Some("") || content.as_array().is_some_and(Vec::is_empty) {
            return Err(rules.refuse("anthropic.empty_message", &[("index", &place)]));
        }
        for (block, content) in items(content).iter().enumerate() {
            check_block(content, &format!("{path}content.{block}"), role, rules)?;
        }
    }
    check_pairs(messages, rules)?;
    let last = messages.last().expect("there is a message");
    if last["role"] == "assistant" && !model.prefill {
        return Err(rules.refuse("anthropic.prefill", &[]));
    }
    Ok(())
}

fn check_block(block: &Value, path: &str, role: &str, rules: &'static Rules) -> Check {
    let kind = text(block, "type");
    let fields: &[&str] = match kind {
        "text" => &["type", "text", "cache_control", "citations"],
        "image" => &["type", "source", "cache_control", "transformations"],
        "document" => &[
            "type",
            "source",
            "cache_control",
            "title",
            "context",
            "citations",
        ],
        "thinking" => &["type", "thinking", "signature"],
        "redacted_thinking" => &["type", "data"],
        "tool_use" => &[
            "type",
            "id",
            "name",
            "input",
            "cache_control",
            "caller",
            "toolset_name",
        ],
        "tool_result" => &[
            "type",
            "tool_use_id",
            "content",
            "is_error",
            "cache_control",
            "toolset_name",
        ],
        _ => &[],
    };
    let of_assistant = ["thinking", "redacted_thinking", "tool_use"].contains(&kind);
    let of_user = ["image", "document", "tool_result"].contains(&kind);
    if fields.is_empty() || of_assistant && role != "assistant" || of_user && role != "user" {
        let values = [("path", path), ("type", "content block")];
        return Err(rules.refuse("anthropic.type", &values));
    }
    if let Some(field) = unknown_field(block, fields) {
        if field == "cache_control" {
            return Err(rules.refuse("anthropic.mark_place", &[("path", path)]));
        }
        let path = format!("{path}.{field}");
        return Err(rules.refuse("anthropic.extra", &[("path", &path)]));
    }
    let required: &[&str] = match kind {
        "text" => &["text"],
        "thinking" => &["thinking", "signature"],
        "redacted_thinking" => &["data"],
        "tool_use" => &["id", "name", "input"],
        "tool_result" => &["tool_use_id"],
        _ => &["source"],
    };
    if let Some(field) = required.iter().find(|field| !has(block, field)) {
        let path = format!("{path}.{field}");
        return Err(rules.refuse("anthropic.required", &[("path", &path)]));
    }
    if kind == "text" && text(block, "text").is_empty() {
        return Err(rules.refuse("anthropic.empty_text", &[]));
    }
    if kind == "tool_use" && !block["input"].is_object() {
        let path = format!("{path}.input");
        let values = [("path", &*path), ("type", "dictionary")];
        return Err(rules.refuse("anthropic.type", &values));
    }
    if kind == "image" && !is_picture(&block["source"]) {
        return Err(rules.refuse("anthropic.image", &[("path", path)]));
    }
    if kind == "tool_result" {
        for (index, inner) in items(&block["content"]).iter().enumerate() {
            let path = format!("{path}.content.{index}");
            let allowed = ["text", "image", "document", "search_result"];
            if !allowed.contains(&text(inner, "type")) {
                let values = [("path", &*path), ("type", "content block")];
                return Err(rules.refuse("anthropic.type", &values));
            }
            check_block(inner, &path, "user", rules)?;
        }
    }
    Ok(())
}

fn is_picture(source: &Value) -> bool {
    let types = ["image/jpeg", "image/png", "image/gif", "image/webp"];
    match text(source, "type") {
        "base64" => types.contains(&text(source, "media_type")) && is_base64(text(source, "data")),
        "url" => has(source, "url"),
        "file" => has(source, "file_id"),
        _ => false,
    }
}

/// Checks that the message after calls has their results, first and nothing between.
fn check_pairs(messages: &[Value], rules: &'static Rules) -> Check {
    // The API combines consecutive messages of a role.
    let mut turns: Vec<(usize, &str, Vec<&Value>)> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let role = text(message, "role");
        let blocks: Vec<_> = items(&message["content"]).iter().collect();
        let text_block = message["content"]
            .is_string()
            .then_some(&message["content"]);
        let blocks = blocks.into_iter().chain(text_block);
        match turns.last_mut() {
            Some((_, last, content)) if *last == role => content.extend(blocks),
            _ => turns.push((index, role, blocks.collect())),
        }
    }
    let ids = |blocks: &[&Value], kind: &str, field: &str| -> Vec<String> {
        let blocks = blocks.iter().filter(|block| text(block, "type") == kind);
        blocks.map(|block| text(block, field).to_owned()).collect()
    };
    let mut seen = HashSet::new();
    for (place, (index, _, blocks)) in turns.iter().enumerate() {
        let place_text = index.to_string();
        let calls = ids(blocks, "tool_use", "id");
        for id in &calls {
            if !seen.insert(id.clone()) {
                return Err(rules.refuse("anthropic.tool_use_duplicate", &[("index", &place_text)]));
            }
        }
        let following = turns
            .get(place + 1)
            .map_or(&[][..], |(_, _, blocks)| blocks);
        let results = ids(following, "tool_result", "tool_use_id");
        let open: Vec<_> = calls
            .iter()
            .filter(|id| !results.contains(id))
            .cloned()
            .collect();
        if !open.is_empty() {
            let values = [("index", &*place_text), ("ids", &open.join(", "))];
            return Err(rules.refuse("anthropic.tool_use_open", &values));
        }
        let is_result = |block: &&&Value| text(block, "type") == "tool_result";
        let results_first = following.iter().take_while(is_result).count();
        if results_first < results.len() {
            let values = [("index", &*place_text), ("ids", &results.join(", "))];
            return Err(rules.refuse("anthropic.tool_result_first", &values));
        }
        let own_results = ids(blocks, "tool_result", "tool_use_id");
        let before = place
            .checked_sub(1)
            .map_or(&[][..], |place| &turns[place].2);
        let known = ids(before, "tool_use", "id");
        if let Some(block) = own_results.iter().position(|id| !known.contains(id)) {
            let block_text = block.to_string();
            let values = [
                ("index", &*place_text),
                ("block", &block_text),
                ("ids", &own_results[block]),
            ];
            return Err(rules.refuse("anthropic.tool_result_orphan", &values));
        }
    }
    Ok(())
}

pub(super) fn check_marks(body: &Value, rules: &'static Rules) -> Check {
    let mut found: Vec<(String, Value)> = Vec::new();
    let mut collect = |path: String, block: &Value| {
        if has(block, "cache_control") {
            found.push((path, block["cache_control"].clone()));
        }
    };
    for (index, tool) in items(&body["tools"]).iter().enumerate() {
        collect(format!("tools.{index}"), tool);
    }
    for (index, block) in items(&body["system"]).iter().enumerate() {
        collect(format!("system.{index}"), block);
    }
    for (index, message) in items(&body["messages"]).iter().enumerate() {
        for (place, block) in items(&message["content"]).iter().enumerate() {
            let path = format!("messages.{index}.content.{place}");
            for (inner, content) in items(&block["content"]).iter().enumerate() {
                collect(format!("{path}.content.{inner}"), content);
            }
            collect(path, block);
        }
    }
    let automatic = usize::from(has(body, "cache_control"));
    let count = found.len() + automatic;
    if count > 4 {
        let count = count.to_string();
        return Err(rules.refuse("anthropic.marks", &[("count", &count)]));
    }
    let mut has_short = false;
    for (path, mark) in &found {
        extra(
            mark,
            &format!("{path}.cache_control."),
            &["type", "ttl"],
            rules,
        )?;
        let is_long = mark["ttl"] == "1h";
        if is_long && has_short {
            return Err(rules.refuse("anthropic.mark_order", &[("path", path)]));
        }
        has_short |= !is_long;
    }
    Ok(())
}

/// Checks that with manual thinking the turn that is being continued begins with thinking.
pub(super) fn check_first_block(body: &Value, rules: &'static Rules) -> Check {
    let messages = items(&body["messages"]);
    let is_results = |message: &Value| {
        let blocks = items(&message["content"]);
        blocks.iter().any(|block| block["type"] == "tool_result")
    };
    if !messages.last().is_some_and(is_results) {
        return Ok(());
    }
    let prompt = messages
        .iter()
        .rposition(|message| message["role"] == "user" && !is_results(message));
    let first = prompt.map_or(0, |prompt| prompt + 1);
    let block = &messages[first]["content"][0];
    let kind = text(block, "type");
    if ["thinking", "redacted_thinking"].contains(&kind) {
        return Ok(());
    }
    let index = first.to_string();
    let values = [("index", &*index), ("type", kind)];
    Err(rules.refuse("anthropic.thinking_first", &values))
}

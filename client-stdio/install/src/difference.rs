//! The difference that a change makes to an entry, without the token.
//!
//! Only the entry is shown. The lines around it can have the secrets of other servers.

use bridge_settings::Secret;
use serde_json::{Map, Value, json};
use similar::{Algorithm, DiffTag, capture_diff_slices};

use crate::client::{Client, MemberValue};
use crate::client_entry::{ARGUMENTS, URL_VARIABLE};
use crate::config_text::render_entry;

/// Returns the lines that differ, with `-`, `+` or a space before them.
pub(crate) fn entry_difference(
    client: &Client,
    name: &str,
    old: Option<&Value>,
    new: Option<&Value>,
    token: Option<&Secret>,
) -> Vec<String> {
    let [old, new] = [old, new].map(|entry| {
        let text = entry.map(|entry| {
            let entry = without_secrets(client, entry, token);
            render_entry(client.format, [client.key, name], &entry)
        });
        text.unwrap_or_default()
    });
    let [old, new] = [&old, &new].map(|text| text.lines().collect::<Vec<_>>());
    let mut lines = Vec::new();
    for operation in capture_diff_slices(Algorithm::Myers, &old, &new) {
        let (tag, before, after) = operation.as_tag_tuple();
        if tag == DiffTag::Equal {
            lines.extend(old[before].iter().map(|line| format!("  {line}")));
        } else {
            lines.extend(old[before].iter().map(|line| format!("- {line}")));
            lines.extend(new[after].iter().map(|line| format!("+ {line}")));
        }
    }
    lines
}

/// Returns an entry in which a text stands for everything that may be a secret. What this program does not
/// write itself is not shown, but for settings that are a number or a switch.
fn without_secrets(client: &Client, entry: &Value, token: Option<&Secret>) -> Value {
    let hidden = || Value::from("(not shown)");
    let mut entry = entry.clone();
    let Some(members) = entry.as_object_mut() else {
        return hidden();
    };
    let known = || client.stdio.iter().chain(client.http.unwrap_or_default());
    for (key, value) in members.iter_mut() {
        let content = known().find(|it| it.key == key).map(|it| it.content);
        let is_shown = match content {
            Some(MemberValue::Variables | MemberValue::Headers) => {
                hide_values(value.as_object_mut(), token);
                value.is_object()
            }
            Some(MemberValue::Url) => {
                hide_credentials(value);
                true
            }
            Some(MemberValue::Arguments) => *value == json!(ARGUMENTS),
            Some(MemberValue::CommandLine) => value
                .as_array()
                .is_some_and(|words| words.len() == 2 && words[1] == ARGUMENTS[0]),
            Some(_) => true,
            None => value.is_boolean() || value.is_number(),
        };
        if !is_shown {
            *value = hidden();
        }
    }
    entry
}

fn hide_values(values: Option<&mut Map<String, Value>>, token: Option<&Secret>) {
    for (name, value) in values.into_iter().flatten() {
        let is_token = token.is_some_and(|token| {
            let text = value.as_str().unwrap_or_default();
            text.strip_prefix("Bearer ").unwrap_or(text) == token.expose()
        });
        if is_token {
            *value = "(the token)".into();
        } else if name == URL_VARIABLE {
            hide_credentials(value);
        } else {
            *value = "(another value)".into();
        }
    }
}

/// Hides an address with a query, which pages of version 0.1 show with the token, or with a password.
fn hide_credentials(url: &mut Value) {
    if url.as_str().is_some_and(|url| url.contains(['?', '@'])) {
        *url = "(not shown)".into();
    }
}

//! Definitions that are expensive to register, again and again.

use anyhow::Result;
use serde_json::{Map, Value, json};

use super::Attacker;
use super::client::{TOKEN, registration, tool};

/// The number of pages of one token that register at the same time.
const PAGES: usize = 16;

/// The number of definitions within a schema, and of the properties of each.
const DEFINITIONS: usize = 5;
const PROPERTIES: usize = 64;

/// The number of tools that a page may have, and the bytes of each, so that the page has nearly as
/// many bytes as it may have.
const MAX_TOOLS: usize = 512;
const TOOL_BYTES: usize = 1_700;

/// The number of tools with recursive schemas.
const RECURSIVE_TOOLS: usize = 64;

/// Stands for a number that makes each registration different, so that nothing of it is known.
const NUMBER: &str = "NUMBER";

/// Registers a schema whose properties are all references to its definitions, 29 kB long.
pub(super) async fn references(attacker: &Attacker) {
    register(attacker, &registration([reference_tool()])).await;
}

/// Registers as many tools with as many bytes as a page may have.
pub(super) async fn largest(attacker: &Attacker) {
    register(attacker, &registration((0..MAX_TOOLS).map(long_tool))).await;
}

/// Registers schemas that contain themselves.
pub(super) async fn recursive(attacker: &Attacker) {
    let tools = (0..RECURSIVE_TOOLS).map(recursive_tool);
    register(attacker, &registration(tools)).await;
}

async fn register(attacker: &Attacker, message: &str) {
    let message = message.to_owned();
    let part = move |attacker: Attacker, peer| {
        let message = message.clone();
        async move { register_repeatedly(&attacker, peer, &message).await }
    };
    attacker.repeat(PAGES, part).await;
}

async fn register_repeatedly(attacker: &Attacker, peer: usize, message: &str) -> Result<()> {
    let mut page = attacker.open_page(TOKEN, &format!("page-{peer}")).await?;
    for number in 0.. {
        let message = message.replace(NUMBER, &format!("{peer}-{number}"));
        page.try_register(&message).await?;
        attacker.count(1);
        if attacker.is_trial() {
            break;
        }
    }
    Ok(())
}

fn reference_tool() -> Value {
    let definition = |number: usize| {
        let properties = (0..PROPERTIES).map(|property| {
            let to = (number + property) % DEFINITIONS;
            let name = format!("a_property_with_a_name_that_makes_the_schema_29_kb_{property:02}");
            (name, json!({ "$ref": format!("#/$defs/definition{to}") }))
        });
        let properties: Map<String, Value> = properties.collect();
        json!({ "type": "object", "properties": properties })
    };
    let definitions =
        (0..DEFINITIONS).map(|number| (format!("definition{number}"), definition(number)));
    let definitions: Map<String, Value> = definitions.collect();
    let schema = json!({
        "type": "object",
        "properties": { "value": { "$ref": "#/$defs/definition0", "description": NUMBER } },
        "$defs": definitions,
    });
    tool("references", &schema)
}

fn long_tool(number: usize) -> Value {
    let properties = (0..12).map(|property| {
        let schema = json!({ "type": "string", "maxLength": 200, "description": "x".repeat(60) });
        (format!("property_{property}"), schema)
    });
    let properties: Map<String, Value> = properties.collect();
    let schema = json!({ "type": "object", "properties": properties, "title": NUMBER });
    let mut tool = tool(&format!("tool_{number}"), &schema);
    let missing = TOOL_BYTES.saturating_sub(tool.to_string().len());
    tool["title"] = json!("x".repeat(missing));
    tool
}

fn recursive_tool(number: usize) -> Value {
    let node = json!({ "anyOf": [
        { "type": "string", "pattern": "^[a-z]{1,20}$" },
        { "type": "array", "items": { "$ref": "#/$defs/node" } },
        { "type": "object", "properties": {
            "left": { "$ref": "#/$defs/node" }, "right": { "$ref": "#/$defs/node" } },
          "additionalProperties": { "$ref": "#/$defs/node" } },
    ] });
    let schema = json!({
        "type": "object",
        "properties": { "tree": { "$ref": "#/$defs/node" } },
        "title": NUMBER,
        "$defs": { "node": node },
    });
    tool(&format!("tree_{number}"), &schema)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registrations_have_the_sizes_that_the_document_tells() {
        let references = registration([reference_tool()]).len();
        assert!((28_000..30_500).contains(&references), "{references}");
        let largest = registration((0..MAX_TOOLS).map(long_tool)).len();
        assert!((850_000..1_000_000).contains(&largest), "{largest}");
    }
}

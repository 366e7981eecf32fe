//! The command `call`.

use std::process::ExitCode;

use bridge_output::print;
use bridge_protocol::invisible::{escape_in_json, visible_text};
use clap::Args;
use client_stdio::{ConnectionFlags, ToolRoutes};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::bridge_request::{fail, request};

/// The command line of the command.
#[derive(Args)]
pub(crate) struct CallCommand {
    /// The name of the tool, as `mcp-web tools` lists it
    name: String,

    /// The arguments of the tool, as a JSON object
    #[arg(value_name = "JSON", default_value = "{}", value_parser = parse_object)]
    arguments: Box<RawValue>,

    #[command(flatten)]
    connection: ConnectionFlags,

    /// Use only this session (browser tab); the tool list_active_sessions lists the ids
    #[arg(long, env = "MCP_WEB_SESSION", value_name = "ID")]
    session: Option<String>,

    /// Print the complete result as JSON
    #[arg(long)]
    json: bool,
}

/// The result of a call, as MCP defines it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolResult {
    #[serde(default)]
    content: Vec<Value>,
    structured_content: Option<Value>,
    #[serde(default)]
    is_error: bool,
}

/// Runs the command. The exit code is 1 also if the tool has failed.
pub(crate) fn run(arguments: &CallCommand) -> ExitCode {
    let CallCommand {
        name,
        arguments: input,
        connection,
        session,
        json: prints_json,
    } = arguments;
    let session = session.as_deref().filter(|session| !session.is_empty());
    let call = async |routes: ToolRoutes| routes.call(name, input, session).await;
    let json = match request(connection, call) {
        Ok(json) => json,
        Err(error) => return fail(&error),
    };
    let result: ToolResult = match serde_json::from_str(&json) {
        Ok(result) => result,
        Err(error) => return fail(&format!("the answer is not the result of a tool: {error}")),
    };
    let printed = match (prints_json, result.is_error) {
        (true, _) => print(&format!("{}\n", escape_in_json(&json))),
        (false, false) => print(&format!("{}\n", visible_text(&result.text()))),
        (false, true) => return fail(&result.text()),
    };
    ExitCode::from(printed.max(result.is_error.into()))
}

impl ToolResult {
    /// Returns the parts of the result that are text, and descriptions of the others.
    fn text(&self) -> String {
        if let (true, Some(value)) = (self.content.is_empty(), &self.structured_content) {
            return format!("{value:#}");
        }
        let parts: Vec<_> = self.content.iter().map(text_of).collect();
        parts.join("\n")
    }
}

/// Returns the text of a part of a result, or names the part.
fn text_of(part: &Value) -> String {
    let field = |name: &str| part[name].as_str().unwrap_or_default();
    match (field("type"), &part["resource"]) {
        ("text", _) => field("text").to_owned(),
        ("resource_link", _) => field("uri").to_owned(),
        ("resource", resource) => {
            let text = resource["text"].as_str().or(resource["uri"].as_str());
            text.unwrap_or_default().to_owned()
        }
        (kind, _) => format!("[{kind} {}: --json prints it]", field("mimeType")),
    }
}

fn parse_object(text: &str) -> Result<Box<RawValue>, String> {
    const EXAMPLE: &str = "write an object in single quotes, such as '{\"name\": \"value\"}'";
    match serde_json::from_str::<Box<RawValue>>(text) {
        Ok(object) if object.get().starts_with('{') => Ok(object),
        Ok(_) => Err(format!("it is not a JSON object: {EXAMPLE}")),
        Err(error) => Err(format!("it is not JSON: {error}: {EXAMPLE}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(result: Value) -> String {
        serde_json::from_value::<ToolResult>(result).unwrap().text()
    }

    #[test]
    fn every_part_of_a_result_is_shown() {
        let parts = json!([
            { "type": "text", "text": "one" },
            { "type": "image", "mimeType": "image/png", "data": "AAAA" },
            { "type": "resource_link", "uri": "file:///a" },
            { "type": "resource", "resource": { "uri": "file:///b", "text": "two" } },
            { "type": "resource", "resource": { "uri": "file:///c", "blob": "AAAA" } },
        ]);
        let expected = "one\n[image image/png: --json prints it]\nfile:///a\ntwo\nfile:///c";
        assert_eq!(text(json!({ "content": parts })), expected);
        let structured = json!({ "content": [], "structuredContent": { "id": 7 } });
        assert_eq!(text(structured), "{\n  \"id\": 7\n}");
        assert_eq!(text(json!({})), "");
    }

    #[test]
    fn arguments_are_forwarded_as_they_are_written() {
        let written = r#"{"b": 1.50, "a": 12345678901234567890}"#;
        assert_eq!(
            parse_object(&format!(" {written} ")).unwrap().get(),
            written
        );
        for (text, words) in [("[]", "not a JSON object"), ("{a: 1}", "not JSON")] {
            let error = parse_object(text).unwrap_err();
            assert!(
                error.contains(words) && error.contains("single quotes"),
                "{error}"
            );
        }
    }
}

//! `mcp-web agent mcp call`: a call of a tool, and why there is none.

use agent_tools::mcp::Upstream;
use agent_tools::{CallStatus, ServerTool, SourceContext, ToolSource, offered_name};
use bridge_protocol::invisible::visible_line;
use serde_json::{Map, Value};

use super::{Files, failure_text};
use crate::commands::console::{CommandError, Console};

/// The context in which commands call tools: there is no user.
const COMMAND_USER: &str = "command line";

/// The part of messages to models that is not for people.
const MODEL_REMEDY: &str = " Continue without it.";

impl Files {
    pub(super) async fn call(
        &self,
        console: &mut Console,
        server: &str,
        tool: &str,
        arguments: &str,
    ) -> Result<bool, CommandError> {
        let arguments = parse_arguments(arguments)?;
        let entry = self.select(&[server.to_owned()])?.pop();
        let upstream = entry.map(|entry| self.create(entry)).transpose()?.flatten();
        let upstream = upstream.ok_or_else(|| format!("the server `{server}` is disabled"))?;
        let result = self.call_tool(&upstream, server, tool, arguments).await;
        upstream.stop().await;
        console.print(result?)?;
        Ok(true)
    }

    async fn call_tool(
        &self,
        upstream: &Upstream,
        server: &str,
        given: &str,
        arguments: Map<String, Value>,
    ) -> Result<String, String> {
        upstream.start().await.map_err(failure_text)?;
        let tools = upstream.tools();
        let names = tools.iter().map(|tool| tool.name.as_str());
        let Some(tool) = find_tool(server, given, names) else {
            let unknown = || format!("the server `{server}` does not have the tool at the moment");
            return Err(self.why_unusable(upstream, server, given, unknown).await);
        };
        let context = SourceContext {
            user: COMMAND_USER.to_owned(),
        };
        let output = upstream.call(&tool, arguments, &context).await;
        match output.outcome {
            CallStatus::Ok => Ok(output.text),
            CallStatus::Unavailable => {
                let text = output.text.replace(MODEL_REMEDY, "");
                Err(self.why_unusable(upstream, server, given, || text).await)
            }
            _ => Err(format!("`{tool}` has failed: {}", output.text)),
        }
    }

    /// Returns why a tool cannot be called, or `other` if the server lists it and it is not off.
    async fn why_unusable(
        &self,
        upstream: &Upstream,
        server: &str,
        given: &str,
        other: impl FnOnce() -> String,
    ) -> String {
        let listed = match upstream.list_tools().await {
            Ok(listed) => listed.tools,
            Err(failure) => return failure_text(failure),
        };
        let names = listed.iter().map(|tool| tool.name.as_str());
        let Some(name) = find_tool(server, given, names.clone()) else {
            return unknown_tool(server, given, names);
        };
        let usable = upstream.tools();
        let is_off = !usable.iter().any(|tool| tool.name == name);
        match listed.iter().find(|tool| tool.name == name) {
            Some(tool) if is_off => off_reason(server, tool, self.pins.tools(server)),
            _ => other(),
        }
    }
}

fn parse_arguments(text: &str) -> Result<Map<String, Value>, String> {
    const EXAMPLE: &str = "write an object in single quotes, such as '{\"name\": \"value\"}'";
    match serde_json::from_str(text) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err(format!("the arguments are not a JSON object: {EXAMPLE}")),
        Err(error) => Err(format!("the arguments are not JSON: {error}: {EXAMPLE}")),
    }
}

/// Returns the server's name of a tool, which is given by it or by the name that profiles have.
fn find_tool<'a>(
    server: &str,
    given: &str,
    names: impl Iterator<Item = &'a str> + Clone,
) -> Option<String> {
    let source = format!("mcp-{server}");
    let exact = names.clone().find(|name| *name == given);
    let mut names = names;
    let found = exact.or_else(|| names.find(|name| offered_name(&source, name) == given));
    found.map(str::to_owned)
}

fn unknown_tool<'a>(server: &str, given: &str, names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.map(visible_line).collect();
    if names.is_empty() {
        return format!("the server `{server}` has no tools");
    }
    let names = names.join(", ");
    format!("the server `{server}` has no tool `{given}`; it has: {names}")
}

/// Returns why a tool that a server lists is not used.
fn off_reason(server: &str, tool: &ServerTool, pinned: Option<Vec<ServerTool>>) -> String {
    let name = visible_line(&tool.name);
    if pinned.is_some_and(|pinned| !pinned.contains(tool)) {
        return format!(
            "`{name}` is off, because it differs from its pin: look at it, and pin it with \
             `mcp-web agent mcp sync {server}`"
        );
    }
    match tool.to_source_tool(None) {
        Err(error) => format!("`{name}` is off, because its schema cannot be used: {error}"),
        Ok(_) => format!("`{name}` is off, because `x-policy` of `{server}` does not allow it"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use agent_tools::ToolHints;

    #[test]
    fn a_tool_is_found_by_either_name() {
        let names = || ["now", "a.b", "mcp-time-now2"].into_iter();
        let find = |given: &str| find_tool("time", given, names());
        assert_eq!(find("now").as_deref(), Some("now"));
        assert_eq!(find("mcp-time-now").as_deref(), Some("now"));
        assert_eq!(find("mcp-time-now2").as_deref(), Some("mcp-time-now2"));
        assert_eq!(
            find(&offered_name("mcp-time", "a.b")).as_deref(),
            Some("a.b")
        );
        assert_eq!(find("mcp-other-now"), None);
        let error = unknown_tool("time", "hm", names());
        assert!(error.ends_with("no tool `hm`; it has: now, a.b, mcp-time-now2"));
        assert!(unknown_tool("time", "hm", [].into_iter()).ends_with("has no tools"));
    }

    #[test]
    fn arguments_that_are_not_an_object_are_refused_with_an_example() {
        assert_eq!(parse_arguments("{}"), Ok(Map::new()));
        for (text, words) in [("[]", "not a JSON object"), ("{a: 1}", "are not JSON")] {
            let error = parse_arguments(text).unwrap_err();
            assert!(
                error.contains(words) && error.contains("single quotes"),
                "{error}"
            );
        }
    }

    #[test]
    fn the_reason_why_a_tool_is_off_is_shown() {
        let tool = ServerTool {
            name: "now".to_owned(),
            description: None,
            input_schema: json!({ "type": "object" }),
            annotations: ToolHints::default(),
        };
        let reason = |pinned| off_reason("time", &tool, pinned);
        assert!(reason(Some(Vec::new())).contains("mcp sync time"));
        assert!(reason(Some(vec![tool.clone()])).contains("x-policy"));
        let broken = ServerTool {
            input_schema: json!({ "type": 7 }),
            ..tool.clone()
        };
        assert!(off_reason("time", &broken, None).contains("its schema"));
    }
}

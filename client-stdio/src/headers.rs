//! The headers of 2026-07-28 that repeat parts of a request, so that proxies need not parse bodies:
//! `MCP-Protocol-Version`, `Mcp-Method`, `Mcp-Name`, `Mcp-Param-*`
//! (basic/transports/streamable-http, "Standard request headers" and "Custom headers from tool
//! parameters").

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bridge_protocol::to_well_formed;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::message::{JsonRpcMessage, JsonRpcRequest, RawObject};
use crate::param_headers::{self, ParamHeader};
use crate::shared_text::SharedText;

/// The parameters that are repeated in headers.
#[derive(Deserialize)]
struct HeaderParams<'a> {
    name: Option<String>,
    uri: Option<String>,
    #[serde(rename = "taskId")]
    task_id: Option<String>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

/// The arguments of tools that are repeated in headers, by the name of the tool. They are learned
/// from the answers to `tools/list` and outlive a bridge, as the client's copy of the list does.
#[derive(Clone, Default)]
pub(crate) struct ToolHeaders(Arc<Mutex<HashMap<String, Vec<ParamHeader>>>>);

impl ToolHeaders {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Vec<ParamHeader>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Learns from the answer to `tools/list` and removes the tools whose header annotations are
    /// invalid, which the specification requires of HTTP clients. The rest of the text stays
    /// unchanged.
    pub(crate) fn apply_tool_list(&self, response: JsonRpcMessage) -> JsonRpcMessage {
        let JsonRpcMessage::Response { id, is_error, text } = response else {
            return response;
        };
        let text = self.remove_invalid_tools(&text).unwrap_or(text);
        JsonRpcMessage::Response { id, is_error, text }
    }

    /// Registers the headers of all tools in the text, and removes the tools with invalid
    /// annotations. Returns `None` if no tool has to be removed.
    fn remove_invalid_tools(&self, text: &str) -> Option<SharedText> {
        let mut response: RawObject = serde_json::from_str(text).ok()?;
        let mut result: RawObject = serde_json::from_str(response.get("result")?.get()).ok()?;
        let mut tools: Vec<Box<RawValue>> =
            serde_json::from_str(result.get("tools")?.get()).ok()?;
        let count = tools.len();
        tools.retain(|tool| self.register_tool(tool));
        if tools.len() == count {
            return None;
        }
        result.insert("tools".to_owned(), to_raw_value(&tools).ok()?);
        response.insert("result".to_owned(), to_raw_value(&result).ok()?);
        serde_json::to_string(&response).ok().map(SharedText::from)
    }

    /// Learns the headers of a tool. Returns whether its annotations are valid.
    fn register_tool(&self, tool: &RawValue) -> bool {
        #[derive(Deserialize)]
        struct Tool {
            name: String,
            #[serde(rename = "inputSchema", default)]
            schema: Value,
        }
        // The client decides about an entry that is not a tool.
        let Ok(Tool { name, schema }) = serde_json::from_str(tool.get()) else {
            return true;
        };
        match param_headers::from_schema(&schema) {
            Ok(headers) => {
                self.lock().insert(name, headers);
                true
            }
            Err(reason) => {
                tracing::warn!("removed the tool {name} from the list: {reason}");
                false
            }
        }
    }

    /// Returns the headers of a request.
    pub(crate) fn request_headers(&self, request: &JsonRpcRequest) -> HeaderMap {
        let mut headers = method_header(&request.method);
        let params: Option<HeaderParams<'_>> = request.params();
        let Some(params) = params else { return headers };
        let name = match &*request.method {
            "tools/call" | "prompts/get" => params.name.as_deref(),
            "resources/read" | "resources/subscribe" | "resources/unsubscribe" => {
                params.uri.as_deref()
            }
            "tasks/get" | "tasks/update" | "tasks/cancel" => params.task_id.as_deref(),
            _ => None,
        };
        if let Some(name) = name {
            insert_header(&mut headers, "mcp-name", name);
        }
        if let ("tools/call", Some(name), Some(arguments)) =
            (&*request.method, name, params.arguments)
        {
            self.insert_param_headers(&mut headers, name, arguments);
        }
        headers
    }

    fn insert_param_headers(&self, headers: &mut HeaderMap, tool: &str, arguments: &RawValue) {
        let tools = self.lock();
        let Some(param_headers) = tools.get(tool).filter(|headers| !headers.is_empty()) else {
            return;
        };
        // The bridge compares the headers with what it reads, which is U+FFFD in place of half of a
        // surrogate pair.
        let arguments = to_well_formed(arguments.get());
        let Ok(arguments) = serde_json::from_str::<Value>(&arguments) else {
            return;
        };
        for header in param_headers {
            if let Some(value) = header.value_in(&arguments) {
                insert_header(headers, &format!("mcp-param-{}", header.name), &value);
            }
        }
    }
}

/// Returns the header of every POST of a request or a notification.
pub(crate) fn method_header(method: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    insert_header(&mut headers, "mcp-method", method);
    headers
}

fn insert_header(headers: &mut HeaderMap, name: &str, value: &str) {
    let name = HeaderName::from_bytes(name.to_ascii_lowercase().as_bytes());
    if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(&encode_value(value))) {
        headers.insert(name, value);
    }
}

/// Encodes a value for a header: unchanged if it is printable ASCII without outer spaces, and
/// otherwise as base64 between `=?base64?` and `?=`.
fn encode_value(value: &str) -> String {
    let is_printable = value.chars().all(|char| matches!(char, ' '..='~'));
    let is_padded = value.starts_with(' ') || value.ends_with(' ');
    let looks_encoded = value.starts_with("=?base64?") && value.ends_with("?=");
    if is_printable && !is_padded && !looks_encoded {
        return value.to_owned();
    }
    format!("=?base64?{}?=", BASE64_STANDARD.encode(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header_lines(tools: &ToolHeaders, method: &str, params: &str) -> Vec<String> {
        let headers = tools.request_headers(&JsonRpcRequest::new("1", method, params));
        let lines = headers
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()));
        lines.collect()
    }

    #[test]
    fn method_and_name_are_repeated() {
        let tools = ToolHeaders::default();
        for (method, params, expected) in [
            ("tools/list", "{}", vec!["mcp-method: tools/list"]),
            (
                "tools/call",
                r#"{"name":"a b"}"#,
                vec!["mcp-method: tools/call", "mcp-name: a b"],
            ),
            (
                "resources/read",
                r#"{"uri":"x://y"}"#,
                vec!["mcp-method: resources/read", "mcp-name: x://y"],
            ),
            (
                "prompts/get",
                r#"{"name":"ä"}"#,
                vec!["mcp-method: prompts/get", "mcp-name: =?base64?w6Q=?="],
            ),
        ] {
            assert_eq!(header_lines(&tools, method, params), expected);
        }
    }

    #[test]
    fn annotated_arguments_are_repeated_and_invalid_tools_are_removed() {
        let tools = ToolHeaders::default();
        let list = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[
            {"name":"good","extra":1.50,"inputSchema":{"type":"object","properties":{
                "region":{"type":"string","x-mcp-header":"Region"},
                "deep":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}},
                "on":{"type":"boolean","x-mcp-header":"On"}}}},
            {"name":"bad","inputSchema":{"type":"object","properties":{
                "region":{"type":"string","x-mcp-header":""}}}}]}}"#;
        let response = tools.apply_tool_list(JsonRpcMessage::parse(list).unwrap());
        assert!(response.text().contains("good") && !response.text().contains("bad"));
        assert!(
            response.text().contains("1.50"),
            "the rest stays as it was written"
        );
        let call = r#"{"name":"good","arguments":{"region":" west ","deep":{"n":7},"on":null}}"#;
        let expected = [
            "mcp-method: tools/call",
            "mcp-name: good",
            "mcp-param-region: =?base64?IHdlc3Qg?=",
            "mcp-param-n: 7",
        ];
        assert_eq!(header_lines(&tools, "tools/call", call), expected);
        let call = r#"{"name":"good","arguments":{"region":"cut \ud83d","n":"\udc00"}}"#;
        let expected = [
            "mcp-method: tools/call",
            "mcp-name: good",
            "mcp-param-region: =?base64?Y3V0IO+/vQ==?=",
        ];
        assert_eq!(header_lines(&tools, "tools/call", call), expected);
    }

    #[test]
    fn a_list_of_valid_tools_is_unchanged() {
        let text = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","x":1.50}]}}"#;
        let response = ToolHeaders::default().apply_tool_list(JsonRpcMessage::parse(text).unwrap());
        assert_eq!(&**response.text(), text);
    }
}

//! The headers in which clients of MCP 2026-07-28 repeat arguments of a tool (SEP-2243): each
//! property with `x-mcp-header`, which is reached through `properties` alone.

use bridge_protocol::Kind;
use bridge_realm::definition::SharedDefinition;
use bridge_realm::definition::reserved::is_builtin_tool;
use bridge_schema::value_count::{self, MAX_VALUES};
use http::HeaderMap;
use rmcp::ErrorData;
use rmcp::model::ErrorCode;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::checked_request::{CheckedRequest, decode_header};
use crate::budget::{INLINE_LIMIT, WorkOrder};
use crate::calls;
use bridge_mcp_results::request_error::RequestError;
use bridge_realm::realm::CallFailure;

use super::rmcp_conversions;

/// Checks that the headers repeat the arguments of this tool. Headers of an older revision may be
/// absent.
pub(super) async fn check(request: &CheckedRequest<'_>, tool: &str) -> Result<(), ErrorData> {
    let (hub, realm) = (&request.mcp.state.hub, request.principal.realm);
    if !request.is_modern || is_builtin_tool(tool) {
        return Ok(());
    }
    calls::wait_for_tool(hub, realm, request.pages_awaited_until, tool).await;
    if !hub.definitions.has_header_arguments() {
        return Ok(());
    }
    let has_headers = |realm: &mut bridge_realm::realm::Realm| {
        realm.any_candidate_tool(tool, |tool| tool.has_header_arguments())
    };
    if hub.with_realm_mut(realm, has_headers) != Some(true) {
        return Ok(());
    }
    let published = hub.with_realm(realm, |realm| realm.published(Kind::Tool));
    let mut tools = published.into_iter().flatten();
    let Some(tool) = tools.find(|it| it.published_name() == tool) else {
        return Ok(());
    };
    let arguments = request.params.arguments.map(RawValue::get).unwrap_or("{}");
    let order =
        (arguments.len() > INLINE_LIMIT).then(|| WorkOrder::for_json(realm, arguments.len()));
    let arguments = arguments.to_owned();
    let headers = ParamHeaders {
        headers: request.headers.clone(),
        are_optional: request.has_older_headers,
    };
    let work = move || check_headers(&tool, &arguments, &headers);
    match hub.run_work_unless_small(order, work).await {
        Ok(checked) => {
            checked.map_err(|mismatch| ErrorData::new(ErrorCode::HEADER_MISMATCH, mismatch, None))
        }
        Err(error) => {
            let failure = RequestError::Failed(CallFailure::from(error));
            Err(rmcp_conversions::to_error_data(failure, request.is_modern))
        }
    }
}

/// The headers of a call.
struct ParamHeaders {
    headers: HeaderMap,
    /// Whether those of arguments may be absent.
    are_optional: bool,
}

fn check_headers(
    tool: &SharedDefinition,
    arguments: &str,
    headers: &ParamHeaders,
) -> Result<(), String> {
    // The validation of the arguments refuses so many values.
    if value_count::exceeds(arguments, MAX_VALUES) {
        return Ok(());
    }
    let arguments = serde_json::from_str(arguments).unwrap_or_default();
    match tool.published().get("inputSchema") {
        Some(Value::Object(schema)) => headers.check_properties(schema, &arguments, ""),
        _ => Ok(()),
    }
}

impl ParamHeaders {
    /// Checks the properties of a schema, whose value is at `path` in the arguments.
    fn check_properties(
        &self,
        schema: &Map<String, Value>,
        arguments: &Value,
        path: &str,
    ) -> Result<(), String> {
        let Some(Value::Object(properties)) = schema.get("properties") else {
            return Ok(());
        };
        for (name, schema) in properties {
            let Value::Object(schema) = schema else {
                continue;
            };
            let path = if path.is_empty() {
                name.clone()
            } else {
                format!("{path}.{name}")
            };
            let value = arguments.get(name).unwrap_or(&Value::Null);
            if let Some(Value::String(header)) = schema.get("x-mcp-header")
                && !header.is_empty()
            {
                self.check(&format!("Mcp-Param-{header}"), value, &path)?;
            }
            self.check_properties(schema, value, &path)?;
        }
        Ok(())
    }

    /// Checks that a header repeats the value at `path` in the arguments.
    fn check(&self, header: &str, value: &Value, path: &str) -> Result<(), String> {
        let mut sent = self.headers.get_all(header).iter();
        let first = sent.next();
        if sent.next().is_some() {
            return Err(format!("duplicate {header} header"));
        }
        let sent = first.map(|sent| {
            let text = sent.to_str();
            text.map_err(|_| format!("{header} header contains invalid characters"))
        });
        let expected = match value {
            Value::String(text) => Some(text.clone()),
            Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
            _ => None,
        };
        match (sent.transpose()?, expected) {
            (None, None) => Ok(()),
            (None, Some(_)) if self.are_optional => Ok(()),
            (Some(_), None) => Err(format!(
                "unexpected {header} header for absent or null `{path}`"
            )),
            (None, Some(_)) => Err(format!("missing {header} header for `{path}`")),
            (Some(sent), Some(expected)) => {
                let decoded = decode_header(sent)
                    .ok_or_else(|| format!("{header} header is not valid Base64"))?;
                if decoded == expected {
                    return Ok(());
                }
                Err(format!(
                    "{header} header `{decoded}` does not match body value `{expected}`"
                ))
            }
        }
    }
}

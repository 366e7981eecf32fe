//! Conversions between the bridge's types and rmcp's model.
//!
//! Some parts are lost:
//!
//! - Prompts, resources and resource templates are listed without fields that the model does not
//!   have. Of `annotations` and `icons`, only the fields of MCP are listed, in rmcp's order.
//! - `elicitation/create` of MCP 2026-07-28 keeps only those parts of `requestedSchema` that MCP's
//!   restricted schema has.
//! - In lists, numbers beyond i64, u64 and f64 lose digits. Half of a surrogate pair becomes U+FFFD.
//!
//! Tools and the answers of pages keep all their fields, and schemas and `_meta` the order of their
//! keys.

use bridge_mcp_results::request_error::RequestError;
use bridge_protocol::{
    Argument, ClientError, ClientInfo, ClientResponse, ConnectedClient, ErrorCode, Item, Kind,
    LogLevel,
};
use rmcp::ErrorData;
use rmcp::model::{
    ArgumentInfo, CompletionInfo, ErrorCode as JsonRpcCode, Implementation, LoggingLevel, Prompt,
    ProtocolVersion, Reference, Resource, ResourceTemplate, Tool,
};
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

use super::client_questions::Answer;
use bridge_mcp_results::completion_values::CompletionValues;

/// Checks that rmcp's model accepts the definition. One that it rejects must not break the list.
pub(crate) fn check_definition(kind: Kind, definition: &Map<String, Value>) -> Result<(), String> {
    let result = match kind {
        Kind::Tool => to_model::<Tool>(definition).map(drop),
        Kind::Prompt => to_model::<Prompt>(definition).map(drop),
        Kind::Resource => to_model::<Resource>(definition).map(drop),
        Kind::ResourceTemplate => to_model::<ResourceTemplate>(definition).map(drop),
    };
    result.map_err(|error| error.to_string())
}

/// Converts a definition to rmcp's model. Fields that the model does not know are left out: see
/// the comment of this module.
pub(super) fn to_model<T: DeserializeOwned>(
    definition: &Map<String, Value>,
) -> Result<T, serde_json::Error> {
    serde_json::from_value(Value::Object(definition.clone()))
}

/// Encodes a tool for lists: known fields as the model encodes them, and the tool's own fields as
/// they are.
pub(super) fn to_list_entry(definition: &Map<String, Value>) -> Option<Box<str>> {
    let Ok(Value::Object(mut entry)) = serde_json::to_value(to_model::<Tool>(definition).ok()?)
    else {
        return None;
    };
    for (field, value) in definition {
        entry.entry(field.as_str()).or_insert_with(|| value.clone());
    }
    serde_json::to_string(&entry).ok().map(Into::into)
}

/// Returns the error for a result of a page that is not as MCP has it.
pub(super) fn invalid_result(error: &serde_json::Error) -> ErrorData {
    let message = format!("the page's answer is not as MCP has it: {error}");
    let data = json!({ "code": ErrorCode::InvalidResult.as_str() });
    ErrorData::internal_error(message, Some(data))
}

/// Converts the values that a page proposes to the `completion` of a result.
pub(super) fn to_completion(proposals: CompletionValues) -> Value {
    let mut info = CompletionInfo::default();
    info.values = proposals.values;
    info.total = proposals.total;
    info.has_more = proposals.has_more;
    json!(info)
}

/// Converts an error of a call. `is_modern` means MCP 2026-07-28 or later.
pub(super) fn to_error_data(error: RequestError, is_modern: bool) -> ErrorData {
    let error = error.into_json_rpc(is_modern);
    ErrorData::new(JsonRpcCode(error.code), error.message, error.data)
}

/// The maximum length of each text in a client's info, which every page receives with every change.
pub(crate) const MAX_CLIENT_INFO_CHARS: usize = 128;

/// Converts a client's info, with each text limited to [`MAX_CLIENT_INFO_CHARS`].
pub(super) fn client_info(client: Implementation) -> ClientInfo {
    let short = |text: String| text.chars().take(MAX_CLIENT_INFO_CHARS).collect();
    ClientInfo {
        name: short(client.name),
        version: Some(short(client.version)),
        title: client.title.map(short),
    }
}

/// Returns the info of a client that has sent none.
pub(super) fn unknown_client() -> ClientInfo {
    ClientInfo {
        name: "unknown client".to_owned(),
        version: None,
        title: None,
    }
}

/// Returns the description of a connected client that pages receive.
pub(super) fn connected_client(
    client: Option<Implementation>,
    protocol_version: Option<ProtocolVersion>,
) -> ConnectedClient {
    ConnectedClient {
        id: 0,
        info: client.map_or_else(unknown_client, client_info),
        protocol_version: protocol_version.map_or_else(String::new, |version| version.to_string()),
    }
}

pub(super) fn log_level(level: LoggingLevel) -> LogLevel {
    match level {
        LoggingLevel::Debug => LogLevel::Debug,
        LoggingLevel::Info => LogLevel::Info,
        LoggingLevel::Notice => LogLevel::Notice,
        LoggingLevel::Warning => LogLevel::Warning,
        LoggingLevel::Error => LogLevel::Error,
        LoggingLevel::Critical => LogLevel::Critical,
        LoggingLevel::Alert => LogLevel::Alert,
        LoggingLevel::Emergency => LogLevel::Emergency,
    }
}

/// Converts the reference of a completion request to a prompt or a resource template.
pub(super) fn reference(reference: Reference) -> Result<Item, ErrorData> {
    match reference {
        Reference::Prompt(prompt) => Ok(Item {
            kind: Kind::Prompt,
            name: prompt.name,
        }),
        Reference::Resource(template) => Ok(Item {
            kind: Kind::ResourceTemplate,
            name: template.uri,
        }),
        _ => {
            let message = "`ref` must be a ref/prompt or a ref/resource";
            Err(ErrorData::invalid_params(message, None))
        }
    }
}

pub(super) fn argument(argument: ArgumentInfo) -> Argument {
    Argument {
        name: argument.name,
        value: argument.value,
    }
}

/// Converts the answer of a client to a request of the page.
pub(super) fn client_response(key: String, answer: Answer) -> ClientResponse {
    let (result, error) = match answer {
        Answer::Result(result) => (Some(result), None),
        Answer::Error(error) => (None, Some(client_error(&error))),
    };
    ClientResponse { key, result, error }
}

fn client_error(error: &RawValue) -> ClientError {
    match serde_json::from_str::<ErrorData>(error.get()) {
        // The client has declared a capability that it does not have, as some proxies do.
        Ok(error) if error.code == JsonRpcCode::METHOD_NOT_FOUND => ClientError {
            code: ErrorCode::ClientCapabilityMissing,
            message:
                "the client behind this call declared that it can be asked this, and does not \
                      know the request: go on without"
                    .to_owned(),
            data: None,
        },
        Ok(error) => {
            let data = json!({ "jsonRpcCode": error.code.0, "data": error.data });
            let message = format!("the client answered with an error: {}", error.message);
            request_failed(message, to_raw_value(&data).ok())
        }
        Err(malformed) => {
            let message = format!("the client answered with a malformed error: {malformed}");
            request_failed(message, None)
        }
    }
}

/// Returns the error response to a request of the page that MCP does not have.
pub(super) fn unsupported_request(key: String, message: String) -> ClientResponse {
    ClientResponse {
        key,
        result: None,
        error: Some(request_failed(message, None)),
    }
}

fn request_failed(message: String, data: Option<Box<RawValue>>) -> ClientError {
    ClientError {
        code: ErrorCode::ClientRequestFailed,
        message,
        data,
    }
}

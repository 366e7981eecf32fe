//! The parameters of MCP requests.

use std::collections::BTreeMap;

use bridge_mcp_results::request_error::RequestError;
use bridge_protocol::{Argument, Item, Kind, LogLevel, SessionId};
use bridge_realm::realm::SessionTarget;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The parameters of `tools/call`.
#[derive(Debug, Deserialize)]
pub(crate) struct ToolParams {
    pub(crate) name: String,
    pub(crate) arguments: Option<Box<RawValue>>,
}

/// The parameters of `prompts/get`.
#[derive(Debug, Deserialize)]
pub(crate) struct PromptParams {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) arguments: Map<String, Value>,
}

/// The parameters of `resources/read`, `resources/subscribe` and `resources/unsubscribe`.
#[derive(Debug, Deserialize)]
pub(crate) struct ResourceParams {
    pub(crate) uri: String,
}

/// The parameters of `completion/complete`.
#[derive(Debug, Deserialize)]
pub(crate) struct CompletionParams {
    #[serde(rename = "ref")]
    reference: Reference,
    pub(crate) argument: Argument,
    #[serde(default)]
    pub(crate) context: CompletionContext,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type")]
enum Reference {
    #[serde(rename = "ref/prompt")]
    Prompt { name: String },
    #[serde(rename = "ref/resource")]
    Resource { uri: String },
}

/// The arguments that already have values.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct CompletionContext {
    #[serde(default)]
    pub(crate) arguments: BTreeMap<String, String>,
}

impl CompletionParams {
    /// The prompt or the resource template.
    pub(crate) fn item(&self) -> Item {
        match &self.reference {
            Reference::Prompt { name } => Item {
                kind: Kind::Prompt,
                name: name.clone(),
            },
            Reference::Resource { uri } => Item {
                kind: Kind::ResourceTemplate,
                name: uri.clone(),
            },
        }
    }
}

/// The fields that every request may have.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct CommonParams {
    #[serde(rename = "_meta", default)]
    pub(crate) meta: RequestMeta,
}

/// The fields of `_meta` that the server reads.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RequestMeta {
    pub(crate) progress_token: Option<Value>,
    #[serde(rename = "io.modelcontextprotocol/logLevel")]
    pub(crate) log_level: Option<LogLevel>,
    /// The page that the client has selected.
    #[serde(rename = "mcp-web/sessionId")]
    pub(crate) session: Option<String>,
}

/// Returns the page that a request selects with `_meta`.
pub(crate) fn target(params: &str) -> Result<SessionTarget, RequestError> {
    let CommonParams { meta } = parse(params)?;
    let session = meta.session.map(SessionId);
    Ok(session.map_or(SessionTarget::Any, SessionTarget::Session))
}

/// Parses the parameters of a request.
pub(crate) fn parse<T: DeserializeOwned>(params: &str) -> Result<T, RequestError> {
    serde_json::from_str(params)
        .map_err(|error| RequestError::InvalidArguments(format!("the parameters: {error}")))
}

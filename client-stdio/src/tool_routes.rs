//! The routes of plain HTTP that list pages and tools and call tools, for commands that people run.

use http::{HeaderMap, HeaderName, HeaderValue};
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::bridge_http::{BridgeHttp, PROTOCOL_VERSION};
use crate::config::Config;
use crate::connect_error::BridgeError;
use crate::message;
use crate::protocol_version::STATELESS_VERSION;
use crate::silence::SilenceLimit;
use crate::token_source::TokenSource;

/// The header with the method of a request.
const METHOD: HeaderName = HeaderName::from_static("mcp-method");

/// A client of the routes `/sessions`, `/tools` and `/tool-call` of a bridge.
pub struct ToolRoutes {
    http: BridgeHttp,
    /// The URL of the bridge, without credentials.
    url: String,
}

/// Why a bridge has not answered. The text says what happened and what to do next.
#[derive(Debug, thiserror::Error)]
#[error("{}", .error.command_message(.url))]
pub struct RouteError {
    error: BridgeError,
    url: String,
}

impl RouteError {
    /// Returns whether the bridge refused the token.
    pub fn is_auth_error(&self) -> bool {
        self.error.is_auth_error()
    }
}

/// The body of `/tool-call`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolCallRequest<'a> {
    tool_name: &'a str,
    tool_input: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<&'a str>,
}

impl ToolRoutes {
    /// Creates a client without connecting. If a command prints the token, it starts now, on the runtime of
    /// the caller.
    ///
    /// # Errors
    ///
    /// Returns an error if no certificate of an https:// bridge could be checked.
    pub fn new(config: &Config) -> Result<Self, RouteError> {
        let url = config.url.to_string();
        let tokens = TokenSource::start(config);
        let silence = SilenceLimit::new(config.max_silence);
        match BridgeHttp::new(config, tokens, silence, false) {
            Ok(http) => Ok(Self { http, url }),
            Err(error) => Err(RouteError { error, url }),
        }
    }

    /// Returns the JSON of the list of tools, `{"tools": [...]}`.
    ///
    /// # Errors
    ///
    /// Returns an error if the bridge does not answer, or refuses the request.
    pub async fn list(&self) -> Result<String, RouteError> {
        self.request("tools", None, HeaderMap::new()).await
    }

    /// Returns the JSON of the list of pages, `{"sessions": [...]}`.
    ///
    /// # Errors
    ///
    /// Returns an error if the bridge does not answer, or refuses the request.
    pub async fn sessions(&self) -> Result<String, RouteError> {
        self.request("sessions", None, HeaderMap::new()).await
    }

    /// Returns the JSON of the list of tools as an AI client with this name gets it from the MCP endpoint.
    ///
    /// # Errors
    ///
    /// Returns an error if the bridge does not answer, or refuses the request.
    pub async fn list_as(&self, client: &str) -> Result<String, RouteError> {
        const TOOL_LIST: &str = "tools/list";
        let info = json!({ "name": client, "version": env!("CARGO_PKG_VERSION") });
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": STATELESS_VERSION,
            "io.modelcontextprotocol/clientInfo": info,
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let request = json!({
            "jsonrpc": "2.0", "id": 1, "method": TOOL_LIST, "params": { "_meta": meta },
        });
        let headers = [
            (
                PROTOCOL_VERSION,
                HeaderValue::from_static(STATELESS_VERSION),
            ),
            (METHOD, HeaderValue::from_static(TOOL_LIST)),
        ];
        let body = Some(request.to_string());
        let answer = self
            .request("", body, headers.into_iter().collect())
            .await?;
        match message::parse_result(&answer) {
            Some(result) => Ok(result.get().to_owned()),
            None => Err(self.error(BridgeError::not_mcp())),
        }
    }

    /// Calls a tool with a JSON object, in the page with this session if there is one, and returns the JSON
    /// of the result, as MCP defines it.
    ///
    /// # Errors
    ///
    /// Returns an error if the bridge does not answer, or refuses the request. A tool that fails is a result
    /// with `isError`.
    pub async fn call(
        &self,
        name: &str,
        arguments: &RawValue,
        session: Option<&str>,
    ) -> Result<String, RouteError> {
        let request = ToolCallRequest {
            tool_name: name,
            tool_input: arguments,
            session_id: session,
        };
        // It has only texts and JSON.
        let body = serde_json::to_string(&request).unwrap_or_default();
        self.request("tool-call", Some(body), HeaderMap::new())
            .await
    }

    async fn request(
        &self,
        route: &str,
        body: Option<String>,
        headers: HeaderMap,
    ) -> Result<String, RouteError> {
        let answer = self.http.request_route(route, body, headers).await;
        answer.map_err(|error| self.error(error))
    }

    fn error(&self, error: BridgeError) -> RouteError {
        let url = self.url.clone();
        RouteError { error, url }
    }
}

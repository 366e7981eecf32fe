//! A client of MCP 2026-07-28, which has no sessions: each request contains the client's info.

use bridge::ServerHandle;
use serde_json::{Value, json};

use super::{CLIENT_NAME, TOKEN, http_client, rpc_request, rpc_response, with_deadline};

pub(crate) const STATELESS_REVISION: &str = "2026-07-28";

/// A client of the stateless revision.
pub(crate) struct StatelessClient<'a> {
    pub(crate) bridge: &'a ServerHandle,
    pub(crate) token: &'a str,
    pub(crate) name: &'a str,
    pub(crate) capabilities: Value,
}

impl<'a> StatelessClient<'a> {
    pub(crate) fn new(bridge: &'a ServerHandle) -> Self {
        Self::with_capabilities(bridge, json!({}))
    }

    pub(crate) fn with_capabilities(bridge: &'a ServerHandle, capabilities: Value) -> Self {
        Self {
            bridge,
            token: TOKEN,
            name: CLIENT_NAME,
            capabilities,
        }
    }

    /// Builds a request with the headers that the revision requires.
    pub(crate) fn build(&self, method: &str, params: Value) -> reqwest::RequestBuilder {
        let params = with_client_meta(params, self.name, &self.capabilities);
        let mut request = http_client()
            .post(format!("{}/mcp", self.bridge.url()))
            .bearer_auth(self.token)
            .header("accept", "application/json, text/event-stream");
        for (name, value) in stateless_headers(method, &params) {
            request = request.header(name, value);
        }
        request.json(&rpc_request(1, method, params))
    }

    /// Sends a request, and returns the HTTP response.
    pub(crate) async fn send(&self, method: &str, params: Value) -> reqwest::Response {
        let response = self.build(method, params).send();
        with_deadline("HTTP response", response).await.unwrap()
    }

    /// Sends a request, and returns the JSON-RPC response.
    pub(crate) async fn request(&self, method: &str, params: Value) -> Value {
        rpc_response(self.send(method, params).await).await
    }
}

/// Adds to `params` the `_meta` members that the revision requires in every request. Existing
/// members are not changed, nor is a `_meta` that is not an object.
pub(crate) fn with_client_meta(mut params: Value, name: &str, capabilities: &Value) -> Value {
    let members = [
        ("protocolVersion", json!(STATELESS_REVISION)),
        ("clientInfo", json!({ "name": name, "version": "1.0.0" })),
        ("clientCapabilities", capabilities.clone()),
    ];
    for (key, value) in members {
        let key = format!("io.modelcontextprotocol/{key}");
        let meta = &params["_meta"];
        if (meta.is_null() || meta.is_object()) && meta.get(&key).is_none() {
            params["_meta"][key] = value;
        }
    }
    params
}

/// The headers that repeat parts of the body (SEP-2243): the revision, the method, and the name or
/// URI in the parameters, if there is one.
pub(crate) fn stateless_headers(method: &str, params: &Value) -> Vec<(&'static str, String)> {
    let mut headers = vec![
        ("mcp-protocol-version", STATELESS_REVISION.to_owned()),
        ("mcp-method", method.to_owned()),
    ];
    let name = params["name"].as_str().or(params["uri"].as_str());
    headers.extend(name.map(|name| ("mcp-name", name.to_owned())));
    headers
}

//! A script that calls tools without MCP.

use reqwest::{Method, Response};
use serde_json::{Value, json};

use super::http;
use crate::{BridgeEndpoint, poll_pause, with_deadline};

/// A plain HTTP client with the test bed's token.
#[derive(Clone)]
pub struct PlainHttp {
    url: String,
    token: String,
    client: reqwest::Client,
}

impl PlainHttp {
    /// Creates a client of `bed`.
    pub fn new(bed: &impl BridgeEndpoint) -> Self {
        Self {
            url: bed.url(),
            token: bed.token().to_owned(),
            client: http(),
        }
    }

    /// Replaces the token, for example by that of a query.
    #[must_use]
    pub fn with_token(mut self, token: &str) -> Self {
        token.clone_into(&mut self.token);
        self
    }

    /// Sends `POST /tool-call`. Dropping the future disconnects, which cancels the call.
    pub async fn call(&self, tool: &str, input: Value) -> reqwest::Result<Value> {
        self.post(json!({ "toolName": tool, "toolInput": input }))
            .await
    }

    /// Calls a tool as soon as its page has registered it, which it does after it has connected.
    pub async fn call_when_registered(&self, tool: &str, input: Value) -> Value {
        let called = async {
            loop {
                let answer = self.call(tool, input.clone()).await.unwrap();
                let codes = [&answer["error"], &answer["_meta"]["mcp-web/error"]["code"]];
                let is_missing = ["ToolNotFound", "SessionNotFound", "NoSessionsFound"]
                    .iter()
                    .any(|missing| codes.iter().any(|code| *code == missing));
                if !is_missing {
                    return answer;
                }
                poll_pause().await;
            }
        };
        with_deadline("the tool to be registered", called).await
    }

    /// Sends `POST /tool-call` with the id of a session.
    pub(crate) async fn call_in_session(
        &self,
        session: &str,
        tool: &str,
        input: Value,
    ) -> reqwest::Result<Value> {
        self.post(json!({ "toolName": tool, "toolInput": input, "sessionId": session }))
            .await
    }

    async fn post(&self, body: Value) -> reqwest::Result<Value> {
        let response = self
            .request(Method::POST, "/tool-call")
            .json(&body)
            .send()
            .await?;
        response.json().await
    }

    /// Posts a body to a URL that contains its own credential.
    pub async fn post_json(url: &str, body: &Value) -> Value {
        Self::send_json(Method::POST, url, body).await
    }

    /// Sends a body with any method to a URL that contains its own credential.
    pub async fn send_json(method: Method, url: &str, body: &Value) -> Value {
        let answer = async {
            let response = http().request(method, url).json(body).send().await?;
            response.json().await
        };
        let answer: reqwest::Result<Value> = with_deadline("an answer", answer).await;
        answer.unwrap_or_else(|error| panic!("{body}: {error}"))
    }

    /// Sends `GET path`.
    pub async fn get(&self, path: &str) -> Response {
        with_deadline(path, self.request(Method::GET, path).send())
            .await
            .unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.client
            .request(method, format!("{}{path}", self.url))
            .bearer_auth(&self.token)
    }
}

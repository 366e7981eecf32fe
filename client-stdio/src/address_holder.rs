//! The program that answers at the address of a bridge, found out without a token.

use std::time::Duration;

use http::StatusCode;
use http::header::{ACCEPT, USER_AGENT};
use reqwest::{Client, RequestBuilder, Response, Url};
use serde::Deserialize;
use serde_json::Value;

use crate::bridge_http::{COMMAND_USER_AGENT, http_client};

/// How long a program may take for an answer. A bridge of this machine answers within milliseconds.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);

/// The maximum size of an answer. The description of a bridge may have an icon of 64 KiB, twice.
const MAX_ANSWER_BYTES: usize = 256 * 1024;

/// The error code of a bridge for a route that it does not have.
const UNKNOWN_ROUTE: &str = "UnknownMethod";

/// The program that answers at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AddressHolder {
    /// Nothing accepts connections.
    Nothing,
    /// A bridge.
    Bridge {
        /// Its name, which the operator chooses.
        name: String,
        /// Its version.
        version: String,
        /// The body of its answer to the route that it was asked for, if the route exists.
        route_answer: Option<String>,
    },
    /// Another program, for this reason.
    OtherProgram(String),
}

/// The description of itself that a bridge returns at its root. It has no further members.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BridgeDescription {
    name: String,
    version: String,
    #[serde(rename = "description")]
    _description: String,
    #[serde(rename = "icon")]
    _icon: Option<String>,
    #[serde(rename = "icons")]
    _icons: Option<Value>,
}

impl AddressHolder {
    /// Finds out which program answers at the address of an endpoint. A bridge is asked for a further route
    /// as well, which not all of them have. No request has a token.
    pub async fn find(url: &Url, route: &str) -> Self {
        let finding = find(url, route);
        match tokio::time::timeout(ANSWER_TIMEOUT, finding).await {
            Ok(Ok(holder)) => holder,
            Ok(Err(reason)) => Self::OtherProgram(reason),
            Err(_) => Self::OtherProgram("it does not answer".to_owned()),
        }
    }

    /// Posts a text to a route at the address of an endpoint. Returns whether it was accepted.
    pub async fn post(url: &Url, route: &str, text: String) -> bool {
        let Ok(http) = http_client(url) else {
            return false;
        };
        let request = http.post(route_url(url, route)).body(text);
        let sending = tokio::time::timeout(ANSWER_TIMEOUT, send(request));
        matches!(sending.await, Ok(Ok(response)) if response.status().is_success())
    }
}

async fn find(url: &Url, route: &str) -> Result<AddressHolder, String> {
    let http = http_client(url).map_err(|error| error.command_message(url.as_str()))?;
    let root = match request(&http, url, ".").await {
        Ok(response) => read(response).await?,
        Err(error) if error.is_connect() => return Ok(AddressHolder::Nothing),
        Err(_) => return Err("it does not answer HTTP requests".to_owned()),
    };
    let not_bridge = || "it does not describe itself as bridges do".to_owned();
    let BridgeDescription { name, version, .. } =
        serde_json::from_str(&root).map_err(|_| not_bridge())?;
    let response = match request(&http, url, route).await {
        Ok(response) => response,
        Err(error) if error.is_connect() => return Ok(AddressHolder::Nothing),
        Err(_) => return Err(not_bridge()),
    };
    let status = response.status();
    let answer = read(response).await?;
    // A bridge with `compat` answers all routes like the root.
    let is_unknown = answer == root || has_error_code(&answer, UNKNOWN_ROUTE);
    if !is_unknown && status != StatusCode::OK {
        return Err(not_bridge());
    }
    Ok(AddressHolder::Bridge {
        name,
        version,
        route_answer: (!is_unknown).then_some(answer),
    })
}

async fn request(http: &Client, url: &Url, route: &str) -> Result<Response, reqwest::Error> {
    let request = http.get(route_url(url, route));
    send(request.header(ACCEPT, "application/json")).await
}

async fn send(request: RequestBuilder) -> Result<Response, reqwest::Error> {
    request.header(USER_AGENT, COMMAND_USER_AGENT).send().await
}

/// The route is a constant, and the URL has a host.
fn route_url(url: &Url, route: &str) -> Url {
    url.join(route).unwrap_or_else(|_| url.clone())
}

async fn read(mut response: Response) -> Result<String, String> {
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if body.len() + chunk.len() <= MAX_ANSWER_BYTES => {
                body.extend_from_slice(&chunk);
            }
            Ok(None) => break,
            _ => return Err("its answer is too long or incomplete".to_owned()),
        }
    }
    String::from_utf8(body).map_err(|_| "its answer is not text".to_owned())
}

fn has_error_code(body: &str, code: &str) -> bool {
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    body["error"] == code && body["message"].is_string()
}

//! Links that install the server when a person opens them, in the schemes of the clients. A link over
//! the website of a client would send the token to that website.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bridge_settings::Secret;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use crate::client::Member;
use crate::client_entry::ClientEntry;

/// The id of the input with which VS Code asks for the token.
const TOKEN_INPUT: &str = "mcp-web-token";

/// Returns the link for Cursor. It has the token.
pub(crate) fn cursor_link(name: &str, entry: &Value) -> String {
    let config = STANDARD.encode(entry.to_string());
    format!(
        "cursor://anysphere.cursor-deeplink/mcp/install?name={}&config={}",
        encoded(name),
        encoded(&config)
    )
}

/// Returns the link for VS Code. It does not have the token: VS Code asks for it and stores it
/// encrypted.
pub(crate) fn vscode_link(entry: &ClientEntry, members: &[Member]) -> String {
    let token = Secret::from_trusted(format!("${{input:{TOKEN_INPUT}}}"));
    let entry = ClientEntry {
        token: Some(token),
        ..entry.clone()
    };
    let mut config = entry.value(members);
    config["name"] = entry.name.as_str().into();
    config["inputs"] = json!([{
        "id": TOKEN_INPUT,
        "type": "promptString",
        "description": "The token of the page: AUTH_TOKEN in its configuration panel",
        "password": true,
    }]);
    format!("vscode:mcp/install?{}", encoded(&config.to_string()))
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

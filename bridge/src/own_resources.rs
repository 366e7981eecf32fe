//! The bridge's own resources: who is connected, for clients that read rather than call.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use crate::auth::RealmId;
use crate::hub::Hub;
use crate::meta_tools;

/// The pages of the token.
pub(crate) const SESSIONS: &str = "sessions://list";

/// Whether a page is connected.
pub(crate) const STATUS: &str = "status://connection";

/// Their definitions, in the order of the list.
pub(crate) static DEFINITIONS: LazyLock<Vec<Map<String, Value>>> = LazyLock::new(|| {
    let own = |uri: &str, name: &str, description: &str| {
        let definition = json!({
            "uri": uri,
            "name": name,
            "description": description,
            "mimeType": "application/json",
        });
        definition.as_object().cloned().unwrap_or_default()
    };
    vec![
        own(
            SESSIONS,
            "sessions",
            "The pages that are connected for this token, as a JSON array",
        ),
        own(
            STATUS,
            "connection",
            "Whether a page is connected for this token, as a JSON object",
        ),
    ]
});

/// Whether the URI belongs to one of them.
pub(crate) fn is_one(uri: &str) -> bool {
    [SESSIONS, STATUS].contains(&uri)
}

/// The content of one of them, as JSON text.
pub(crate) fn read(hub: &Hub, realm: RealmId, uri: &str) -> Option<String> {
    match uri {
        SESSIONS => {
            let sessions = hub.read(realm, |realm| realm.sessions());
            Some(json!(sessions.unwrap_or_default()).to_string())
        }
        STATUS => Some(meta_tools::connection_status(hub, realm).to_string()),
        _ => None,
    }
}

//! The bridge's own resources: who is connected, for clients that read rather than call.

use std::sync::LazyLock;

use bridge_protocol::{OWN_RESOURCES, SESSIONS_URI, STATUS_URI};
use serde_json::{Map, Value, json};

use crate::auth::RealmId;
use crate::hub::Hub;
use crate::meta_tools;

/// Their definitions, in the order of the list.
pub(crate) static DEFINITIONS: LazyLock<Vec<Map<String, Value>>> =
    LazyLock::new(|| serde_json::from_str(OWN_RESOURCES).unwrap_or_default());

/// Whether the URI belongs to one of them.
pub(crate) fn is_one(uri: &str) -> bool {
    [SESSIONS_URI, STATUS_URI].contains(&uri)
}

/// The content of one of them, as JSON text.
pub(crate) fn read(hub: &Hub, realm: RealmId, uri: &str) -> Option<String> {
    match uri {
        SESSIONS_URI => {
            let sessions = hub.read(realm, |realm| realm.sessions());
            Some(json!(sessions.unwrap_or_default()).to_string())
        }
        STATUS_URI => Some(meta_tools::connection_status(hub, realm).to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_two_and_their_uris_are_known() {
        let uris: Vec<_> = DEFINITIONS
            .iter()
            .map(|resource| resource["uri"].as_str().unwrap())
            .collect();
        assert_eq!(uris, [SESSIONS_URI, STATUS_URI]);
        assert!(uris.iter().all(|uri| is_one(uri)));
        assert!(!is_one("board://cards"));
    }
}

//! The ids of MCP sessions. With a key that survives a restart, an id contains what its session needs
//! to continue in the next life of the bridge: the parameters of `initialize`. It is sealed for the
//! realm, and readable: the client has sent them itself.

use std::sync::Arc;

use bridge_auth::{RealmId, unix_seconds};
use bridge_edge::{StateFolder, StateFolderError, derive_key};
use bridge_settings::Secret;
use rmcp::model::{
    Implementation, InitializeRequestParams, ProtocolVersion, RequestStateCodec, SealOptions,
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::ended_ids::{EndedIds, UniqueId};
use super::rmcp_conversions;

/// The purpose of the key.
const PURPOSE: &str = "id of an MCP session";

/// The maximum length of an id in bytes. Proxies limit headers. A client whose parameters are longer gets
/// an id that cannot be restored.
const MAX_ID_BYTES: usize = 2 * 1024;

/// Creates ids, and reads those that this bridge has created, also before a restart.
pub(crate) struct SessionIds {
    /// Seals ids, if there is a key that survives a restart.
    codec: Option<RequestStateCodec>,
    ended: EndedIds,
}

/// The content of an id that can be restored.
#[derive(Serialize, Deserialize)]
struct IdContent {
    #[serde(rename = "id")]
    unique: String,
    /// When the id was made, in Unix seconds.
    #[serde(rename = "at")]
    made_at: u64,
    #[serde(rename = "init")]
    params: InitializeRequestParams,
}

/// A session that can be restored, unless it has ended.
pub(super) struct RestorableSession {
    id: UniqueId,
    /// The parameters of its `initialize`, with the version that was negotiated.
    pub(super) params: InitializeRequestParams,
}

impl SessionIds {
    /// Creates the ids with the key, if there is one, and loads those that have ended.
    ///
    /// # Errors
    ///
    /// See [`EndedIds::load`].
    pub(crate) fn load(
        key: Option<&Secret>,
        folder: Option<&StateFolder>,
    ) -> Result<Self, StateFolderError> {
        let codec = key.map(|key| RequestStateCodec::new(derive_key(key, PURPOSE)));
        let ended = EndedIds::load(folder)?;
        Ok(Self { codec, ended })
    }

    /// Creates the id of a new session. `version` is the negotiated one.
    pub(super) fn create(
        &self,
        realm: RealmId,
        params: &InitializeRequestParams,
        version: &ProtocolVersion,
    ) -> Arc<str> {
        let sealed = self.seal(realm, params, version, unix_seconds());
        sealed.map_or_else(Self::create_unrestorable, Into::into)
    }

    /// Creates the id of a session that ends with this process.
    pub(super) fn create_unrestorable() -> Arc<str> {
        Uuid::new_v4().to_string().into()
    }

    fn seal(
        &self,
        realm: RealmId,
        params: &InitializeRequestParams,
        version: &ProtocolVersion,
        now: u64,
    ) -> Option<String> {
        let content = IdContent {
            unique: Uuid::new_v4().simple().to_string(),
            made_at: now,
            params: essential_params(params, version),
        };
        let options = SealOptions::new().associated_data(realm.as_bytes());
        let sealed = self.codec.as_ref()?.seal_json_with(&content, &options);
        sealed.ok().filter(|id| id.len() <= MAX_ID_BYTES)
    }

    /// Returns the session of an id that this realm got from a bridge with this key.
    pub(super) fn open(&self, realm: RealmId, id: &str) -> Option<RestorableSession> {
        self.open_at(realm, id, unix_seconds())
    }

    fn open_at(&self, realm: RealmId, id: &str, now: u64) -> Option<RestorableSession> {
        let codec = self.codec.as_ref()?;
        if id.len() > MAX_ID_BYTES {
            return None;
        }
        let content: IdContent = codec.open_json_with(id, realm.as_bytes()).ok()?;
        let number = Uuid::parse_str(&content.unique).ok()?.as_u128();
        let id = UniqueId::new(realm, number, content.made_at);
        let params = content.params;
        (!id.is_expired(now)).then_some(RestorableSession { id, params })
    }

    /// Calls `restore` unless the client has ended the session. Only one thread restores at a time.
    pub(super) fn unless_ended<T>(
        &self,
        session: &RestorableSession,
        restore: impl FnOnce() -> T,
    ) -> Option<T> {
        self.ended.unless_ended(session.id, unix_seconds(), restore)
    }

    /// Records that the session of an id must not be restored. Returns false if it could not be
    /// restored before.
    pub(super) fn end(&self, realm: RealmId, id: &str) -> bool {
        let Some(session) = self.open(realm, id) else {
            return false;
        };
        if self.unless_ended(&session, || ()).is_none() {
            return false;
        }
        self.ended.insert(session.id, unix_seconds());
        true
    }

    /// Ensures that the session of an id is restored with these parameters or not at all.
    pub(super) fn client_replaced(
        &self,
        realm: RealmId,
        id: &str,
        params: &InitializeRequestParams,
        version: &ProtocolVersion,
    ) {
        let params = essential_params(params, version);
        if self.open(realm, id).is_some_and(|it| it.params != params) {
            self.end(realm, id);
        }
    }
}

/// The parameters that the bridge uses.
fn essential_params(
    params: &InitializeRequestParams,
    version: &ProtocolVersion,
) -> InitializeRequestParams {
    let info = rmcp_conversions::client_info(params.client_info.clone());
    let mut client = Implementation::new(info.name, info.version.unwrap_or_default());
    client.title = info.title;
    InitializeRequestParams::new(params.capabilities.clone(), client)
        .with_protocol_version(version.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::ended_ids::MAX_AGE_SECONDS;
    use super::super::rmcp_conversions::MAX_CLIENT_INFO_CHARS;
    use super::*;

    const NOW: u64 = 1_800_000_000;

    fn ids_with(key: &str) -> SessionIds {
        SessionIds::load(Some(&key.parse().unwrap()), None).unwrap()
    }

    fn ids() -> SessionIds {
        ids_with("a-secret-of-at-least-32-characters")
    }

    fn params(client: Value, capabilities: Value) -> InitializeRequestParams {
        serde_json::from_value(
            json!({ "protocolVersion": "2025-11-25", "clientInfo": client,
            "capabilities": capabilities }),
        )
        .unwrap()
    }

    fn some_params() -> InitializeRequestParams {
        let icon = format!("data:image/png;base64,{}", "A".repeat(100_000));
        let client = json!({ "name": "n", "version": "1", "title": "N", "description": "d",
            "websiteUrl": "https://n.example", "icons": [{ "src": icon }] });
        params(
            client,
            json!({ "elicitation": {}, "roots": { "listChanged": true } }),
        )
    }

    fn realm() -> RealmId {
        RealmId::from_token("token")
    }

    fn seal(ids: &SessionIds, params: &InitializeRequestParams) -> Option<String> {
        ids.seal(realm(), params, &ProtocolVersion::V_2025_06_18, NOW)
    }

    #[test]
    fn an_id_contains_what_its_session_needs() {
        let id = seal(&ids(), &some_params()).unwrap();
        assert!(id.bytes().all(|byte| byte.is_ascii_graphic()), "{id}");
        assert!(id.len() < 500, "{} bytes", id.len());
        let opened = ids().open_at(realm(), &id, NOW).unwrap();
        assert_eq!(
            opened.params.protocol_version,
            ProtocolVersion::V_2025_06_18
        );
        assert_eq!(opened.params.capabilities, some_params().capabilities);
        assert_eq!(opened.params.client_info.name, "n");
        assert_eq!(opened.params.client_info.title.as_deref(), Some("N"));
        assert_ne!(seal(&ids(), &some_params()).unwrap(), id, "ids are unique");
    }

    #[test]
    fn only_an_unchanged_id_of_its_realm_and_key_is_opened_for_a_day() {
        let id = seal(&ids(), &some_params()).unwrap();
        let open = |ids: &SessionIds, id: &str, now| ids.open_at(realm(), id, now).is_some();
        // The clock may go back.
        for now in [NOW, NOW + MAX_AGE_SECONDS - 1, NOW - MAX_AGE_SECONDS + 1] {
            assert!(open(&ids(), &id, now), "{now}");
        }
        for now in [NOW + MAX_AGE_SECONDS, u64::MAX, NOW - MAX_AGE_SECONDS, 0] {
            assert!(!open(&ids(), &id, now), "{now}");
        }
        let other_realm = RealmId::from_token("other");
        assert!(ids().open_at(other_realm, &id, NOW).is_none());
        let other_key = ids_with("another-secret-of-32-characters-.");
        assert!(!open(&other_key, &id, NOW));
        let without_key = SessionIds::load(None, None).unwrap();
        assert!(!open(&without_key, &id, NOW) && seal(&without_key, &some_params()).is_none());
        for index in 0..id.len() {
            let mut changed = id.clone().into_bytes();
            changed[index] ^= 1;
            let changed = String::from_utf8(changed).unwrap();
            assert!(!open(&ids(), &changed, NOW), "{index}: {changed}");
            assert!(!open(&ids(), &id[..index], NOW), "{index}");
        }
        for garbage in [
            "",
            ".",
            "rs1..",
            "rs1.é.é",
            &id.repeat(9),
            &format!("{id} "),
        ] {
            assert!(!open(&ids(), garbage, NOW), "{garbage}");
        }
    }

    #[test]
    fn a_state_of_a_call_is_not_an_id() {
        let key = "a-secret-of-at-least-32-characters".parse().unwrap();
        let codec = RequestStateCodec::new(derive_key(&key, "another purpose"));
        let content = IdContent {
            unique: Uuid::nil().simple().to_string(),
            made_at: NOW,
            params: some_params(),
        };
        let options = SealOptions::new();
        let bytes = realm();
        let options = options.associated_data(bytes.as_bytes());
        let sealed = codec.seal_json_with(&content, &options).unwrap();
        assert!(ids().open_at(realm(), &sealed, NOW).is_none());
    }

    #[test]
    fn long_parameters_make_an_id_that_cannot_be_restored() {
        let long = json!({ "experimental": { "x": { "y": "z".repeat(MAX_ID_BYTES) } } });
        let client = json!({ "name": "n", "version": "1" });
        let long = params(client, long);
        assert!(seal(&ids(), &long).is_none());
        let id = ids().create(realm(), &long, &ProtocolVersion::V_2025_06_18);
        assert_eq!(id.len(), 36);
        assert!(ids().open(realm(), &id).is_none());
        // Long names are cut, as they are for pages.
        let name = "n".repeat(100_000);
        let long = params(
            json!({ "name": name, "version": name, "title": name }),
            json!({}),
        );
        let id = seal(&ids(), &long).unwrap();
        let opened = ids().open_at(realm(), &id, NOW).unwrap();
        assert_eq!(opened.params.client_info.name.len(), MAX_CLIENT_INFO_CHARS);
    }

    #[test]
    fn an_ended_id_is_not_restored() {
        let ids = ids();
        let version = ProtocolVersion::V_2025_11_25;
        let id = ids.create(realm(), &some_params(), &version);
        let is_restored = |id: &str| {
            let session = ids.open(realm(), id).unwrap();
            ids.unless_ended(&session, || ()).is_some()
        };
        ids.client_replaced(realm(), &id, &some_params(), &version);
        assert!(is_restored(&id));
        assert!(!ids.end(RealmId::from_token("other"), &id) && is_restored(&id));
        assert!(ids.end(realm(), &id));
        assert!(!ids.end(realm(), &id) && !is_restored(&id));
        // A session whose client has changed is not restored with the former one.
        let id = ids.create(realm(), &some_params(), &version);
        let other = params(json!({ "name": "other", "version": "1" }), json!({}));
        ids.client_replaced(realm(), &id, &other, &version);
        assert!(!is_restored(&id));
    }
}

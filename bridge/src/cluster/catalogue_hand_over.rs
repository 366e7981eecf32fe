//! The closed apps of a realm that leaves a node go to another one, so that clients still see their tools.
//!
//! `POST /_cluster/hand-over` has the realm and its apps in the body. The header of the node covers the
//! hash of the body, which is in the query.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bridge_auth::RealmId;
use bridge_cluster::{ClaimHolder, Peer, RealmKey};
use bridge_protocol::Definition;
use bridge_realm::definition::DefinitionRegistry;
use bridge_realm::realm::ClosedApp;
use bytes::Bytes;
use http::uri::PathAndQuery;
use http::{Method, StatusCode};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::time::timeout;

use super::node::ClusterNode;

/// The route by which a node hands the catalogue of a realm over.
pub(crate) const HAND_OVER_PATH: &str = "/_cluster/hand-over";

/// The name of the hash in the query.
const HASH: &str = "sha256=";

/// How long another node may take for a catalogue: it writes a record and parses the definitions.
const HAND_OVER_TIMEOUT: Duration = Duration::from_secs(2);

/// The catalogue of a realm in the body of a request.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CatalogueHandOver {
    /// The realm in hexadecimal digits.
    realm: String,
    /// The oldest first.
    apps: Vec<CatalogueApp>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CatalogueApp {
    name: String,
    origin: Option<String>,
    listed_for_ms: u64,
    definitions: Vec<Definition>,
}

/// The body of a request is not a catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InvalidHandOver;

impl CatalogueHandOver {
    fn new(realm: RealmId, apps: Vec<ClosedApp>) -> serde_json::Result<Self> {
        let apps = apps.into_iter().map(|app| {
            let definitions = app.definitions.iter();
            let definitions = definitions.map(|definition| definition.to_registration());
            Ok(CatalogueApp {
                name: app.name,
                origin: app.origin,
                listed_for_ms: u64::try_from(app.listed_for.as_millis()).unwrap_or(u64::MAX),
                definitions: definitions.collect::<serde_json::Result<_>>()?,
            })
        });
        Ok(Self {
            realm: realm.to_hex(),
            apps: apps.collect::<serde_json::Result<_>>()?,
        })
    }

    /// Decodes the body of a request with this query.
    ///
    /// # Errors
    ///
    /// When it is another body than the node has sent, or not a catalogue.
    pub(crate) fn decode(query: Option<&str>, body: &[u8]) -> Result<Self, InvalidHandOver> {
        let hash = query.and_then(|query| query.strip_prefix(HASH));
        if hash != Some(&hash_of(body)) {
            return Err(InvalidHandOver);
        }
        serde_json::from_slice(body).map_err(|_| InvalidHandOver)
    }

    /// The realm of the catalogue.
    pub(crate) fn realm(&self) -> Option<RealmId> {
        RealmId::from_hex(&self.realm)
    }

    /// The size of the definitions in bytes.
    pub(crate) fn definition_bytes(&self) -> usize {
        let definitions = self.apps.iter().flat_map(|app| &app.definitions);
        definitions.map(|it| it.definition.get().len()).sum()
    }

    /// Parses the definitions as those of pages. Those that this node does not accept are left out.
    pub(crate) fn parse(self, definitions: &DefinitionRegistry) -> Vec<ClosedApp> {
        let parse = |app: CatalogueApp| {
            let parsed = definitions.parse(&app.definitions).into_iter();
            ClosedApp {
                name: app.name,
                origin: app.origin,
                definitions: parsed.flatten().collect(),
                listed_for: Duration::from_millis(app.listed_for_ms),
            }
        };
        self.apps.into_iter().map(parse).collect()
    }
}

fn hash_of(body: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(body))
}

impl ClusterNode {
    /// Hands the catalogue of a realm that this node has given away over to the node that has the realm now,
    /// or else to the one that takes it for that.
    pub(super) async fn hand_catalogue_over(self: &Arc<Self>, key: RealmKey, realm: RealmId) {
        let hub = self.hub.upgrade();
        let Some((address, apps)) = hub.and_then(|hub| hub.closed_apps(realm)) else {
            return;
        };
        let Ok(catalogue) =
            CatalogueHandOver::new(realm, apps).and_then(|it| serde_json::to_vec(&it))
        else {
            return;
        };
        let sent = async {
            // The realm is closed afterwards, so the time of waiting counts as well.
            let _permit = self.claims.hand_overs.acquire().await;
            self.send_catalogue(key, Bytes::from(catalogue), address.ip())
                .await
        };
        if timeout(HAND_OVER_TIMEOUT, sent).await != Ok(true) {
            tracing::warn!(
                realm = ?key,
                "the closed apps of a token are no longer listed: no other bridge has taken them"
            );
        }
    }

    /// Sends a catalogue. Returns whether another node has taken it.
    async fn send_catalogue(&self, key: RealmKey, catalogue: Bytes, client: IpAddr) -> bool {
        let path = format!("{HAND_OVER_PATH}?{HASH}{}", hash_of(&catalogue));
        let Ok(path) = PathAndQuery::try_from(path) else {
            return false;
        };
        // A page may have claimed the realm for yet another node, while it was sent to the successor.
        for _ in 0..2 {
            let Some(owner) = self.next_owner(&key).await else {
                return false;
            };
            let request = (Method::POST, path.clone(), catalogue.clone());
            match self.send_to(&owner, key, client, request).await {
                Ok(StatusCode::NO_CONTENT) => return true,
                Ok(StatusCode::MISDIRECTED_REQUEST) => {}
                _ => return false,
            }
        }
        false
    }

    /// Finds the node that has a realm which this one has given away, or would get it.
    async fn next_owner(&self, key: &RealmKey) -> Option<Peer> {
        match self.find_claim(key).await.ok()? {
            Some((
                ClaimHolder::Other {
                    node,
                    address,
                    is_alive: true,
                },
                _,
            )) => Some(Peer { id: node, address }),
            _ => self.successor(key),
        }
    }
}

#[cfg(test)]
mod tests {
    use bridge_realm::definition::DefinitionLimits;
    use serde_json::json;
    use serde_json::value::to_raw_value;

    use super::*;

    #[test]
    fn a_catalogue_arrives_unchanged_and_only_with_its_hash() {
        let limits = DefinitionLimits { max_bytes: 1_000 };
        let former = DefinitionRegistry::new(|_, _| Ok(()), limits);
        let sent: Vec<_> = [
            (bridge_protocol::Kind::Tool, json!({ "name": "t" })),
            (bridge_protocol::Kind::Prompt, json!({ "name": "p" })),
            (
                bridge_protocol::Kind::Resource,
                json!({ "name": "r", "uri": "app://r" }),
            ),
            (
                bridge_protocol::Kind::ResourceTemplate,
                json!({ "name": "l", "uriTemplate": "app://{x}" }),
            ),
        ]
        .map(|(kind, definition)| Definition {
            kind,
            definition: to_raw_value(&definition).unwrap(),
        })
        .into();
        let app = ClosedApp {
            name: "App".to_owned(),
            origin: None,
            definitions: former.parse(&sent).into_iter().flatten().collect(),
            listed_for: Duration::from_secs(5),
        };
        assert_eq!(app.definitions.len(), sent.len());
        let realm = RealmId::from_token("token");
        let catalogue = CatalogueHandOver::new(realm, vec![app.clone()]).unwrap();
        let body = serde_json::to_vec(&catalogue).unwrap();
        let query = format!("{HASH}{}", hash_of(&body));
        let decoded = CatalogueHandOver::decode(Some(&query), &body).unwrap();
        assert_eq!(decoded.realm(), Some(realm));
        let [parsed] = &decoded.parse(&former)[..] else {
            panic!("not one app")
        };
        assert_eq!(
            (&parsed.name, parsed.listed_for),
            (&app.name, app.listed_for)
        );
        let published = |app: &ClosedApp| -> Vec<_> {
            let definitions = app.definitions.iter();
            definitions.map(|it| it.published().clone()).collect()
        };
        assert_eq!(published(parsed), published(&app));

        // A node with lower limits leaves out what is too large.
        let limits = DefinitionLimits { max_bytes: 5 };
        let lower = DefinitionRegistry::new(|_, _| Ok(()), limits);
        let decoded = CatalogueHandOver::decode(Some(&query), &body).unwrap();
        assert!(decoded.parse(&lower)[0].definitions.is_empty());

        for (query, body) in [
            (None, &body[..]),
            (Some(&*query), &body[1..]),
            (Some(&*format!("{HASH}{}", hash_of(b"{}"))), b"{}"),
        ] {
            assert_eq!(
                CatalogueHandOver::decode(query, body).err(),
                Some(InvalidHandOver)
            );
        }
    }
}

//! The connected MCP clients of a token, and the resources they are subscribed to.

use bridge_protocol::{
    BridgeToPage, Clients, ConnectedClient, ErrorCode, SessionId, Subscriptions,
};
use indexmap::IndexSet;

use super::{ClientId, ConnectionId, Effect, Effects, Realm, Refusal};

/// A connected MCP client.
#[derive(Debug)]
pub(super) struct Client {
    info: ConnectedClient,
    subscriptions: IndexSet<String>,
}

impl Realm {
    /// An MCP client connected. Pages hear of it.
    pub(crate) fn client_connected(
        &mut self,
        id: ClientId,
        client: ConnectedClient,
    ) -> Result<Effects, Refusal> {
        if self.clients.len() >= self.limits.clients {
            return Err(Refusal {
                code: ErrorCode::SessionLimitExceeded,
                message: format!(
                    "{} clients are connected with this token, which is the limit: close some, or \
                     raise `max_clients`",
                    self.limits.clients
                ),
            });
        }
        let client = Client {
            info: client,
            subscriptions: IndexSet::new(),
        };
        self.clients.insert(id, client);
        Ok(self.tell_clients())
    }

    /// An MCP client left.
    pub(crate) fn client_left(&mut self, id: ClientId) -> Effects {
        let Some(client) = self.clients.shift_remove(&id) else {
            return Effects::new();
        };
        let mut effects = self.tell_clients();
        if !client.subscriptions.is_empty() {
            effects.extend(self.tell_subscriptions());
        }
        effects
    }

    /// How many MCP clients are connected.
    pub(crate) fn client_count(&self) -> usize {
        self.clients.len()
    }

    /// A client wants to hear when a resource changes.
    pub(crate) fn subscribed(&mut self, id: ClientId, uri: String) -> Result<Effects, Refusal> {
        let most = self.limits.subscriptions_per_client;
        let Some(client) = self.clients.get_mut(&id) else {
            return Ok(Effects::new());
        };
        if client.subscriptions.len() >= most && !client.subscriptions.contains(&uri) {
            return Err(Refusal {
                code: ErrorCode::RequestTooLarge,
                message: format!(
                    "this client is subscribed to {most} resources, which is the limit: \
                     unsubscribe from some, or raise `max_subscriptions`"
                ),
            });
        }
        client.subscriptions.insert(uri);
        Ok(self.tell_subscriptions())
    }

    /// A client no longer wants to hear of a resource.
    pub(crate) fn unsubscribed(&mut self, id: ClientId, uri: &str) -> Effects {
        if let Some(client) = self.clients.get_mut(&id) {
            client.subscriptions.shift_remove(uri);
        }
        self.tell_subscriptions()
    }

    /// A page changed the content of a resource that it serves.
    pub(crate) fn resource_updated(
        &mut self,
        id: &SessionId,
        connection: ConnectionId,
        uri: &str,
    ) -> Effects {
        match self.session_on(id, connection) {
            Some(session) if session.resource(uri).is_some() => self.tell_updated(uri),
            _ => Effects::new(),
        }
    }

    /// Those who are subscribed hear of it.
    pub(super) fn tell_updated(&self, uri: &str) -> Effects {
        self.clients
            .iter()
            .filter(|(_, client)| client.subscriptions.contains(uri))
            .map(|(id, _)| Effect::ResourceUpdated {
                client: *id,
                uri: uri.to_owned(),
            })
            .collect()
    }

    pub(super) fn clients_message(&self) -> BridgeToPage {
        BridgeToPage::Clients(Clients {
            clients: self
                .clients
                .values()
                .map(|client| client.info.clone())
                .collect(),
        })
    }

    fn tell_clients(&self) -> Effects {
        self.connections()
            .map(|connection| Effect::Send {
                connection,
                message: self.clients_message(),
            })
            .collect()
    }

    /// Pages whose subscribed resources are no longer those that they know of hear which those are.
    pub(super) fn tell_subscriptions(&mut self) -> Effects {
        let wanted: std::collections::BTreeSet<&String> = self
            .clients
            .values()
            .flat_map(|client| &client.subscriptions)
            .collect();
        let mut effects = Effects::new();
        for session in self.sessions.values_mut() {
            let Some(connection) = session.phase.connection() else {
                continue;
            };
            let served = wanted.iter().filter(|uri| session.resource(uri).is_some());
            let uris: Vec<String> = served.map(|uri| (*uri).clone()).collect();
            if uris != session.told_subscriptions {
                session.told_subscriptions.clone_from(&uris);
                effects.push(Effect::Send {
                    connection,
                    message: BridgeToPage::Subscriptions(Subscriptions { uris }),
                });
            }
        }
        effects
    }
}

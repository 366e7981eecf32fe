//! MCP clients connect, disconnect and subscribe to resources.

use std::collections::BTreeSet;

use bridge_protocol::{BridgeToPage, Clients, ConnectedClient, ErrorCode, SessionId};
use indexmap::IndexSet;

use super::{ClientId, ClientState, ConnectionId, Effect, Effects, Realm, Refusal, Session};
use crate::definition::MAX_URI_BYTES;

/// All clients of a realm together may subscribe to this many times the URIs of one client. The
/// limit is needed because each template that a page registers is matched against all of these
/// URIs.
pub(super) const REALM_SUBSCRIPTION_FACTOR: usize = 4;

impl Realm {
    /// An MCP client has connected. All pages are notified.
    pub fn client_connected(
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
        let client = ClientState {
            info: client,
            subscriptions: IndexSet::new(),
        };
        let former = self.clients.insert(id, client);
        let mut effects = self.send_clients();
        effects.extend(
            self.release_subscriptions(former.map_or_else(IndexSet::new, |it| it.subscriptions)),
        );
        Ok(effects)
    }

    /// An MCP client has disconnected. All pages are notified.
    pub fn client_disconnected(&mut self, id: ClientId) -> Effects {
        let Some(client) = self.clients.shift_remove(&id) else {
            return Effects::new();
        };
        let mut effects = self.send_clients();
        effects.extend(self.release_subscriptions(client.subscriptions));
        effects
    }

    /// The number of connected MCP clients.
    pub fn client_count(&self) -> usize {
        self.clients.len()
    }

    /// A client subscribes to a resource.
    pub fn resource_subscribed(&mut self, id: ClientId, uri: String) -> Result<Effects, Refusal> {
        let max_subscriptions = self.limits.subscriptions_per_client;
        let rejection = |message| Refusal {
            code: ErrorCode::RequestTooLarge,
            message,
        };
        if uri.len() > MAX_URI_BYTES {
            let bytes = uri.len();
            return Err(rejection(format!(
                "the URI has {bytes} bytes, and {MAX_URI_BYTES} is the limit"
            )));
        }
        let wanted = self.subscribed_uris();
        let (known, distinct) = (wanted.contains(&uri), wanted.len());
        let Some(client) = self.clients.get_mut(&id) else {
            return Ok(Effects::new());
        };
        if client.subscriptions.contains(&uri) {
            return Ok(Effects::new());
        }
        if client.subscriptions.len() >= max_subscriptions {
            return Err(rejection(format!(
                "this client is subscribed to {max_subscriptions} resources, which is the limit: unsubscribe \
                 from some, or raise `max_subscriptions`"
            )));
        }
        if !known && distinct >= REALM_SUBSCRIPTION_FACTOR * max_subscriptions {
            return Err(rejection(format!(
                "the clients of this token are subscribed to {distinct} resources, which is the \
                 limit: unsubscribe from some, or raise `max_subscriptions`"
            )));
        }
        client.subscriptions.insert(uri.clone());
        if known {
            return Ok(Effects::new());
        }
        for session in self.sessions.values_mut() {
            if session.serves(&uri) {
                session.subscribed_uris.insert(uri.clone());
            }
        }
        Ok(self.send_subscriptions())
    }

    /// A client unsubscribes from a resource.
    pub fn resource_unsubscribed(&mut self, id: ClientId, uri: &str) -> Effects {
        let client = self.clients.get_mut(&id);
        let released = client.and_then(|client| client.subscriptions.shift_take(uri));
        self.release_subscriptions(released.into_iter().collect())
    }

    /// The URIs that at least one client is subscribed to.
    pub(super) fn subscribed_uris(&self) -> BTreeSet<&String> {
        let clients = self.clients.values();
        clients.flat_map(|client| &client.subscriptions).collect()
    }

    /// Updates the pages after a client has dropped subscriptions, except those that another client
    /// has.
    fn release_subscriptions(&mut self, mut released: IndexSet<String>) -> Effects {
        released.retain(|uri| {
            let mut others = self.clients.values();
            !others.any(|client| client.subscriptions.contains(uri))
        });
        if released.is_empty() {
            return Effects::new();
        }
        for session in self.sessions.values_mut() {
            session
                .subscribed_uris
                .retain(|uri| !released.contains(uri));
        }
        self.send_subscriptions()
    }

    /// A page has changed the content of a resource that it serves.
    pub fn resource_updated(
        &mut self,
        id: &SessionId,
        connection: ConnectionId,
        uri: &str,
    ) -> Effects {
        match self.session_on(id, connection) {
            Some(session) if session.subscribed_uris.contains(uri) => {
                self.notify_resource_updated(uri)
            }
            _ => Effects::new(),
        }
    }

    /// Notifies the clients that are subscribed to a URI.
    pub(super) fn notify_resource_updated(&self, uri: &str) -> Effects {
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

    fn send_clients(&self) -> Effects {
        self.connections()
            .map(|connection| Effect::Send {
                connection,
                message: self.clients_message(),
            })
            .collect()
    }

    /// Sends the current subscriptions to each page that knows other ones.
    pub(super) fn send_subscriptions(&mut self) -> Effects {
        let update = |session: &mut Session| {
            let connection = session.phase.connection()?;
            session.subscriptions_update(connection)
        };
        self.sessions.values_mut().filter_map(update).collect()
    }
}

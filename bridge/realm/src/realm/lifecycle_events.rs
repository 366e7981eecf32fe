//! Reports of what happens to sessions and queries, and the addresses of their pages.

use std::net::IpAddr;

use bridge_protocol::SessionId;

use super::{ConnectionId, Effect, Lifecycle, LifecycleEvent, Now, Phase, Realm, Session};

impl Session {
    /// Reports an event of the session with this id.
    pub(super) fn lifecycle(&self, id: &SessionId, event: LifecycleEvent) -> Effect {
        Effect::Lifecycle(Box::new(Lifecycle {
            event,
            session: id.clone(),
            subject: self.subject(),
            address: self.address(),
        }))
    }
}

impl Realm {
    /// Reports that a session continues without a connection, unless it had none before.
    pub(super) fn page_away(
        &mut self,
        id: &SessionId,
        former: Phase,
        reason: &'static str,
        now: Now,
    ) -> Option<Effect> {
        former.connection()?;
        let session = self.sessions.get_mut(id)?;
        let connected_ms = session.begin_phase(now);
        let event = LifecycleEvent::PageAway {
            reason,
            connected_ms,
        };
        Some(session.lifecycle(id, event))
    }

    /// Reports an event of a query of this session, which may be gone.
    pub(super) fn query_lifecycle(&self, session: &SessionId, event: LifecycleEvent) -> Effect {
        match self.sessions.get(session) {
            Some(page) => page.lifecycle(session, event),
            None => Effect::Lifecycle(Box::new(Lifecycle {
                event,
                session: session.clone(),
                subject: None,
                address: None,
            })),
        }
    }

    /// The address of the page of a session.
    pub fn page_address(&self, session: &SessionId) -> Option<IpAddr> {
        self.sessions.get(session)?.address()
    }

    /// The address of the page with this connection.
    pub fn connection_address(&self, connection: ConnectionId) -> Option<IpAddr> {
        let mut sessions = self.sessions.values();
        let page = sessions.find(|session| session.phase.connection() == Some(connection));
        page?.address()
    }
}

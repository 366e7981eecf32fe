//! Leases of session ids that are shared by all tokens. Such an id belongs to the first token that
//! uses it, as long as one of that token's sockets is open.

use std::sync::Arc;

use bridge_protocol::SessionId;
use dashmap::DashMap;
use dashmap::mapref::entry::Entry;

use bridge_auth::RealmId;

/// The ids in use, each with its token and the number of its sockets.
#[derive(Debug, Default)]
pub(crate) struct SessionIdLeases(DashMap<SessionId, (RealmId, usize)>);

/// The lease of a socket on its session id, released when dropped.
#[derive(Debug)]
pub(crate) struct SessionIdLease {
    leases: Arc<SessionIdLeases>,
    session: SessionId,
}

impl SessionIdLeases {
    /// Acquires a lease on an id. Returns `None` when another token uses the id.
    pub(crate) fn try_acquire(
        self: &Arc<Self>,
        realm: RealmId,
        session: &SessionId,
    ) -> Option<SessionIdLease> {
        match self.0.entry(session.clone()) {
            Entry::Occupied(mut occupied) => {
                let (owner, sockets) = occupied.get_mut();
                if *owner != realm {
                    return None;
                }
                *sockets += 1;
            }
            Entry::Vacant(vacant) => {
                vacant.insert((realm, 1));
            }
        }
        Some(SessionIdLease {
            leases: Arc::clone(self),
            session: session.clone(),
        })
    }
}

impl Drop for SessionIdLease {
    fn drop(&mut self) {
        self.leases.0.remove_if_mut(&self.session, |_, claim| {
            claim.1 -= 1;
            claim.1 == 0
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_belongs_to_one_token_until_its_last_socket_is_gone() {
        let claims = Arc::new(SessionIdLeases::default());
        let [one, other] = ["one", "other"].map(RealmId::from_token);
        let id = SessionId::from("s");
        let first = claims.try_acquire(one, &id).unwrap();
        let second = claims.try_acquire(one, &id).unwrap();
        drop(first);
        assert!(claims.try_acquire(other, &id).is_none());
        drop(second);
        assert!(claims.try_acquire(other, &id).is_some());
        assert!(claims.0.is_empty());
    }
}

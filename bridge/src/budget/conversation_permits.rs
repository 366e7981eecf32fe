//! The permits of the requests for conversations that run.

use bridge_auth::RealmId;
use bridge_protocol::ErrorCode;
use bridge_realm::realm::QueryError;
use dashmap::DashMap;

/// The requests for conversations of one token that run at the same time.
const MAX_CONVERSATION_REQUESTS: usize = 16;

/// The number of permits that are held for each token.
#[derive(Debug, Default)]
pub(crate) struct ConversationPermits(DashMap<RealmId, usize>);

impl ConversationPermits {
    /// Counts a request until the permit is dropped.
    ///
    /// # Errors
    ///
    /// When too many requests of the token run.
    pub(crate) fn acquire(&self, realm: RealmId) -> Result<ConversationPermit<'_>, QueryError> {
        let mut running = self.0.entry(realm).or_default();
        if *running >= MAX_CONVERSATION_REQUESTS {
            let error =
                format!("{MAX_CONVERSATION_REQUESTS} requests for conversations of this token run");
            let remedy = Some("retry when one of them has ended");
            return Err(QueryError::new(
                ErrorCode::QueryLimitExceeded,
                error,
                remedy,
            ));
        }
        *running += 1;
        drop(running);
        Ok(ConversationPermit {
            permits: self,
            realm,
        })
    }
}

/// Counts a request while it is held.
pub(crate) struct ConversationPermit<'a> {
    permits: &'a ConversationPermits,
    realm: RealmId,
}

impl Drop for ConversationPermit<'_> {
    fn drop(&mut self) {
        let ended = |_: &RealmId, running: &mut usize| {
            *running -= 1;
            *running == 0
        };
        self.permits.0.remove_if_mut(&self.realm, ended);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permits_are_limited_for_each_token() {
        let permits = ConversationPermits::default();
        let [one, other] = ["a", "b"].map(RealmId::from_token);
        let held: Vec<_> = (0..MAX_CONVERSATION_REQUESTS)
            .map(|_| permits.acquire(one).ok())
            .collect();
        assert!(held.iter().all(Option::is_some));
        let Err(refused) = permits.acquire(one) else {
            panic!("one request too many")
        };
        assert_eq!(refused.code, ErrorCode::QueryLimitExceeded);
        assert!(permits.acquire(other).is_ok());
        drop(held);
        assert!(permits.acquire(one).is_ok());
        assert!(permits.0.is_empty());
    }
}

//! The requests for conversations that are running.

use bridge_auth::RealmId;
use bridge_protocol::ErrorCode;
use bridge_realm::realm::QueryError;
use dashmap::DashMap;

/// The requests for conversations of one token that run at the same time.
const MAX_CONVERSATION_REQUESTS: usize = 16;

/// The number of requests for conversations that run for each token.
#[derive(Debug, Default)]
pub(super) struct RunningRequests(DashMap<RealmId, usize>);

impl RunningRequests {
    /// Counts a request until the permit is dropped.
    ///
    /// # Errors
    ///
    /// When too many requests of the token run.
    pub(super) fn begin(&self, realm: RealmId) -> Result<RequestPermit<'_>, QueryError> {
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
        Ok(RequestPermit {
            requests: self,
            realm,
        })
    }
}

/// Counts a request while it is held.
pub(super) struct RequestPermit<'a> {
    requests: &'a RunningRequests,
    realm: RealmId,
}

impl Drop for RequestPermit<'_> {
    fn drop(&mut self) {
        let ended = |_: &RealmId, running: &mut usize| {
            *running -= 1;
            *running == 0
        };
        self.requests.0.remove_if_mut(&self.realm, ended);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_requests_are_limited_for_each_token() {
        let requests = RunningRequests::default();
        let [one, other] = ["a", "b"].map(RealmId::from_token);
        let permits: Vec<_> = (0..MAX_CONVERSATION_REQUESTS)
            .map(|_| requests.begin(one).ok())
            .collect();
        assert!(permits.iter().all(Option::is_some));
        let Err(refused) = requests.begin(one) else {
            panic!("one request too many")
        };
        assert_eq!(refused.code, ErrorCode::QueryLimitExceeded);
        assert!(requests.begin(other).is_ok());
        drop(permits);
        assert!(requests.begin(one).is_ok());
        assert!(requests.0.is_empty());
    }
}

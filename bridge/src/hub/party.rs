//! The party of a realm, which its messages, its work and its answers count for.

use std::net::{IpAddr, Ipv4Addr};

use bridge_auth::RealmId;
use bridge_edge::ClientAddress;
use bridge_realm::realm::CallFailure;

use super::Hub;
use crate::budget::{
    AnswerLease, ByteLease, Party, RefusalKind, UnreadAnswers, WorkError, WorkOrder,
};

impl Hub {
    /// Returns the party that the bytes and the work of a realm count for: the address of the page or
    /// client with which it began, and its token.
    pub(crate) fn party(&self, realm: RealmId) -> Party<RealmId> {
        let entry = self.realms.get(&realm);
        let address = entry.map(|entry| entry.permit.party().address);
        let unknown = || ClientAddress::from(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        Party::new(address.unwrap_or_else(unknown), realm)
    }

    /// Returns a lease on memory for a realm, without any bytes.
    pub(crate) fn memory_lease(&self, realm: RealmId) -> ByteLease {
        self.budgets.memory.lease(self.party(realm))
    }

    /// Acquires a lease on the bytes of an answer to a client of this realm with this address, until
    /// the client has read them. Returns `None` for an answer that is too small to be counted.
    ///
    /// # Errors
    ///
    /// When too many answers wait to be read.
    pub(crate) fn lease_answer(
        &self,
        realm: RealmId,
        address: ClientAddress,
        bytes: usize,
    ) -> Result<Option<AnswerLease>, CallFailure> {
        if !UnreadAnswers::counts(bytes) {
            return Ok(None);
        }
        let party = self.party(realm);
        let page = Some(party.address);
        let lease = self.budgets.unread_answers.acquire(party, bytes);
        lease.map(Some).inspect_err(|failure| {
            let (kind, reason) = (RefusalKind::MaxUnreadBytes, &failure.message);
            let refusals = &self.budgets.refusals;
            refusals.record_for_page(kind, address, page, "answer", reason);
        })
    }

    /// Runs work in the CPU pool when it is the token's turn. Dropping the future removes work that
    /// has not begun.
    ///
    /// # Errors
    ///
    /// Too much work of the token, of its address or of all tokens waits, or the work panicked.
    pub(crate) async fn run_work<T: Send + 'static>(
        &self,
        order: WorkOrder,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, WorkError> {
        let waiting = &self.budgets.waiting_work;
        let permit = waiting.acquire_one(self.party(order.realm), order.bytes);
        let permit = permit.map_err(|_| WorkError::QueueFull)?;
        let work = move || {
            drop(permit);
            work()
        };
        // Boxed, because the futures of all calls contain this one, and few calls need it.
        Box::pin(self.budgets.cpu_pool.run(order, work)).await
    }

    /// Runs work like [`Self::run_work`], or on this thread if it is so little that it has no order.
    ///
    /// # Errors
    ///
    /// Those of [`Self::run_work`].
    pub(crate) async fn run_work_unless_small<T: Send + 'static>(
        &self,
        order: Option<WorkOrder>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, WorkError> {
        match order {
            None => Ok(work()),
            Some(order) => self.run_work(order, work).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bridge_auth::RealmId;
    use futures_util::FutureExt;

    use super::*;
    use crate::agent_queries::AgentQueries;
    use crate::budget::{MAX_WAITING_BYTES, WorkLength, occupy};
    use crate::config::Config;

    #[tokio::test]
    async fn the_bytes_of_waiting_work_of_an_address_are_limited() {
        let agent = Arc::<AgentQueries>::default();
        let hub = Hub::new(Config::default(), |_, _| Ok(()), agent);
        let tokens = ["a", "b", "c", "d", "e"].map(RealmId::from_token);
        let occupied =
            tokens.map(|realm| occupy(&hub.budgets.cpu_pool, realm, WorkLength::Long, 0));
        // The tokens have no page, so that they count for one address.
        let mut waiting: Vec<_> = tokens
            .into_iter()
            .map(|realm| {
                let order = WorkOrder::for_json(realm, MAX_WAITING_BYTES);
                hub.run_work(order, || ()).boxed()
            })
            .collect();
        let polled: Vec<_> = waiting.iter_mut().map(|work| work.now_or_never()).collect();
        let refused = Some(Err(WorkError::QueueFull));
        assert_eq!(polled, [None, None, None, refused, refused]);
        assert_eq!(hub.budgets.waiting_work.used_bytes(), 3 * MAX_WAITING_BYTES);

        // Work without a waiting caller does not count, and neither does work that has begun.
        drop(waiting.remove(0));
        assert_eq!(hub.budgets.waiting_work.used_bytes(), 2 * MAX_WAITING_BYTES);
        drop(occupied);
        for work in waiting.drain(..2) {
            assert_eq!(work.await, Ok(()));
        }
        assert_eq!(hub.budgets.waiting_work.used_bytes(), 0);
    }
}

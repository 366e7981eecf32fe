//! Work in the CPU pool, and the bytes of all work that waits for it.

use super::Hub;
use crate::budget::{WorkError, WorkOrder};

impl Hub {
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
        let permit = self
            .waiting_work
            .acquire_one(self.party(order.realm), order.bytes)
            .map_err(|_| WorkError::QueueFull)?;
        let work = move || {
            drop(permit);
            work()
        };
        // Boxed, because the futures of all calls contain this one, and few calls need it.
        Box::pin(self.cpu_pool.run(order, work)).await
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
    use bridge_realm::definition::DefinitionRegistry;
    use futures_util::FutureExt;

    use super::*;
    use crate::agent_queries::AgentQueries;
    use crate::budget::{MAX_WAITING_BYTES, WorkLength, occupy};
    use crate::config::Config;

    #[tokio::test]
    async fn the_bytes_of_waiting_work_of_an_address_are_limited() {
        let definitions = DefinitionRegistry::new(|_, _| Ok(()), 1_000_000);
        let agent = Arc::<AgentQueries>::default();
        let hub = Hub::new(Config::default(), definitions, agent);
        let tokens = ["a", "b", "c", "d", "e"].map(RealmId::from_token);
        let occupied = tokens.map(|realm| occupy(&hub.cpu_pool, realm, WorkLength::Long, 0));
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
        assert_eq!(hub.waiting_work.used_bytes(), 3 * MAX_WAITING_BYTES);

        // Work that nobody waits for any more does not count, and neither does work that has begun.
        drop(waiting.remove(0));
        assert_eq!(hub.waiting_work.used_bytes(), 2 * MAX_WAITING_BYTES);
        drop(occupied);
        for work in waiting.drain(..2) {
            assert_eq!(work.await, Ok(()));
        }
        assert_eq!(hub.waiting_work.used_bytes(), 0);
    }
}

//! The limit on open connections, the part of it that one address may have, and the limit of open files
//! of the process: each connection is one.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::sleep;

use crate::client_address::{ClientAddress, TrustedProxies, TrustedProxy};

/// An address gets no further connection when it has this many times what is free: alone it gets
/// three quarters, and something is always left for an address that has none.
const FREE_FACTOR: usize = 3;

/// The connections that are open, and those that are free. Clones share them.
#[derive(Clone, Debug)]
pub struct ConnectionSlots {
    max_connections: usize,
    permits: Arc<Semaphore>,
    released: Arc<Notify>,
    by_address: Arc<ConnectionCounts>,
    trusted_proxies: TrustedProxies,
}

/// The number of connections of each address that has any.
#[derive(Debug, Default)]
struct ConnectionCounts(Mutex<HashMap<ClientAddress, usize>>);

impl ConnectionCounts {
    fn lock(&self) -> MutexGuard<'_, HashMap<ClientAddress, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The permit of one connection, released when dropped.
#[derive(Debug)]
pub(crate) struct ConnectionPermit {
    _permit: OwnedSemaphorePermit,
    // Dropped after the permit.
    _notice: ReleaseNotice,
    /// Set if the connection counts for an address.
    counted: Option<(Arc<ConnectionCounts>, ClientAddress)>,
}

/// Notifies those who wait for the end of connections when it is dropped.
#[derive(Debug)]
struct ReleaseNotice(Arc<Notify>);

impl Drop for ReleaseNotice {
    fn drop(&mut self) {
        self.0.notify_waiters();
    }
}

/// Why a connection gets no permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionRefused {
    /// The limit of all connections is reached.
    LimitReached,
    /// The address has as many as it may have.
    AddressShare,
}

impl ConnectionSlots {
    /// Creates the slots. The connections of trusted proxies, which have many clients, do not count
    /// for an address.
    pub fn new(max_connections: usize, trusted_proxies: TrustedProxies) -> Self {
        Self {
            max_connections,
            permits: Arc::new(Semaphore::new(max_connections)),
            released: Arc::default(),
            by_address: Arc::default(),
            trusted_proxies,
        }
    }

    /// The number of open connections.
    pub fn open_count(&self) -> usize {
        let free = self.permits.available_permits();
        self.max_connections.saturating_sub(free)
    }

    /// Waits until no connection has been open for this long.
    pub async fn idle(&self, duration: Duration) {
        loop {
            // Before the count is read, so that no end of a connection is missed.
            let released = self.released.notified();
            if self.open_count() > 0 {
                released.await;
                continue;
            }
            tokio::select! {
                () = released => {}
                () = sleep(duration) => if self.open_count() == 0 {
                    return;
                }
            }
        }
    }

    /// Waits for a permit that counts for no address.
    pub(crate) async fn acquire(&self) -> Option<ConnectionPermit> {
        // The semaphore is never closed.
        let permit = Arc::clone(&self.permits).acquire_owned().await.ok()?;
        Some(ConnectionPermit {
            _permit: permit,
            _notice: ReleaseNotice(Arc::clone(&self.released)),
            counted: None,
        })
    }

    /// Acquires a permit for a connection from this address.
    pub(crate) fn try_acquire(&self, peer: IpAddr) -> Result<ConnectionPermit, ConnectionRefused> {
        let free = self.permits.available_permits();
        let permit = Arc::clone(&self.permits).try_acquire_owned();
        let _permit = permit.map_err(|_| ConnectionRefused::LimitReached)?;
        let _notice = ReleaseNotice(Arc::clone(&self.released));
        if TrustedProxy::includes(&self.trusted_proxies.load(), peer) {
            return Ok(ConnectionPermit {
                _permit,
                _notice,
                counted: None,
            });
        }
        let address = ClientAddress::from(peer);
        let mut by_address = self.by_address.lock();
        let count = by_address.get(&address).copied().unwrap_or(0);
        if count >= free.saturating_mul(FREE_FACTOR) {
            return Err(ConnectionRefused::AddressShare);
        }
        by_address.insert(address, count + 1);
        let counted = Some((Arc::clone(&self.by_address), address));
        Ok(ConnectionPermit {
            _permit,
            _notice,
            counted,
        })
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let Some((counts, address)) = &self.counted else {
            return;
        };
        let mut counts = counts.lock();
        match counts.get_mut(address) {
            Some(count) if *count > 1 => *count -= 1,
            _ => {
                counts.remove(address);
            }
        }
    }
}

/// Raises the soft limit of open files to the hard limit. The soft limit is often 1,024, for the
/// sake of programs that use `select`, and a server with that limit stops accepting connections
/// long before it has the maximum number of them. Does nothing on Windows, which has no such limit.
pub fn raise_open_file_limit() {
    #[cfg(unix)]
    {
        let before = rlimit::Resource::NOFILE.get_soft().ok();
        match rlimit::increase_nofile_limit(u64::MAX) {
            Ok(limit) => tracing::debug!(before, limit, "the limit of open files"),
            Err(error) => tracing::warn!(%error, "the limit of open files cannot be raised"),
        }
    }
}

/// Returns the hard limit of open files, or `None` if files are not limited or the limit is not known.
pub fn open_file_limit() -> Option<u64> {
    #[cfg(unix)]
    {
        let limit = rlimit::Resource::NOFILE.get_hard().ok()?;
        (limit != rlimit::INFINITY).then_some(limit)
    }
    #[cfg(not(unix))]
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    /// As many permits as this address gets, and why it gets no more.
    fn fill(slots: &ConnectionSlots, peer: IpAddr) -> (Vec<ConnectionPermit>, ConnectionRefused) {
        let mut permits = Vec::new();
        loop {
            match slots.try_acquire(peer) {
                Ok(permit) => permits.push(permit),
                Err(refused) => return (permits, refused),
            }
        }
    }

    #[test]
    fn one_address_leaves_connections_for_others() {
        let slots = ConnectionSlots::new(100, TrustedProxies::new(Vec::new()));
        let (first, refused) = fill(&slots, address(1));
        assert_eq!(
            (first.len(), refused),
            (75, ConnectionRefused::AddressShare)
        );
        let (second, _) = fill(&slots, address(2));
        assert!((15..25).contains(&second.len()), "{}", second.len());
        assert!(slots.try_acquire(address(3)).is_ok());
        drop(first);
        assert_eq!(slots.by_address.lock().len(), 1);
        drop(second);
        assert!(slots.by_address.lock().is_empty());
    }

    #[test]
    fn a_trusted_proxy_may_have_all_connections() {
        let proxy = "192.0.2.0/28".parse().unwrap();
        let slots = ConnectionSlots::new(100, TrustedProxies::new(vec![proxy]));
        let (all, refused) = fill(&slots, address(1));
        assert_eq!((all.len(), refused), (100, ConnectionRefused::LimitReached));
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_without_connections_begins_with_the_end_of_the_last_one() {
        let slots = ConnectionSlots::new(9, TrustedProxies::new(Vec::new()));
        let idle = slots.idle(Duration::from_secs(60));
        let connections = async {
            let first = slots.acquire().await;
            let second = slots.try_acquire(address(1)).unwrap();
            sleep(Duration::from_secs(100)).await;
            drop(first);
            sleep(Duration::from_secs(100)).await;
            drop(second);
            sleep(Duration::from_secs(50)).await;
            drop(slots.try_acquire(address(1)).unwrap());
            tokio::time::Instant::now()
        };
        let (last_end, ()) = tokio::join!(connections, idle);
        assert_eq!(last_end.elapsed(), Duration::from_secs(60));
    }
}

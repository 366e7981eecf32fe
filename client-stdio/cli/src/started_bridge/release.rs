//! Ends the bridge that a client has started, when a person starts one at its address.

use std::fs::File;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::pin::Pin;
use std::time::Duration;

use bridge::AddressInUse;
use client_stdio::{AddressHolder, Config};
use tokio::time::{Instant, sleep, timeout_at};

use crate::port_users::port_users;

use super::folder::StartedBridgeFolder;
use super::proof::{ROUTE, challenge, end_request};
use super::starter::{BridgeStarter, Holder};

/// The addresses that a bridge of a client uses, and those that include them.
const CONTESTED: [IpAddr; 4] = [
    IpAddr::V4(Ipv4Addr::LOCALHOST),
    IpAddr::V6(Ipv6Addr::LOCALHOST),
    IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    IpAddr::V6(Ipv6Addr::UNSPECIFIED),
];

/// How long a bridge may take to end after its calls, and a client to finish the start of one.
const END_TIMEOUT: Duration = Duration::from_secs(10);

/// The time between two looks at a lock or an address that is in use.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// Ends the bridge at an address if a client of this user has started it, and waits until the address is free.
/// While the guard exists, clients start no other bridge there.
pub(crate) fn release_address(
    address: SocketAddr,
) -> Pin<Box<dyn Future<Output = AddressInUse> + Send>> {
    Box::pin(async move {
        match release(address).await {
            Some(lock) => AddressInUse::Released(Box::new(lock)),
            None => AddressInUse::Kept(port_users(address.port())),
        }
    })
}

async fn release(address: SocketAddr) -> Option<File> {
    let port = address.port();
    if !CONTESTED.contains(&address.ip()) {
        return None;
    }
    let url = Config::endpoint(&format!("http://127.0.0.1:{port}/mcp")).ok()?;
    let starter = BridgeStarter::new(url.clone(), port, Duration::ZERO);
    let Ok(Holder::Started) = starter.holder().await else {
        return None;
    };
    let folder = StartedBridgeFolder::of_port(port)?;
    let lock = lock(&folder).await?;
    let secret = folder.load_secret().ok()??;
    let challenge = challenge();
    let route = format!("{ROUTE}/{challenge}");
    let drain_timeout = bridge::Config::default().state.drain_timeout;
    let is_accepted = AddressHolder::post(&url, &route, end_request(&secret, &challenge)).await;
    // Without an answer, it may just have ended itself.
    let mut deadline = Instant::now();
    if is_accepted {
        deadline += drain_timeout + END_TIMEOUT;
        tracing::info!(
            %address,
            "the bridge that `mcp-web stdio` has started ends for this one when its calls have ended, within \
             {} s; its clients and pages connect to this one",
            drain_timeout.as_secs(),
        );
    }
    let freed = async {
        while TcpListener::bind(address).is_err() {
            sleep(LOOK_INTERVAL).await;
        }
    };
    timeout_at(deadline, freed).await.ok()?;
    Some(lock)
}

/// Waits for the lock of those who start a bridge.
async fn lock(folder: &StartedBridgeFolder) -> Option<File> {
    let deadline = Instant::now() + END_TIMEOUT;
    loop {
        match folder.try_lock() {
            Ok(Some(lock)) => return Some(lock),
            Ok(None) if Instant::now() < deadline => sleep(LOOK_INTERVAL).await,
            _ => return None,
        }
    }
}

//! The directory in NATS, with real servers.

mod check;
mod login;
mod loss;
mod rights;
mod three_servers;
mod versions;

use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use async_nats::jetstream::stream::LastRawMessageErrorKind;
use bridge_cluster::{
    DenialKey, DirectoryEvent, NatsDirectory, NatsServer, NatsSettings, NodeId, NotWritten,
    RealmKey, Revision,
};

use crate::contract::{Events, Node, check_contract, eventually};

/// An operation takes at most a second. The rest is for a busy machine.
const OPERATION_LIMIT: Duration = Duration::from_millis(1_900);

/// Starts a node, which connects in the background.
fn start(settings: NatsSettings) -> Node {
    static NODES: AtomicU8 = AtomicU8::new(0);
    let id = NodeId::from_bytes([NODES.fetch_add(1, Ordering::Relaxed); 16]);
    let (observer, events) = Events::new();
    let directory = NatsDirectory::start(settings, id, Arc::new(observer)).unwrap();
    Node {
        id,
        directory,
        events,
    }
}

/// Starts a node and waits until it is connected.
async fn connect(settings: NatsSettings) -> Node {
    let mut node = start(settings);
    node.events.wait_for(&DirectoryEvent::Connected).await;
    node
}

/// Waits until a node has lost its connection and opened another.
async fn wait_until_reconnected(node: &mut Node) {
    node.events.wait_for(&DirectoryEvent::Away).await;
    node.events.wait_for(&DirectoryEvent::Connected).await;
}

/// Waits for a refusal, and returns its text.
async fn refusal(node: &mut Node) -> String {
    let is_refusal = |event: &DirectoryEvent| matches!(event, DirectoryEvent::Refused(_));
    match node.events.wait_until("a refusal", is_refusal).await {
        DirectoryEvent::Refused(text) => text,
        other => panic!("{other:?}"),
    }
}

fn settings(servers: &[NatsServer]) -> NatsSettings {
    NatsSettings {
        servers: servers.iter().map(NatsServer::url).collect(),
        name: "test".to_owned(),
        replicas: servers.len(),
        lease: Duration::from_secs(10),
        credentials: None,
        user: None,
        password: None,
        ca: None,
    }
}

fn settings_of(server: &NatsServer) -> NatsSettings {
    settings(slice::from_ref(server))
}

fn realm(number: u8) -> RealmKey {
    RealmKey::from_bytes([number; 20])
}

fn denial(number: u8) -> DenialKey {
    DenialKey::from_bytes([number; 20])
}

fn denied(number: u8, record: &str) -> DirectoryEvent {
    DirectoryEvent::DenialWritten(denial(number), record.to_owned())
}

async fn create(node: &Node, number: u8, record: &str) -> Result<Revision, NotWritten> {
    node.directory
        .create(&realm(number), record.to_owned())
        .await
}

async fn announce(
    node: &Node,
    record: &str,
    last: Option<Revision>,
) -> Result<Revision, NotWritten> {
    node.directory
        .announce(&node.id, record.to_owned(), last)
        .await
}

fn announced(node: &Node, record: &str) -> DirectoryEvent {
    DirectoryEvent::NodeAnnounced(node.id, record.to_owned())
}

/// Connects a client beside the bridge.
async fn admin(server: &NatsServer) -> async_nats::jetstream::Context {
    let client = async_nats::connect(server.url()).await.unwrap();
    async_nats::jetstream::new(client)
}

/// Waits until the record of a node has been removed. Each replica removes it at its own time, so the
/// leader is asked, which decides about writes.
async fn wait_until_lapsed(server: &NatsServer, node: NodeId) {
    let stream = admin(server)
        .await
        .get_stream("KV_test-nodes")
        .await
        .unwrap();
    let subject = format!("$KV.test-nodes.{node}");
    eventually(async || {
        let record = stream.get_last_raw_message_by_subject(&subject).await;
        match record.map_err(|error| error.kind()) {
            Err(LastRawMessageErrorKind::NoMessageFound) => Ok(()),
            other => Err(other),
        }
    })
    .await;
}

/// Checks the contract of all directories.
async fn check_contract_of(servers: &[NatsServer]) {
    let mut short = settings(servers);
    short.lease = Duration::from_secs(2);
    let (mut one, mut two) = (start(short.clone()), start(short));
    let end_lease = async |node| wait_until_lapsed(&servers[0], node).await;
    check_contract(&mut one, &mut two, end_lease).await;
}

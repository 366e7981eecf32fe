//! The behaviour that every directory has, seen by two nodes.

use std::sync::Arc;
use std::time::Duration;

use bridge_cluster::{
    DenialKey, Directory, DirectoryEvent, DirectoryObserver, NodeId, NotWritten, RealmKey,
    Revision, StoredRecord,
};
use tokio::sync::mpsc;
use tokio::time::{interval, timeout};

/// A node that is connected to the directory.
pub(crate) struct Node {
    pub(crate) id: NodeId,
    pub(crate) directory: Arc<dyn Directory>,
    pub(crate) events: Events,
}

/// Sends the events of a directory to [`Events`].
#[derive(Clone)]
pub(crate) struct EventSender(mpsc::UnboundedSender<DirectoryEvent>);

/// The events that a node has received.
pub(crate) struct Events(mpsc::UnboundedReceiver<DirectoryEvent>);

impl DirectoryObserver for EventSender {
    fn on_event(&self, event: DirectoryEvent) {
        // The test may be over.
        let _ = self.0.send(event);
    }
}

/// Limit on the time that an event may take. It is reached only if a test fails.
const EVENT_TIMEOUT: Duration = Duration::from_secs(60);

/// How often an operation is repeated that has failed.
const REPEAT_INTERVAL: Duration = Duration::from_millis(20);

impl Events {
    pub(crate) fn new() -> (EventSender, Self) {
        let (sender, events) = mpsc::unbounded_channel();
        (EventSender(sender), Self(events))
    }

    /// Waits for an event, and drops those before it.
    pub(crate) async fn wait_for(&mut self, expected: &DirectoryEvent) {
        self.wait_until(&format!("{expected:?}"), |event| event == expected)
            .await;
    }

    /// Waits for an event that fulfils a condition, and drops those before it.
    pub(crate) async fn wait_until(
        &mut self,
        expected: &str,
        is_expected: impl Fn(&DirectoryEvent) -> bool,
    ) -> DirectoryEvent {
        let mut received = self.recv_until(expected, is_expected).await;
        received.pop().expect("the expected event")
    }

    /// Waits for an event, and returns those before it.
    pub(crate) async fn before(&mut self, expected: &DirectoryEvent) -> Vec<DirectoryEvent> {
        let is_expected = |event: &DirectoryEvent| event == expected;
        let mut received = (self.recv_until(&format!("{expected:?}"), is_expected)).await;
        received.pop();
        received
    }

    /// Receives events to the first one that fulfils a condition.
    async fn recv_until(
        &mut self,
        expected: &str,
        is_expected: impl Fn(&DirectoryEvent) -> bool,
    ) -> Vec<DirectoryEvent> {
        let mut received = Vec::new();
        let receive = async {
            loop {
                let event = self.0.recv().await.expect("the directory sends events");
                let is_last = is_expected(&event);
                received.push(event);
                if is_last {
                    return;
                }
            }
        };
        let result = timeout(EVENT_TIMEOUT, receive).await;
        result.unwrap_or_else(|_| panic!("{expected} has not arrived, but {received:?}"));
        received
    }

    /// Returns the events that have arrived and were not waited for.
    pub(crate) fn drain(&mut self) -> Vec<DirectoryEvent> {
        std::iter::from_fn(|| self.0.try_recv().ok()).collect()
    }
}

/// Checks the whole contract with two nodes that have just been connected, and have not announced
/// themselves. `end_lease` waits until the lease of a node that is not renewed has ended.
pub(crate) async fn check_contract(
    one: &mut Node,
    two: &mut Node,
    end_lease: impl AsyncFnOnce(NodeId),
) {
    one.events.wait_for(&DirectoryEvent::Connected).await;
    two.events.wait_for(&DirectoryEvent::Connected).await;
    creates_a_record_once(one, two).await;
    replaces_a_record_only_at_its_revision(one, two).await;
    removes_a_record_only_at_its_revision(one, two).await;
    one_of_many_writers_wins(one, two).await;
    knows_which_nodes_listen(one, two).await;
    sends_the_records_of_nodes(one, two).await;
    sends_denials(one, two).await;
    renews_a_lease_only_at_its_revision(one, two, end_lease).await;
}

fn realm(number: u8) -> RealmKey {
    RealmKey::from_bytes([number; 20])
}

/// Repeats an operation until it succeeds.
pub(crate) async fn eventually<T, E>(mut operation: impl AsyncFnMut() -> Result<T, E>) -> T {
    // A server that elects a leader refuses at once.
    let mut clock = interval(REPEAT_INTERVAL);
    let repeated = timeout(EVENT_TIMEOUT, async {
        loop {
            clock.tick().await;
            if let Ok(value) = operation().await {
                return value;
            }
        }
    });
    repeated.await.expect("the operation succeeds")
}

/// Writes the record of a realm until the directory has it: it may not answer a write that it performs.
async fn written(
    node: &Node,
    realm: &RealmKey,
    record: &str,
    write: impl AsyncFn(String) -> Result<Revision, NotWritten>,
) -> Revision {
    eventually(async || match write(record.to_owned()).await {
        Ok(revision) => Ok(revision),
        Err(NotWritten) => match node.directory.find(realm).await {
            Ok(Some(found)) if found.record == record => Ok(found.revision),
            _ => Err(NotWritten),
        },
    })
    .await
}

async fn create(node: &Node, realm: &RealmKey, record: &str) -> Revision {
    let create = async |record| node.directory.create(realm, record).await;
    written(node, realm, record, create).await
}

async fn replace(node: &Node, realm: &RealmKey, record: &str, last: Revision) -> Revision {
    let replace = async |record| node.directory.replace(realm, record, last).await;
    written(node, realm, record, replace).await
}

/// Reads a record until it has at least this revision: a read may be older than an acknowledged write.
pub(crate) async fn find_since(node: &Node, realm: &RealmKey, revision: Revision) -> StoredRecord {
    eventually(async || match node.directory.find(realm).await {
        Ok(Some(stored)) if stored.revision >= revision => Ok(stored),
        other => Err(other),
    })
    .await
}

/// Reads a record until it is absent.
pub(crate) async fn wait_until_absent(node: &Node, realm: &RealmKey) {
    eventually(async || match node.directory.find(realm).await {
        Ok(None) => Ok(()),
        other => Err(other),
    })
    .await;
}

async fn creates_a_record_once(one: &Node, two: &Node) {
    let realm = realm(1);
    assert_eq!(
        eventually(async || one.directory.find(&realm).await).await,
        None
    );
    let revision = create(one, &realm, "one").await;
    let stored = StoredRecord {
        record: "one".to_owned(),
        revision,
    };
    for node in [one, two] {
        assert_eq!(find_since(node, &realm, revision).await, stored);
        let again = node.directory.create(&realm, "two".to_owned()).await;
        assert_eq!(again, Err(NotWritten));
    }
    assert_eq!(find_since(two, &realm, revision).await, stored);
}

async fn replaces_a_record_only_at_its_revision(one: &Node, two: &Node) {
    let realm = realm(2);
    let unknown = two
        .directory
        .replace(&realm, "none".to_owned(), Revision(1))
        .await;
    assert_eq!(unknown, Err(NotWritten));
    let first = create(one, &realm, "one").await;
    let second = replace(two, &realm, "two", first).await;
    assert!(second > first);
    let stale = one
        .directory
        .replace(&realm, "stale".to_owned(), first)
        .await;
    assert_eq!(stale, Err(NotWritten));
    let stored = find_since(one, &realm, second).await;
    assert_eq!((stored.record.as_str(), stored.revision), ("two", second));
}

async fn removes_a_record_only_at_its_revision(one: &Node, two: &Node) {
    let realm = realm(3);
    let first = create(one, &realm, "one").await;
    let second = replace(one, &realm, "second", first).await;
    assert_eq!(two.directory.remove(&realm, first).await, Err(NotWritten));
    assert_eq!(find_since(two, &realm, second).await.revision, second);
    let removed = eventually(async || match two.directory.remove(&realm, second).await {
        Err(NotWritten) if two.directory.find(&realm).await == Ok(None) => Ok(()),
        removed => removed,
    });
    removed.await;
    wait_until_absent(one, &realm).await;
    // The revision of a removed record is as stale as any other.
    let stale = one
        .directory
        .replace(&realm, "stale".to_owned(), second)
        .await;
    assert_eq!(stale, Err(NotWritten));
    assert_eq!(one.directory.remove(&realm, second).await, Err(NotWritten));
    let third = create(one, &realm, "again").await;
    assert!(third > second);
    assert_eq!(find_since(two, &realm, third).await.record, "again");
}

async fn one_of_many_writers_wins(one: &Node, two: &Node) {
    let realm = realm(4);
    let write = |number: usize| {
        let node = if number.is_multiple_of(2) { one } else { two };
        node.directory.create(&realm, number.to_string())
    };
    let created = futures_util::future::join_all((0..16).map(write)).await;
    let stored = find_since(one, &realm, Revision(0)).await;
    for (number, created) in created.into_iter().enumerate() {
        // The winner may have got no answer.
        if let Ok(revision) = created {
            let record = number.to_string();
            assert_eq!(StoredRecord { record, revision }, stored);
        }
    }
}

async fn knows_which_nodes_listen(one: &Node, two: &Node) {
    let unknown = NodeId::from_bytes([255; 16]);
    for (asking, asked, expected) in [
        (one, two.id, true),
        (two, one.id, true),
        (one, unknown, false),
    ] {
        let listens = eventually(async || asking.directory.listens(&asked).await);
        assert_eq!(listens.await, expected);
    }
}

async fn sends_the_records_of_nodes(one: &mut Node, two: &mut Node) {
    let announced = |record: &str| DirectoryEvent::NodeAnnounced(one.id, record.to_owned());
    let announce = async |record: &str, last| {
        let record = record.to_owned();
        one.directory.announce(&one.id, record, last).await
    };
    let withdraw = async || one.directory.withdraw(&one.id).await;
    let first = eventually(async || announce("first", None).await).await;
    two.events.wait_for(&announced("first")).await;
    // The lease may be over already, or the answer may be lost.
    let second = match announce("second", Some(first)).await {
        Ok(second) => second,
        Err(NotWritten) => eventually(async || announce("second", None).await).await,
    };
    assert!(second > first);
    two.events.wait_for(&announced("second")).await;
    // A node receives its own record too, like that of any other.
    one.events.wait_for(&announced("second")).await;
    eventually(&withdraw).await;
    two.events
        .wait_for(&DirectoryEvent::NodeWithdrawn(one.id))
        .await;
    // A node can announce itself again, for example if it was not stopped after all.
    eventually(async || announce("third", None).await).await;
    two.events.wait_for(&announced("third")).await;
    eventually(&withdraw).await;
}

async fn sends_denials(one: &mut Node, two: &mut Node) {
    let denial = DenialKey::from_bytes([1; 20]);
    let deny = async |writer: &Node, record: &str| {
        eventually(async || writer.directory.deny(&denial, record.to_owned()).await).await;
        DirectoryEvent::DenialWritten(denial, record.to_owned())
    };
    let first = deny(one, "until tomorrow").await;
    for node in [&mut *one, &mut *two] {
        node.events.wait_for(&first).await;
    }
    // Of records that follow each other at once, the earlier ones may be left out.
    deny(one, "until tonight").await;
    let last = deny(two, "until now").await;
    for node in [one, two] {
        node.events.wait_for(&last).await;
    }
}

/// A renewal after the end of the lease fails, so that a node notices the lapse.
async fn renews_a_lease_only_at_its_revision(
    one: &mut Node,
    two: &mut Node,
    end_lease: impl AsyncFnOnce(NodeId),
) {
    let announce = async |last| {
        let lease = "lease".to_owned();
        one.directory.announce(&one.id, lease, last).await
    };
    let announce_anew = async || announce(None).await;
    // On a slow machine, the lease may be over before it is renewed.
    let (first, second) = eventually(async || {
        let first = announce(None).await?;
        announce(Some(first)).await.map(|second| (first, second))
    })
    .await;
    assert_eq!(announce(Some(first)).await, Err(NotWritten));
    // As after a write whose answer was lost.
    let third = eventually(&announce_anew).await;
    assert!(third > second);
    two.events.drain();
    end_lease(one.id).await;
    assert_eq!(announce(Some(third)).await, Err(NotWritten));
    let fourth = eventually(&announce_anew).await;
    assert!(fourth > third);
    let again = DirectoryEvent::NodeAnnounced(one.id, "lease".to_owned());
    two.events.wait_for(&again).await;
    eventually(async || one.directory.withdraw(&one.id).await).await;
}

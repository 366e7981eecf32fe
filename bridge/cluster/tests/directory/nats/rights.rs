//! Rights of users in NATS.

use bridge_cluster::{Away, DirectoryEvent, NatsServer, NatsSettings, NotWritten};
use bridge_settings::Secret;

use super::{
    announce, announced, connect, create, denial, denied, realm, refusal, settings_of, start,
    wait_until_reconnected,
};

/// The subjects to which a bridge publishes.
const PUBLISHED: &[&str] = &[
    "$JS.API.INFO",
    "$JS.API.STREAM.CREATE.KV_test-nodes",
    "$JS.API.STREAM.CREATE.KV_test-realms",
    "$JS.API.STREAM.CREATE.KV_test-denied",
    "$JS.API.STREAM.UPDATE.KV_test-nodes",
    "$JS.API.STREAM.UPDATE.KV_test-realms",
    "$JS.API.STREAM.UPDATE.KV_test-denied",
    "$JS.API.STREAM.INFO.KV_test-nodes",
    "$JS.API.STREAM.INFO.KV_test-realms",
    "$JS.API.STREAM.INFO.KV_test-denied",
    "$JS.API.DIRECT.GET.KV_test-nodes.>",
    "$JS.API.DIRECT.GET.KV_test-realms.>",
    "$JS.API.CONSUMER.CREATE.KV_test-nodes",
    "$JS.API.CONSUMER.CREATE.KV_test-nodes.>",
    "$JS.API.CONSUMER.CREATE.KV_test-denied",
    "$JS.API.CONSUMER.CREATE.KV_test-denied.>",
    "$KV.test-nodes.>",
    "$KV.test-realms.>",
    "$KV.test-denied.>",
    "test.node.>",
    "_INBOX.test.>",
];

const SUBSCRIBED: &[&str] = &["test.node.>", "_INBOX.test.>"];

/// The configuration of an account with an admin, a bridge with the least rights, a tenant without them,
/// and a bridge without each of the rights, whose user has the number of the right.
pub(super) fn configuration() -> String {
    let mut users = vec![
        "{ user: admin, password: hush }".to_owned(),
        user("bridge", PUBLISHED, SUBSCRIBED),
        user(
            "tenant",
            &[
                "$JS.API.INFO",
                "$JS.API.STREAM.INFO.>",
                "orders.>",
                "_INBOX.>",
            ],
            &["orders.>", "_INBOX.>"],
        ),
    ];
    for (number, _) in rights().enumerate() {
        let (mut published, mut subscribed) = (PUBLISHED.to_vec(), SUBSCRIBED.to_vec());
        match number.checked_sub(PUBLISHED.len()) {
            None => drop(published.remove(number)),
            Some(number) => drop(subscribed.remove(number)),
        }
        users.push(user(&format!("without-{number}"), &published, &subscribed));
    }
    let users = users.join(", ");
    format!("accounts {{ BRIDGE {{ jetstream: enabled, users: [{users}] }} }}")
}

/// The rights that a bridge needs.
pub(super) fn rights() -> impl Iterator<Item = &'static str> {
    PUBLISHED.iter().chain(SUBSCRIBED).copied()
}

fn user(name: &str, published: &[&str], subscribed: &[&str]) -> String {
    format!(
        "{{ user: {name}, password: hush, \
         permissions: {{ publish: {published:?}, subscribe: {subscribed:?} }} }}"
    )
}

pub(super) fn login(server: &NatsServer, user: &str) -> NatsSettings {
    NatsSettings {
        user: Some(user.to_owned()),
        password: Some(Secret::from_trusted("hush".to_owned())),
        ..settings_of(server)
    }
}

#[tokio::test]
async fn the_least_rights_suffice() {
    let mut server = NatsServer::start_with(&configuration());
    let mut node = connect(login(&server, "bridge")).await;
    let mut changed = login(&server, "bridge");
    changed.lease *= 2;
    let mut other = connect(changed).await;
    for _ in 0..2 {
        let first = create(&node, 1, "first").await.unwrap();
        let taken = create(&other, 1, "other").await;
        assert_eq!(taken, Err(NotWritten));
        let second = other
            .directory
            .replace(&realm(1), "second".to_owned(), first)
            .await
            .unwrap();
        assert_eq!(
            node.directory.remove(&realm(1), first).await,
            Err(NotWritten)
        );
        node.directory.remove(&realm(1), second).await.unwrap();
        assert_eq!(other.directory.find(&realm(1)).await, Ok(None));
        let lease = announce(&node, "v1", None).await.unwrap();
        announce(&node, "v1 again", Some(lease)).await.unwrap();
        other.events.wait_for(&announced(&node, "v1 again")).await;
        assert_eq!(other.directory.listens(&node.id).await, Ok(true));
        node.directory
            .deny(&denial(1), "v1".to_owned())
            .await
            .unwrap();
        other.events.wait_for(&denied(1, "v1")).await;
        node.directory.withdraw(&node.id).await.unwrap();
        other
            .events
            .wait_for(&DirectoryEvent::NodeWithdrawn(node.id))
            .await;
        server.kill();
        server.remove_store();
        server.restart();
        wait_until_reconnected(&mut node).await;
        wait_until_reconnected(&mut other).await;
    }
    server.stop();
    let log = server.log();
    assert!(!log.contains("Violation"), "{log}");
}

#[tokio::test]
async fn a_tenant_without_rights_can_neither_read_nor_write() {
    let mut server = NatsServer::start_with(&configuration());
    let node = connect(login(&server, "bridge")).await;
    let revision = create(&node, 1, "first").await.unwrap();
    let options = async_nats::ConnectOptions::new();
    let options = options.user_and_password("tenant".to_owned(), "hush".to_owned());
    let client = options.connect(server.url()).await.unwrap();
    let mut context = async_nats::jetstream::new(client);
    context.set_timeout(std::time::Duration::from_millis(300));
    let bucket = context.get_key_value("test-realms").await.unwrap();
    let key = realm(1).to_string();
    assert!(bucket.get(key.clone()).await.is_err());
    assert!(bucket.watch_with_history(">").await.is_err());
    assert!(bucket.put(key.clone(), "forged".into()).await.is_err());
    assert!(bucket.delete(key).await.is_err());
    let found = node.directory.find(&realm(1)).await.unwrap().unwrap();
    assert_eq!((found.record.as_str(), found.revision), ("first", revision));
    server.stop();
    let log = server.log();
    for right in [
        "$KV.test-realms.",
        "$JS.API.DIRECT.GET.KV_test-realms.",
        "$JS.API.CONSUMER.CREATE.",
    ] {
        let is_refused = |line: &str| line.contains("Violation") && line.contains(right);
        assert!(log.lines().any(is_refused), "{right}: {log}");
    }
}

#[tokio::test]
async fn a_missing_right_is_reported_with_its_subject() {
    let server = NatsServer::start_with(&configuration());
    let mut node = start(login(&server, "tenant"));
    let text = refusal(&mut node).await;
    assert!(text.contains("Subscription to \"test.node.…\""), "{text}");
    assert_eq!(node.directory.find(&realm(1)).await, Err(Away));
}

//! Losses of the server, of its store, of buckets and of answers.

use std::time::{Duration, Instant};

use bridge_cluster::{Away, DirectoryEvent, NatsServer, NotWritten};

use super::{
    OPERATION_LIMIT, admin, announce, announced, connect, create, denial, denied, eventually,
    realm, settings_of, start, wait_until_lapsed, wait_until_reconnected,
};

#[tokio::test]
async fn a_directory_starts_without_its_server() {
    let mut server = NatsServer::start();
    server.stop();
    let mut node = start(settings_of(&server));
    assert_eq!(node.directory.find(&realm(1)).await, Err(Away));
    assert_eq!(announce(&node, "v1", None).await, Err(NotWritten));
    assert_eq!(node.directory.listens(&node.id).await, Err(Away));
    server.restart();
    node.events.wait_for(&DirectoryEvent::Connected).await;
    assert_eq!(node.directory.find(&realm(1)).await, Ok(None));
}

#[tokio::test]
async fn records_remain_when_the_server_restarts_with_its_store() {
    let mut server = NatsServer::start();
    let mut node = connect(settings_of(&server)).await;
    let mut other = connect(settings_of(&server)).await;
    let revision = create(&node, 1, "first").await.unwrap();
    server.stop();
    node.events.wait_for(&DirectoryEvent::Away).await;
    assert_eq!(node.directory.find(&realm(1)).await, Err(Away));
    server.restart();
    node.events.wait_for(&DirectoryEvent::Connected).await;
    other.events.wait_for(&DirectoryEvent::Connected).await;
    let found = node.directory.find(&realm(1)).await.unwrap().unwrap();
    assert_eq!((found.record.as_str(), found.revision), ("first", revision));
    let replaced = node
        .directory
        .replace(&realm(1), "second".to_owned(), revision)
        .await;
    assert!(replaced.unwrap() > revision);
    announce(&node, "v1", None).await.unwrap();
    other.events.wait_for(&announced(&node, "v1")).await;
}

#[tokio::test]
async fn buckets_are_created_again_when_the_server_restarts_with_an_empty_store() {
    let mut server = NatsServer::start();
    let mut node = connect(settings_of(&server)).await;
    let mut other = connect(settings_of(&server)).await;
    create(&node, 1, "first").await.unwrap();
    // The old watch is at a sequence that the new bucket does not reach.
    let mut last = None;
    for _ in 0..10 {
        last = Some(announce(&node, "old", last).await.unwrap());
    }
    server.kill();
    server.remove_store();
    server.restart();
    wait_until_reconnected(&mut node).await;
    wait_until_reconnected(&mut other).await;
    assert_eq!(node.directory.find(&realm(1)).await, Ok(None));
    create(&node, 1, "again").await.unwrap();
    assert_eq!(announce(&node, "new", last).await, Err(NotWritten));
    announce(&node, "new", None).await.unwrap();
    other.events.wait_for(&announced(&node, "new")).await;
    assert_eq!(other.directory.listens(&node.id).await, Ok(true));
}

#[tokio::test]
async fn a_bucket_that_was_removed_is_created_again() {
    let server = NatsServer::start();
    let mut node = connect(settings_of(&server)).await;
    admin(&server)
        .await
        .delete_key_value("test-realms")
        .await
        .unwrap();
    assert_eq!(create(&node, 1, "first").await, Err(NotWritten));
    wait_until_reconnected(&mut node).await;
    create(&node, 1, "first").await.unwrap();
    admin(&server)
        .await
        .delete_key_value("test-nodes")
        .await
        .unwrap();
    assert_eq!(announce(&node, "v1", None).await, Err(NotWritten));
    node.events.wait_for(&DirectoryEvent::Connected).await;
    announce(&node, "v1", None).await.unwrap();
    node.events.wait_for(&announced(&node, "v1")).await;
    admin(&server)
        .await
        .delete_key_value("test-denied")
        .await
        .unwrap();
    let written = node.directory.deny(&denial(1), "v1".to_owned()).await;
    assert_eq!(written, Err(NotWritten));
    wait_until_reconnected(&mut node).await;
    let written = node.directory.deny(&denial(1), "v1".to_owned()).await;
    assert_eq!(written, Ok(()));
    node.events.wait_for(&denied(1, "v1")).await;
}

/// Otherwise an owner that gives a realm away could remove the claim of another node.
#[tokio::test]
async fn a_revision_of_a_bucket_that_was_removed_is_none_of_the_next_one() {
    let server = NatsServer::start();
    let mut node = connect(settings_of(&server)).await;
    let former = create(&node, 1, "former").await.unwrap();
    admin(&server)
        .await
        .delete_key_value("test-realms")
        .await
        .unwrap();
    // It notices the loss by a write that fails.
    assert_eq!(create(&node, 2, "lost").await, Err(NotWritten));
    wait_until_reconnected(&mut node).await;
    let other = connect(settings_of(&server)).await;
    let revision = create(&other, 1, "of the other").await.unwrap();
    assert!(revision > former);
    let (directory, realm) = (&node.directory, realm(1));
    let replaced = directory.replace(&realm, "moved".to_owned(), former);
    assert_eq!(replaced.await, Err(NotWritten));
    assert_eq!(directory.remove(&realm, former).await, Err(NotWritten));
    let found = other.directory.find(&realm).await.unwrap().unwrap();
    assert_eq!(
        (found.record.as_str(), found.revision),
        ("of the other", revision)
    );
}

#[tokio::test]
async fn nodes_that_start_at_the_same_time_share_the_buckets() {
    let server = NatsServer::start();
    let mut nodes = [(); 5].map(|()| start(settings_of(&server)));
    for node in &mut nodes {
        node.events.wait_for(&DirectoryEvent::Connected).await;
    }
    let revision = create(&nodes[0], 1, "first").await.unwrap();
    for node in &nodes {
        let found = node.directory.find(&realm(1)).await.unwrap().unwrap();
        assert_eq!((found.record.as_str(), found.revision), ("first", revision));
    }
}

#[tokio::test]
async fn nodes_are_watched_anew_when_their_bucket_was_exchanged() {
    let server = NatsServer::start();
    let mut node = connect(settings_of(&server)).await;
    let mut last = None;
    for _ in 0..10 {
        last = Some(announce(&node, "old", last).await.unwrap());
    }
    let admin = admin(&server).await;
    let nodes = admin.get_key_value("test-nodes").await.unwrap();
    let config = nodes.stream.cached_info().config.clone();
    admin.delete_stream(&config.name).await.unwrap();
    admin.create_stream(config).await.unwrap();
    // Each write is acknowledged, and none of them reaches the old watch.
    announce(&node, "new", None).await.unwrap();
    wait_until_reconnected(&mut node).await;
    node.events.wait_for(&announced(&node, "new")).await;
}

/// A denial that a client of NATS has removed is still in force.
#[tokio::test]
async fn the_removal_of_a_denial_is_not_sent() {
    let server = NatsServer::start();
    let mut node = connect(settings_of(&server)).await;
    node.directory
        .deny(&denial(1), "v1".to_owned())
        .await
        .unwrap();
    node.events.wait_for(&denied(1, "v1")).await;
    let bucket = admin(&server).await.get_key_value("test-denied").await;
    bucket.unwrap().delete(denial(1).to_string()).await.unwrap();
    node.directory
        .deny(&denial(2), "v1".to_owned())
        .await
        .unwrap();
    node.events.wait_for(&denied(2, "v1")).await;
    let mut other = start(settings_of(&server));
    let before = other.events.before(&DirectoryEvent::Connected).await;
    assert_eq!(before, [denied(2, "v1")]);
}

/// A thousand denials are there before a node has a lease.
#[tokio::test]
async fn all_denials_are_sent_before_a_node_is_connected() {
    const DENIALS: u16 = 1_000;
    let server = NatsServer::start();
    let node = connect(settings_of(&server)).await;
    for number in 0..DENIALS {
        let mut bytes = [0; 20];
        bytes[..2].copy_from_slice(&number.to_be_bytes());
        let denial = bridge_cluster::DenialKey::from_bytes(bytes);
        node.directory.deny(&denial, "v1".to_owned()).await.unwrap();
    }
    let mut other = start(settings_of(&server));
    let before = other.events.before(&DirectoryEvent::Connected).await;
    assert_eq!(before.len(), usize::from(DENIALS));
}

#[tokio::test]
async fn operations_end_in_time_when_the_server_hangs() {
    let server = NatsServer::start();
    let mut node = connect(settings_of(&server)).await;
    let revision = create(&node, 1, "first").await.unwrap();
    server.suspend();
    let directory = &node.directory;
    let began = Instant::now();
    let (realm_1, realm_2) = (realm(1), realm(2));
    let denial = denial(1);
    let (found, created, replaced, removed, announced, withdrawn, listens, denied) = tokio::join!(
        directory.find(&realm_1),
        directory.create(&realm_2, "first".to_owned()),
        directory.replace(&realm_1, "second".to_owned(), revision),
        directory.remove(&realm_1, revision),
        directory.announce(&node.id, "v1".to_owned(), None),
        directory.withdraw(&node.id),
        directory.listens(&node.id),
        directory.deny(&denial, "v1".to_owned()),
    );
    let elapsed = began.elapsed();
    assert_eq!((found, listens), (Err(Away), Err(Away)));
    assert_eq!((created, replaced), (Err(NotWritten), Err(NotWritten)));
    assert_eq!((removed, withdrawn), (Err(NotWritten), Err(NotWritten)));
    assert_eq!((announced, denied), (Err(NotWritten), Err(NotWritten)));
    assert!(elapsed < OPERATION_LIMIT, "{elapsed:?}");
    node.events.wait_for(&DirectoryEvent::Away).await;
    server.resume();
    node.events.wait_for(&DirectoryEvent::Connected).await;
    eventually(async || node.directory.find(&realm(1)).await).await;
}

#[tokio::test]
async fn only_nodes_that_are_connected_listen() {
    let server = NatsServer::start();
    let node = connect(settings_of(&server)).await;
    let other = connect(settings_of(&server)).await;
    assert_eq!(node.directory.listens(&other.id).await, Ok(true));
    assert_eq!(node.directory.listens(&node.id).await, Ok(true));
    let id = other.id;
    drop(other);
    // The server notices the end of the connection a moment later.
    eventually(async || match node.directory.listens(&id).await {
        Ok(false) => Ok(()),
        other => Err(other),
    })
    .await;
}

#[tokio::test]
async fn a_bucket_gets_the_settings_of_the_node_that_opens_it() {
    const DAY: u64 = 24 * 60 * 60;
    let server = NatsServer::start();
    let admin = admin(&server).await;
    for lease in [10, 20, 3] {
        let mut changed = settings_of(&server);
        changed.lease = Duration::from_secs(lease);
        drop(connect(changed).await);
        for (name, max_age) in [
            ("test-nodes", lease),
            ("test-realms", DAY),
            ("test-denied", 400 * DAY),
        ] {
            let bucket = admin.get_key_value(name).await.unwrap();
            let config = &bucket.stream.cached_info().config;
            assert_eq!(config.max_age, Duration::from_secs(max_age));
            assert_eq!(config.max_messages_per_subject, 1);
        }
    }
}

#[tokio::test]
async fn a_lease_that_has_ended_is_not_renewed() {
    let server = NatsServer::start();
    let mut short = settings_of(&server);
    short.lease = Duration::from_secs(1);
    let node = connect(short).await;
    let first = announce(&node, "v1", None).await.unwrap();
    let second = announce(&node, "v1", Some(first)).await.unwrap();
    assert!(second > first);
    wait_until_lapsed(&server, node.id).await;
    assert_eq!(announce(&node, "v1", Some(second)).await, Err(NotWritten));
    assert!(announce(&node, "v1", None).await.unwrap() > second);
}

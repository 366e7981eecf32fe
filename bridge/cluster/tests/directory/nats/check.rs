//! The check of NATS for the check of a configuration.

use std::sync::atomic::{AtomicU8, Ordering};

use async_nats::ConnectOptions;
use async_nats::jetstream::Context;
use bridge_cluster::{NatsCheck, NatsServer, NatsSettings, NodeId};
use futures_util::TryStreamExt;
use futures_util::future::join_all;

use super::rights::{configuration, login, rights};
use super::{admin, announce, connect, create, refusal, settings_of, start};

/// Checks NATS as a new node.
async fn check(settings: &NatsSettings) -> NatsCheck {
    static CHECKS: AtomicU8 = AtomicU8::new(100);
    let own = NodeId::from_bytes([CHECKS.fetch_add(1, Ordering::Relaxed); 16]);
    NatsCheck::run(settings, own).await
}

fn assert_good(check: &NatsCheck) {
    assert!(check.errors.is_empty(), "{check:?}");
    assert!(check.warnings.is_empty(), "{check:?}");
    assert!(check.version.is_some(), "{check:?}");
}

/// The streams of a server, each with its records, its last sequence and its consumers.
async fn contents(context: &Context) -> Vec<(String, u64, u64, usize)> {
    let streams: Vec<_> = context.streams().try_collect().await.unwrap();
    let contents = streams.into_iter().map(|stream| {
        let state = stream.state;
        let (records, last) = (state.messages, state.last_sequence);
        (stream.config.name, records, last, state.consumer_count)
    });
    let mut contents: Vec<_> = contents.collect();
    contents.sort_unstable();
    contents
}

async fn admin_of_account(server: &NatsServer) -> Context {
    let options = ConnectOptions::with_user_and_password("admin".to_owned(), "hush".to_owned());
    let client = options.connect(server.url()).await.unwrap();
    async_nats::jetstream::new(client)
}

#[tokio::test]
async fn the_least_rights_suffice_for_a_check_which_leaves_nothing_behind() {
    let mut server = NatsServer::start_with(&configuration());
    let settings = login(&server, "bridge");
    let context = admin_of_account(&server).await;
    assert_good(&check(&settings).await);
    assert_eq!(contents(&context).await, []);

    let [one, two, gone] = [
        connect(settings.clone()).await,
        connect(settings.clone()).await,
        connect(settings.clone()).await,
    ];
    for (node, record) in [(&one, "v1 one"), (&two, "v1 two"), (&gone, "v1 gone")] {
        announce(node, record, None).await.unwrap();
    }
    gone.directory.withdraw(&gone.id).await.unwrap();
    create(&one, 1, "first").await.unwrap();
    let before = contents(&context).await;
    let mut found = check(&settings).await;
    assert_good(&found);
    found.nodes.sort_unstable();
    let expected = [(one.id, "v1 one".to_owned()), (two.id, "v1 two".to_owned())];
    assert_eq!(found.nodes, expected);
    assert_eq!(contents(&context).await, before);
    server.stop();
    let log = server.log();
    assert!(!log.contains("Violation"), "{log}");
}

#[tokio::test]
async fn each_missing_right_is_named() {
    let server = NatsServer::start_with(&configuration());
    let _node = connect(login(&server, "bridge")).await;
    let checks = rights().enumerate().map(async |(number, right)| {
        let found = check(&login(&server, &format!("without-{number}"))).await;
        let subject = right.trim_end_matches('>');
        let is_named = found.errors.iter().any(|error| error.contains(subject));
        assert!(is_named, "{right}: {found:?}");
    });
    join_all(checks).await;
}

#[tokio::test]
async fn a_server_that_is_away_is_a_warning_and_a_refused_login_an_error() {
    let server = NatsServer::start_with("authorization { user: bridge, password: hush }");
    let mut settings = login(&server, "bridge");
    settings.servers.push("nats://127.0.0.1:1".to_owned());
    let found = check(&settings).await;
    assert!(found.errors.is_empty(), "{found:?}");
    let [warning] = &found.warnings[..] else {
        panic!("{found:?}");
    };
    assert!(warning.starts_with("nats://127.0.0.1:1: "), "{warning}");

    let found = check(&login(&server, "other")).await;
    let [error] = &found.errors[..] else {
        panic!("{found:?}");
    };
    assert!(error.contains("cluster_nats_user"), "{error}");
    assert!(found.version.is_none());
}

#[tokio::test]
async fn a_server_that_hangs_or_has_no_jetstream_is_a_warning() {
    let server =
        NatsServer::start_with("accounts { OTHER { users: [{ user: bridge, password: hush }] } }");
    let found = check(&login(&server, "bridge")).await;
    let is_named = |warning: &String| warning.contains("JetStream") || warning.contains("$JS.API.");
    assert!(found.warnings.iter().any(is_named), "{found:?}");
    server.suspend();
    let found = check(&login(&server, "bridge")).await;
    assert!(!found.warnings.is_empty(), "{found:?}");
    server.resume();
}

#[tokio::test]
async fn another_number_of_replicas_is_a_warning() {
    let server = NatsServer::start();
    let _node = connect(settings_of(&server)).await;
    let three = NatsSettings {
        replicas: 3,
        ..settings_of(&server)
    };
    let found = check(&three).await;
    let [warning] = &found.warnings[..] else {
        panic!("{found:?}");
    };
    assert!(warning.contains("`cluster_replicas` is 3"), "{warning}");
    let nodes = admin(&server).await.get_stream("KV_test-nodes").await;
    assert_eq!(nodes.unwrap().cached_info().config.num_replicas, 1);
}

#[tokio::test]
async fn more_replicas_than_servers_are_refused_with_the_setting() {
    let server = NatsServer::start();
    let three = NatsSettings {
        replicas: 3,
        ..settings_of(&server)
    };
    // Once to create the buckets, and once to change them.
    for number in [1, 2] {
        let mut node = start(three.clone());
        let text = refusal(&mut node).await;
        assert!(text.contains("`cluster_replicas`"), "{text}");
        if number == 1 {
            let _node = connect(settings_of(&server)).await;
        }
    }
}

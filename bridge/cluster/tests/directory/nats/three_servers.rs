//! Three servers, of which one fails.

use std::time::{Duration, Instant};

use bridge_cluster::NatsServer;

use super::{
    OPERATION_LIMIT, admin, announce, announced, check_contract_of, connect, create, eventually,
    realm, settings,
};

#[tokio::test]
async fn three_servers_keep_the_contract() {
    check_contract_of(&NatsServer::start_three()).await;
}

#[tokio::test]
async fn records_outlive_the_leader_of_their_bucket() {
    let mut servers = NatsServer::start_three();
    let node = connect(settings(&servers)).await;
    let mut other = connect(settings(&servers)).await;
    let revision = eventually(async || create(&node, 1, "first").await).await;
    let leader = leader(&servers[0], "KV_test-realms").await;
    let killed = servers.iter_mut().find(|server| server.name() == leader);
    killed.unwrap().kill();
    let mut slowest = Duration::ZERO;
    let replaced = eventually(async || {
        let began = Instant::now();
        let record = "second".to_owned();
        let replaced = node.directory.replace(&realm(1), record, revision).await;
        slowest = slowest.max(began.elapsed());
        let began = Instant::now();
        let found = node.directory.find(&realm(1)).await;
        slowest = slowest.max(began.elapsed());
        match found {
            // The answer to an earlier write may have been lost.
            Ok(Some(found)) if found.record == "second" => Ok(found.revision),
            _ => replaced,
        }
    })
    .await;
    assert!(replaced > revision);
    assert!(slowest < OPERATION_LIMIT, "{slowest:?}");
    eventually(async || announce(&node, "v1", None).await).await;
    other.events.wait_for(&announced(&node, "v1")).await;
    // A read from a replica may be older than the write.
    eventually(async || match other.directory.find(&realm(1)).await {
        Ok(Some(found)) if found.record == "second" => Ok(()),
        other => Err(other),
    })
    .await;
}

/// Returns the name of the server that leads a bucket.
async fn leader(server: &NatsServer, stream: &str) -> String {
    let admin = admin(server).await;
    eventually(async || {
        let stream = admin.get_stream(stream).await.map_err(|_| ())?;
        let cluster = stream.cached_info().cluster.clone();
        cluster.and_then(|cluster| cluster.leader).ok_or(())
    })
    .await
}

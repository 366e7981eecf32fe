//! Three servers, of which one fails.

use std::time::{Duration, Instant};

use bridge_cluster::NatsServer;

use super::{
    OPERATION_LIMIT, announce, announced, check_contract_of, connect, create, eventually, realm,
    settings,
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
    let leader =
        eventually(async || servers[0].find_leader("KV_test-realms").await.ok_or(())).await;
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

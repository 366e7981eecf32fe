//! What a client that never reads its stream costs the one beside it: calls of a page's tool,
//! alone, beside stalled clients, and beside stalled clients while the tool list keeps changing.
//!
//! `cargo build --release -p bridge && cargo bench -p e2e --bench stalled`. Look at the ratios of
//! one run.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bridge_protocol::Kind;
use criterion::{Criterion, criterion_group, criterion_main};
use e2e::{Era, McpClient, NativeItem, NativePage, StalledClient, TestBed, Transport};
use serde_json::json;
use tokio::runtime::Runtime;

const STALLED_CLIENTS: usize = 8;

fn calls(criterion: &mut Criterion) {
    let runtime = Runtime::new().unwrap();
    let mut group = criterion.benchmark_group("a call of a healthy client");
    for (name, stalled, changing) in [
        ("alone", 0, false),
        ("beside 8 stalled clients", STALLED_CLIENTS, false),
        ("while the list changes", 0, true),
        (
            "beside 8 stalled clients while the list changes",
            STALLED_CLIENTS,
            true,
        ),
    ] {
        let world = runtime.block_on(TestBed::bridge());
        let echo = || NativeItem::tool("echo", |call| async move { Ok(call.input().into()) });
        let page = runtime.block_on(NativePage::open(&world, "page", vec![echo()]));
        let client = runtime.block_on(McpClient::connect(&world, Transport::Http, Era::Initialize));
        let stuck: Vec<_> = (0..stalled)
            .map(|_| runtime.block_on(StalledClient::connect(&world)))
            .collect();
        let (page, stop) = (Arc::new(page), Arc::new(AtomicBool::new(!changing)));
        let changes = runtime.spawn(change_tools(Arc::clone(&page), Arc::clone(&stop)));
        group.bench_function(name, |bencher| {
            bencher
                .to_async(&runtime)
                .iter(async || client.call("echo", json!({ "id": 1 })).await.unwrap());
        });
        stop.store(true, Ordering::Relaxed);
        runtime.block_on(changes).unwrap();
        drop(stuck);
    }
}

/// Each change is news for every client.
async fn change_tools(page: Arc<NativePage>, stop: Arc<AtomicBool>) {
    while !stop.load(Ordering::Relaxed) {
        let extra = NativeItem::tool("extra", |_| async { Ok(json!(null).into()) });
        page.register(vec![extra]).await;
        page.unregister(&[(Kind::Tool, "extra")]).await;
        tokio::task::yield_now().await;
    }
}

criterion_group!(benches, calls);
criterion_main!(benches);

//! The cost of clients that never read their stream for another client: the latency of tool calls
//! without them, with them, and with them while the tool list keeps changing.
//!
//! Run it with `cargo build --release -p bridge && cargo bench -p e2e --bench stalled`. Only the
//! ratios within one run are meaningful.
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
        ("without stalled clients", 0, false),
        ("with 8 stalled clients", STALLED_CLIENTS, false),
        ("while the list changes", 0, true),
        (
            "with 8 stalled clients while the list changes",
            STALLED_CLIENTS,
            true,
        ),
    ] {
        let bed = runtime.block_on(TestBed::bridge());
        let echo = || NativeItem::tool("echo", |call| async move { Ok(call.input().into()) });
        let page = runtime.block_on(NativePage::open(&bed, "page", vec![echo()]));
        let client = runtime.block_on(McpClient::connect(&bed, Transport::Http, Era::Initialize));
        let stalled_clients: Vec<_> = (0..stalled)
            .map(|_| runtime.block_on(StalledClient::connect(&bed)))
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
        drop(stalled_clients);
    }
}

/// Changes the tool list; every client is notified of each change.
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

//! The load generator and the floors beneath the bridge: they do what they say, so that figures mean
//! something. How fast anything is, is not asked here: `cargo xtask bench` measures.
#![allow(clippy::unwrap_used)]

use std::net::SocketAddr;
use std::time::Duration;

use e2e::TestBed;
use e2e::load::floor::{Floor, FloorProtocol};
use e2e::load::soak::Soak;
use e2e::load::{Load, Meter, Receipt, Route, Target, TargetSelection};
use tokio::net::TcpListener;

const ROUTES: [Route; 3] = [Route::ToolCall, Route::Mcp2025, Route::Mcp2026];

/// Several pages and callers, for a moment.
fn load(address: SocketAddr, target: Target, route: Route, result: &str) -> Load {
    Load {
        address,
        target,
        token: "a-token-for-one-journey-0123456789".to_owned(),
        pages: 3,
        tools: 2,
        schemas: false,
        pick: TargetSelection::Tool,
        receipt: Receipt::Together,
        dialect: None,
        callers: 4,
        route,
        payload: result.parse().unwrap(),
        warm_up: Duration::ZERO,
        duration: Duration::from_millis(100),
        meter: None,
    }
}

async fn floor(meaning: FloorProtocol) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    // It ends with the test's runtime.
    tokio::spawn(Floor::new(meaning, 4096).serve(listener));
    address
}

#[tokio::test]
async fn a_bridge_under_load_answers_every_call_by_every_route() {
    let world = TestBed::bridge().await;
    for route in ROUTES {
        for schemas in [false, true] {
            let load = load(world.address(), Target::Bridge, route, "1kb");
            let figures = Load { schemas, ..load }.run().await.unwrap();
            assert!(figures.calls > 0 && figures.p99_us >= figures.p50_us);
        }
    }
}

#[tokio::test]
async fn pages_may_be_picked_by_session_and_acknowledge_in_several_ways() {
    let world = TestBed::bridge().await;
    for receipt in [Receipt::Apart, Receipt::None] {
        for route in ROUTES {
            let load = load(world.address(), Target::Bridge, route, "1kb-text");
            let pick = TargetSelection::Session;
            let figures = Load {
                receipt,
                pick,
                ..load
            }
            .run()
            .await
            .unwrap();
            assert!(figures.calls > 0);
        }
    }
}

#[tokio::test]
async fn clients_and_pages_of_mcp_web_0_1_work_under_load() {
    let world = TestBed::bridge_with(&["--compat", "mcp-web"]).await;
    for result in ["1kb", "1kb-text"] {
        let load = load(world.address(), Target::Bridge, Route::V1, result);
        // Among several pages a call must name its session there.
        let pick = TargetSelection::Session;
        assert!(Load { pick, ..load }.run().await.unwrap().calls > 0);
    }
}

#[tokio::test]
async fn a_soak_says_what_the_bridge_holds_while_everything_goes_on_at_once() {
    let world = TestBed::bridge().await;
    let mixed = Soak {
        address: world.address(),
        token: world.token().to_owned(),
        meter: Meter::new(world.process_id()),
        pages: 4,
        callers: 6,
        duration: Duration::from_secs(1),
        sample_interval: Duration::from_millis(100),
        seed: 7,
    };
    let mut said = 0;
    let held = mixed.run(|_| said += 1).await.unwrap();
    let last = held.samples().last().unwrap();
    assert_eq!(said, held.samples().len());
    assert!(last.answered > 0 && last.connected >= 4, "{last}");
    assert!(last.memory > 0 && last.descriptors > 0, "{last}");
}

#[tokio::test]
async fn both_floors_answer_every_call() {
    for (target, meaning) in [
        (Target::Floor, FloorProtocol::Bytes),
        (Target::FloorMcp, FloorProtocol::Mcp),
    ] {
        let address = floor(meaning).await;
        for route in ROUTES {
            let load = load(address, target, route, "1kb");
            assert!(load.run().await.unwrap().calls > 0);
        }
    }
}

#[tokio::test]
async fn the_hand_written_minimum_answers_the_bytes_that_the_bridge_answers() {
    let world = TestBed::bridge().await;
    let floor = floor(FloorProtocol::Mcp).await;
    for route in ROUTES {
        for result in ["1kb", "1kb-text", "600kb-rows", "600kb-text"] {
            let bridge = load(world.address(), Target::Bridge, route, result);
            let minimum = load(floor, Target::FloorMcp, route, result);
            let expected = bridge.answer().await.unwrap();
            let answered = minimum.answer().await.unwrap();
            let same = expected == answered;
            let shown = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..200]).into_owned();
            assert!(
                same,
                "{route:?} {result}: {} is not {}",
                shown(&answered),
                shown(&expected)
            );
        }
    }
}

#[tokio::test]
async fn a_target_that_does_not_answer_fails_the_run() {
    // Its pages wait for what the other floor sends.
    let address = floor(FloorProtocol::Bytes).await;
    let load = load(address, Target::FloorMcp, Route::ToolCall, "1kb");
    let error = load.run().await.unwrap_err().to_string();
    assert!(error.starts_with("no call was answered"), "{error}");
}

//! The load generator and the floors work as described, so that their figures mean something. These
//! tests do not measure performance; `cargo xtask bench` does.
#![allow(clippy::unwrap_used)]

mod attacks;

use std::net::SocketAddr;
use std::time::Duration;

use e2e::TestBed;
use e2e::load::floor::{Floor, FloorProtocol};
use e2e::load::soak::Soak;
use e2e::load::{Load, Meter, Receipt, Route, Target, TargetSelection};
use tokio::net::TcpListener;

const ROUTES: [Route; 3] = [Route::ToolCall, Route::Mcp2025, Route::Mcp2026];

/// Creates a short run with several pages and callers.
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

async fn floor(protocol: FloorProtocol) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    // The server ends with the test's runtime.
    tokio::spawn(Floor::new(protocol, 4096).serve(listener));
    address
}

#[tokio::test]
async fn a_bridge_under_load_answers_every_call_by_every_route() {
    let bed = TestBed::bridge().await;
    for route in ROUTES {
        for schemas in [false, true] {
            let load = load(bed.address(), Target::Bridge, route, "1kb");
            let figures = Load { schemas, ..load }.run().await.unwrap();
            assert!(figures.calls > 0 && figures.p99_us >= figures.p50_us);
        }
    }
}

#[tokio::test]
async fn pages_can_be_selected_by_session_and_acknowledge_in_several_ways() {
    let bed = TestBed::bridge().await;
    for receipt in [Receipt::Apart, Receipt::None] {
        for route in ROUTES {
            let load = load(bed.address(), Target::Bridge, route, "1kb-text");
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
    let bed = TestBed::bridge_with(&["--compat", "mcp-web"]).await;
    for result in ["1kb", "1kb-text"] {
        let load = load(bed.address(), Target::Bridge, Route::V1, result);
        // With several pages, a call of mcp-web 0.1 must name its session.
        let pick = TargetSelection::Session;
        assert!(Load { pick, ..load }.run().await.unwrap().calls > 0);
    }
}

#[tokio::test]
async fn a_soak_reports_what_the_bridge_holds() {
    let bed = TestBed::bridge().await;
    let soak = Soak {
        address: bed.address(),
        token: bed.token().to_owned(),
        meter: Meter::new(bed.process_id()),
        pages: 4,
        callers: 6,
        duration: Duration::from_secs(1),
        sample_interval: Duration::from_millis(100),
        seed: 7,
    };
    let mut samples = 0;
    let series = soak.run(|_| samples += 1).await.unwrap();
    let last = series.samples().last().unwrap();
    assert_eq!(samples, series.samples().len());
    assert!(last.answered > 0 && last.connected >= 4, "{last}");
    assert!(last.memory > 0 && last.descriptors > 0, "{last}");
}

#[tokio::test]
async fn both_floors_answer_every_call() {
    for (target, protocol) in [
        (Target::Floor, FloorProtocol::Bytes),
        (Target::FloorMcp, FloorProtocol::Mcp),
    ] {
        let address = floor(protocol).await;
        for route in ROUTES {
            let load = load(address, target, route, "1kb");
            assert!(load.run().await.unwrap().calls > 0);
        }
    }
}

#[tokio::test]
async fn the_mcp_floor_answers_the_same_bytes_as_the_bridge() {
    let bed = TestBed::bridge().await;
    let floor = floor(FloorProtocol::Mcp).await;
    for route in ROUTES {
        for result in ["1kb", "1kb-text", "600kb-rows", "600kb-text"] {
            let bridge = load(bed.address(), Target::Bridge, route, result);
            let minimum = load(floor, Target::FloorMcp, route, result);
            let expected = bridge.answer().await.unwrap();
            let answered = minimum.answer().await.unwrap();
            let excerpt = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..200]).into_owned();
            assert!(
                expected == answered,
                "{route:?} {result}: {} is not {}",
                excerpt(&answered),
                excerpt(&expected)
            );
        }
    }
}

#[tokio::test]
async fn a_target_that_does_not_answer_fails_the_run() {
    // The pages of this target do not understand what the floor of bytes sends.
    let address = floor(FloorProtocol::Bytes).await;
    let load = load(address, Target::FloorMcp, Route::ToolCall, "1kb");
    let error = load.run().await.unwrap_err().to_string();
    assert!(error.starts_with("no call was answered"), "{error}");
}

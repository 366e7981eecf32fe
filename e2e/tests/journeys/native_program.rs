//! A native program: a session of the crate `mcp-web-sdk`, in its own process.

use std::time::{Duration, Instant};

use e2e::{
    Era, McpClient, PlainHttp, ProcessGroup, TestBed, Transport, native_program, poll_pause,
    with_deadline,
};
use mcp_web_sdk::{NoArguments, Status, Tool};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::full_protocol::{App, check_app};

/// How long a process that has nothing to do may take to end, with other journeys beside it.
const END_TIMEOUT: Duration = Duration::from_secs(30);
/// More than `page_grace`.
const GRACE_TIMEOUT: Duration = Duration::from_secs(20);

/// The program `native-app` that is connected.
struct Program {
    process: ProcessGroup,
    client: PlainHttp,
}

impl Program {
    async fn start(bed: &TestBed, session: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_native-app"));
        command.args([&bed.url(), bed.token(), session]);
        let mut process = ProcessGroup::start("native-app", command);
        process.wait_for_line("registered wait").await;
        Self {
            process,
            client: PlainHttp::new(bed),
        }
    }

    async fn call(&self, tool: &str, input: Value) -> Value {
        self.client.call(tool, input).await.unwrap()
    }

    async fn increment(&self) -> u64 {
        let answer = self.call("increment", json!({ "by": 1 })).await;
        let count = answer["structuredContent"]["count"].as_u64();
        count.unwrap_or_else(|| panic!("{answer}"))
    }
}

impl App for Program {
    async fn wait_for_subscriber(&mut self) {
        self.process
            .wait_for_line("subscriptions [\"notes://all\"]")
            .await;
    }

    async fn update_notes(&mut self) {
        self.call("update", json!({})).await;
    }
}

async fn check_everything(transport: Transport, era: Era) {
    let bed = TestBed::bridge().await;
    let mut program = Program::start(&bed, "native").await;
    check_app(&bed, &mut program, transport, era).await;
}

#[tokio::test]
async fn everything_of_the_protocol_over_http_2025() {
    check_everything(Transport::Http, Era::Initialize).await;
}

#[tokio::test]
async fn everything_of_the_protocol_over_http_2026() {
    check_everything(Transport::Http, Era::Discover).await;
}

#[tokio::test]
async fn everything_of_the_protocol_over_stdio_2025() {
    check_everything(Transport::Stdio, Era::Initialize).await;
}

#[tokio::test]
async fn everything_of_the_protocol_over_stdio_2026() {
    check_everything(Transport::Stdio, Era::Discover).await;
}

#[tokio::test]
async fn the_schemas_of_a_tool_are_those_of_its_types() {
    let bed = TestBed::bridge().await;
    let program = Program::start(&bed, "native").await;
    let tools: Value = program.client.get("/tools").await.json().await.unwrap();
    let tools = tools["tools"].as_array().unwrap();
    let tool = tools
        .iter()
        .find(|tool| tool["name"] == "increment")
        .unwrap();
    let by = &tool["inputSchema"]["properties"]["by"];
    assert_eq!(by["type"], "integer", "{tool}");
    assert_eq!(by["maximum"], 255, "{tool}");
    assert_eq!(tool["inputSchema"]["required"], json!(["by"]), "{tool}");
    let count = &tool["outputSchema"]["properties"]["count"];
    assert_eq!(count["type"], "integer", "{tool}");
}

/// The bridge refuses them by the schema, and nothing runs.
#[tokio::test]
async fn arguments_that_do_not_fit_are_refused() {
    let bed = TestBed::bridge().await;
    let program = Program::start(&bed, "native").await;
    for input in [
        json!({}),
        json!({ "by": "one" }),
        json!({ "by": 256 }),
        json!({ "by": -1 }),
    ] {
        let answer = program.call("increment", input.clone()).await;
        assert_eq!(
            answer["_meta"]["mcp-web/error"]["code"], "InvalidArguments",
            "{input}: {answer}"
        );
    }
    assert_eq!(program.increment().await, 1);
}

#[tokio::test]
async fn a_panic_or_a_block_of_a_handler_is_that_of_its_call() {
    let bed = TestBed::bridge().await;
    let program = Program::start(&bed, "native").await;
    let answer = program.call("panic", json!({})).await;
    assert_eq!(
        answer["_meta"]["mcp-web/error"]["code"], "HandlerFailed",
        "{answer}"
    );
    let started = Instant::now();
    let (_, count) = tokio::join!(program.call("block", json!({})), program.increment());
    assert_eq!(count, 1);
    println!(
        "one call blocked its thread, both took {:?}",
        started.elapsed()
    );
}

#[tokio::test]
async fn a_result_of_a_mebibyte_arrives_whole() {
    let bed = TestBed::bridge_with(&["--max-result-bytes", "4194304"]).await;
    let program = Program::start(&bed, "native").await;
    let answer = program.call("text", json!({ "bytes": 1024 * 1024 })).await;
    assert_eq!(
        answer["content"][0]["text"].as_str().unwrap().len(),
        1024 * 1024
    );
}

#[tokio::test]
async fn it_serves_the_bridge_that_was_started_again() {
    let mut bed = TestBed::bridge().await;
    let mut program = Program::start(&bed, "native").await;
    assert_eq!(program.increment().await, 1);
    bed.crash().await;
    program.process.wait_for_line("status Reconnecting").await;
    bed.restart().await;
    let answer = with_deadline("the program to be back", async {
        loop {
            let answer = program.call("increment", json!({ "by": 1 })).await;
            if answer["structuredContent"].is_object() {
                return answer;
            }
            poll_pause().await;
        }
    });
    assert_eq!(answer.await["structuredContent"]["count"], 2);
}

#[tokio::test]
async fn a_call_that_its_client_cancels_is_cancelled_in_the_handler() {
    let bed = TestBed::bridge().await;
    let mut program = Program::start(&bed, "native").await;
    let client = McpClient::connect(&bed, Transport::Http, Era::Discover).await;
    let call = client.start_call("wait", json!({})).await;
    program.process.wait_for_line("waiting").await;
    call.cancel().await;
    program.process.wait_for_line("cancelled: ").await;
}

#[tokio::test]
async fn a_program_that_is_killed_comes_back_as_the_same_session() {
    let bed = TestBed::bridge().await;
    let mut program = Program::start(&bed, "kept").await;
    let client = McpClient::connect(&bed, Transport::Http, Era::Discover).await;
    let call = client.start_call("wait", json!({})).await;
    program.process.wait_for_line("waiting").await;
    // This answer is sent after the acknowledgement of `wait`.
    assert_eq!(program.increment().await, 1);
    let killed = Instant::now();
    program.process.kill().await;
    let result = tokio::time::timeout(GRACE_TIMEOUT, call.result()).await;
    let result = serde_json::to_value(result.unwrap().unwrap()).unwrap();
    println!("the call failed after {:?}", killed.elapsed());
    assert_eq!(
        result["_meta"]["mcp-web/error"]["code"], "PageGone",
        "{result}"
    );
    let second = Program::start(&bed, "kept").await;
    assert_eq!(second.increment().await, 1);
}

/// A program that disconnects before it ends: the call ends at once.
#[tokio::test]
async fn a_program_that_leaves_ends_its_calls_at_once() {
    let bed = TestBed::bridge().await;
    let mut program = Program::start(&bed, "native").await;
    let client = McpClient::connect(&bed, Transport::Http, Era::Discover).await;
    let call = client.start_call("wait", json!({})).await;
    program.process.wait_for_line("waiting").await;
    let left = Instant::now();
    program.process.interrupt();
    let result = serde_json::to_value(call.result().await.unwrap()).unwrap();
    assert_eq!(
        result["_meta"]["mcp-web/error"]["code"], "PageGone",
        "{result}"
    );
    assert!(left.elapsed() < Duration::from_secs(4));
    assert!(program.process.wait_for_end(END_TIMEOUT).await);
}

#[tokio::test]
async fn of_two_programs_with_one_session_the_older_one_stops() {
    let bed = TestBed::bridge().await;
    let mut older = Program::start(&bed, "shared").await;
    let newer = Program::start(&bed, "shared").await;
    older.process.wait_for_line("SessionSuperseded").await;
    assert!(older.process.wait_for_end(END_TIMEOUT).await);
    assert_eq!(newer.increment().await, 1);
}

/// Without a tokio runtime: the connection has its own thread, which ends with the program's
/// last handle.
#[test]
fn a_program_without_a_runtime_has_a_thread() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let bed = runtime.block_on(TestBed::bridge());
    let app = native_program(&bed, "native").build().unwrap();
    app.add_tool(Tool::new("thread"), |_: NoArguments, _| async {
        Ok(std::thread::current().name().unwrap_or_default().to_owned())
    });
    app.spawn().unwrap();
    assert!(
        app.spawn()
            .unwrap_err()
            .to_string()
            .contains("runs already")
    );
    runtime.block_on(async {
        let client = PlainHttp::new(&bed);
        let answer = client.call_when_registered("thread", json!({})).await;
        assert_eq!(answer["content"][0]["text"], "mcp-web", "{answer}");
        let mut status = app.status();
        drop(app);
        let ended = status
            .wait_for(|status| *status == Status::Disconnected)
            .await;
        assert!(ended.is_ok());
    });
}

/// `cargo tree` of the crate, as a native program has it.
#[test]
fn no_crate_for_browsers_is_in_its_dependency_tree() {
    let output = std::process::Command::new(env!("CARGO"))
        .args([
            "tree",
            "--package",
            "mcp-web-sdk",
            "--edges",
            "normal",
            "--prefix",
            "none",
        ])
        .output()
        .unwrap();
    let tree = String::from_utf8(output.stdout).unwrap();
    assert!(
        tree.contains("web-sdk-core v") && tree.contains("tokio-tungstenite v"),
        "{tree}"
    );
    for name in ["js-sys", "wasm-bindgen", "web-sys", "rlsf", "axum", "rmcp"] {
        assert!(!tree.contains(&format!("\n{name} v")), "{name} in {tree}");
    }
}

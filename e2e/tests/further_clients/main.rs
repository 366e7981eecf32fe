//! Clients that only `cargo xtask clients` runs: they list the tools of a page in Chromium, call one, read
//! the error of a wrong call and receive a picture. Their results are the second table in
//! `docs/clients.md`.

use e2e::{Driver, DriverTransport, Era, run_inspector};

/// The folders of `target/tools` with the packages. Those of Python exclude each other.
const NODE: &str = "clients-further-node";
const PYTHON_SDK_1: &str = "clients-further-1";
const PYTHON_SDK_2: &str = "clients-further-2";
const FAST_AGENT: &str = "clients-further-fast-agent";

fn typescript_sdk(package: &'static str) -> Driver {
    Driver::new("typescript-sdk.mjs", DriverTransport::Http)
        .with("MCP_WEB_SDK_PACKAGE", package)
        .further()
}

#[tokio::test]
async fn typescript_sdk_1_17() {
    typescript_sdk("sdk-1-17")
        .run("10-typescript-sdk-1-17")
        .await;
}

#[tokio::test]
async fn typescript_sdk_1_20() {
    typescript_sdk("sdk-1-20")
        .run("11-typescript-sdk-1-20")
        .await;
}

#[tokio::test]
async fn typescript_sdk_1_24() {
    typescript_sdk("sdk-1-24")
        .run("12-typescript-sdk-1-24")
        .await;
}

#[tokio::test]
async fn inspector_with_sessions() {
    run_inspector(Some(Era::Initialize), "20-inspector-legacy").await;
}

#[tokio::test]
async fn inspector_without_sessions() {
    run_inspector(Some(Era::Discover), "21-inspector-modern").await;
}

#[tokio::test]
async fn inspector_that_finds_out_the_era() {
    run_inspector(None, "22-inspector-auto").await;
}

/// Creates the driver of an adapter in `further.mjs`.
fn node(adapter: &'static str) -> Driver {
    Driver::new("further.mjs", DriverTransport::Http)
        .with("MCP_WEB_CLIENT", adapter)
        .packages(NODE)
        .further()
}

#[tokio::test]
async fn mcp_use_on_node() {
    node("mcp-use").run("30-mcp-use-node").await;
}

#[tokio::test]
async fn mastra() {
    node("mastra").run("31-mastra").await;
}

#[tokio::test]
async fn mcp_hub() {
    node("mcp-hub").run("32-mcp-hub").await;
}

/// Creates the driver of an adapter in `further.py`, whose packages are in a folder of `target/tools`.
fn python(adapter: &'static str, packages: &'static str) -> Driver {
    Driver::new("further.py", DriverTransport::Http)
        .with("MCP_WEB_CLIENT", adapter)
        .packages(packages)
        .further()
}

#[tokio::test]
async fn pydantic_ai() {
    python("pydantic-ai", PYTHON_SDK_1)
        .run("40-pydantic-ai")
        .await;
}

#[tokio::test]
async fn mcp_use_in_python() {
    python("mcp-use", PYTHON_SDK_1)
        .run("41-mcp-use-in-python")
        .await;
}

#[tokio::test]
async fn strands_agents() {
    python("strands", PYTHON_SDK_1)
        .run("42-strands-agents")
        .await;
}

#[tokio::test]
async fn google_adk() {
    python("google-adk", PYTHON_SDK_1)
        .run("43-google-adk")
        .await;
}

#[tokio::test]
async fn llama_index() {
    python("llama-index", PYTHON_SDK_2)
        .run("44-llama-index")
        .await;
}

#[tokio::test]
async fn fast_agent() {
    python("fast-agent", FAST_AGENT).run("45-fast-agent").await;
}

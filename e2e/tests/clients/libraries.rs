//! Client libraries. Their drivers report missing features; known faults are exceptions here.

use e2e::{ClientStep, Driver, DriverTransport};

const OLDEST: &str = "sdk-1-10";
const NEWEST: &str = "sdk-1-newest";

/// Creates a driver for a 1.x SDK. `close()` of these SDKs does not end a session, so the driver
/// also calls `terminateSession()`.
fn typescript_sdk(package: &'static str, server: DriverTransport) -> Driver {
    Driver::new("typescript-sdk.mjs", server).with("MCP_WEB_SDK_PACKAGE", package)
}

#[tokio::test]
async fn typescript_sdk_1_10_over_http() {
    let driver = typescript_sdk(OLDEST, DriverTransport::Http);
    driver.run("10-typescript-sdk-1-10-http").await;
}

#[tokio::test]
async fn typescript_sdk_1_10_over_stdio() {
    let driver = typescript_sdk(OLDEST, DriverTransport::Stdio).loses_progress();
    driver.run("11-typescript-sdk-1-10-stdio").await;
}

#[tokio::test]
async fn typescript_sdk_1_newest_over_http() {
    let driver = typescript_sdk(NEWEST, DriverTransport::Http);
    driver.run("12-typescript-sdk-1-newest-http").await;
}

#[tokio::test]
async fn typescript_sdk_1_newest_over_stdio() {
    let driver = typescript_sdk(NEWEST, DriverTransport::Stdio).loses_progress();
    driver.run("13-typescript-sdk-1-newest-stdio").await;
}

fn typescript_client(era: &'static str, server: DriverTransport) -> Driver {
    Driver::new("typescript-client.mjs", server).with("MCP_WEB_ERA", era)
}

#[tokio::test]
async fn typescript_client_2_with_sessions_over_http() {
    let driver = typescript_client("legacy", DriverTransport::Http);
    driver.run("14-typescript-client-2-legacy-http").await;
}

#[tokio::test]
async fn typescript_client_2_with_sessions_over_stdio() {
    let driver = typescript_client("legacy", DriverTransport::Stdio).loses_progress();
    driver.run("15-typescript-client-2-legacy-stdio").await;
}

#[tokio::test]
async fn typescript_client_2_without_sessions_over_http() {
    let driver = typescript_client("modern", DriverTransport::Http);
    driver.run("16-typescript-client-2-modern-http").await;
}

#[tokio::test]
async fn typescript_client_2_without_sessions_over_stdio() {
    let driver = typescript_client("modern", DriverTransport::Stdio).loses_progress();
    driver.run("17-typescript-client-2-modern-stdio").await;
}

#[tokio::test]
async fn ai_sdk_over_http() {
    let driver = Driver::new("ai-sdk.mjs", DriverTransport::Http);
    driver.run("20-ai-sdk-http").await;
}

#[tokio::test]
async fn ai_sdk_over_stdio() {
    let driver = Driver::new("ai-sdk.mjs", DriverTransport::Stdio);
    driver.run("21-ai-sdk-stdio").await;
}

#[tokio::test]
async fn openai_agents_on_node_over_http() {
    let driver = Driver::new("openai-agents.mjs", DriverTransport::Http);
    driver.run("22-openai-agents-node-http").await;
}

#[tokio::test]
async fn openai_agents_on_node_over_stdio() {
    let driver = Driver::new("openai-agents.mjs", DriverTransport::Stdio);
    driver.run("23-openai-agents-node-stdio").await;
}

#[tokio::test]
async fn python_sdk_1_over_http() {
    let driver = Driver::new("mcp_sdk_1.py", DriverTransport::Http);
    driver.run("30-python-sdk-1-http").await;
}

#[tokio::test]
async fn python_sdk_1_over_stdio() {
    let driver = Driver::new("mcp_sdk_1.py", DriverTransport::Stdio);
    driver.run("31-python-sdk-1-stdio").await;
}

fn python_sdk_2(era: &'static str, server: DriverTransport) -> Driver {
    Driver::new("mcp_sdk_2.py", server).with("MCP_WEB_ERA", era)
}

#[tokio::test]
async fn python_sdk_2_with_sessions_over_http() {
    let driver = python_sdk_2("legacy", DriverTransport::Http);
    driver.run("32-python-sdk-2-legacy-http").await;
}

#[tokio::test]
async fn python_sdk_2_without_sessions_over_http() {
    let driver = python_sdk_2("modern", DriverTransport::Http);
    driver.run("33-python-sdk-2-modern-http").await;
}

#[tokio::test]
async fn python_sdk_2_without_sessions_over_stdio() {
    let driver = python_sdk_2("modern", DriverTransport::Stdio);
    driver.run("34-python-sdk-2-modern-stdio").await;
}

#[tokio::test]
async fn fastmcp_over_http() {
    let driver = Driver::new("fastmcp_client.py", DriverTransport::Http);
    driver.run("35-fastmcp-http").await;
}

#[tokio::test]
async fn fastmcp_over_stdio() {
    let driver = Driver::new("fastmcp_client.py", DriverTransport::Stdio);
    driver.run("36-fastmcp-stdio").await;
}

#[tokio::test]
async fn langchain_adapters_over_http() {
    let driver = Driver::new("langchain_adapters.py", DriverTransport::Http);
    driver.run("37-langchain-http").await;
}

#[tokio::test]
async fn langchain_adapters_over_stdio() {
    let driver = Driver::new("langchain_adapters.py", DriverTransport::Stdio);
    driver.run("38-langchain-stdio").await;
}

#[tokio::test]
async fn openai_agents_in_python_over_http() {
    let driver = Driver::new("openai_agents.py", DriverTransport::Http).remark(
        ClientStep::Wrong,
        "it checks the arguments itself, and the bridge is not asked",
    );
    driver.run("39-openai-agents-python-http").await;
}

#[tokio::test]
async fn openai_agents_in_python_over_stdio() {
    let driver = Driver::new("openai_agents.py", DriverTransport::Stdio).remark(
        ClientStep::Wrong,
        "it checks the arguments itself, and the bridge is not asked",
    );
    driver.run("40-openai-agents-python-stdio").await;
}

/// The bridge crashes and starts while the client calls a tool.
#[tokio::test]
async fn typescript_sdk_1_10_over_a_restart() {
    let driver = typescript_sdk(OLDEST, DriverTransport::Http);
    driver.run_over_restart().await;
}

#[tokio::test]
async fn typescript_sdk_1_newest_over_a_restart() {
    let driver = typescript_sdk(NEWEST, DriverTransport::Http);
    driver.run_over_restart().await;
}

#[tokio::test]
async fn typescript_client_2_with_sessions_over_a_restart() {
    let driver = typescript_client("legacy", DriverTransport::Http);
    driver.run_over_restart().await;
}

#[tokio::test]
async fn python_sdk_1_over_a_restart() {
    let driver = Driver::new("mcp_sdk_1.py", DriverTransport::Http);
    driver.quiet_while_restarting().run_over_restart().await;
}

#[tokio::test]
async fn python_sdk_2_with_sessions_over_a_restart() {
    let driver = python_sdk_2("legacy", DriverTransport::Http);
    driver.quiet_while_restarting().run_over_restart().await;
}

/// The clients that also run at a bridge of several that does not serve the page.
mod at_another_bridge {
    use super::*;

    #[tokio::test]
    async fn typescript_sdk_1_newest_over_http() {
        let driver = typescript_sdk(NEWEST, DriverTransport::Http).at_another_bridge();
        driver.run("12-typescript-sdk-1-newest-http").await;
    }

    #[tokio::test]
    async fn typescript_client_2_without_sessions_over_http() {
        let driver = typescript_client("modern", DriverTransport::Http).at_another_bridge();
        driver.run("16-typescript-client-2-modern-http").await;
    }

    #[tokio::test]
    async fn python_sdk_1_over_http() {
        let driver = Driver::new("mcp_sdk_1.py", DriverTransport::Http).at_another_bridge();
        driver.run("30-python-sdk-1-http").await;
    }

    #[tokio::test]
    async fn python_sdk_2_without_sessions_over_http() {
        let driver = python_sdk_2("modern", DriverTransport::Http).at_another_bridge();
        driver.run("33-python-sdk-2-modern-http").await;
    }
}

/// The clients that also call a tool while three bridges are replaced one after the other.
mod over_a_rolling_deploy {
    use super::*;

    #[tokio::test]
    async fn typescript_sdk_1_newest_over_http() {
        let driver = typescript_sdk(NEWEST, DriverTransport::Http);
        driver
            .run_over_deploy("12-typescript-sdk-1-newest-http")
            .await;
    }

    #[tokio::test]
    async fn typescript_client_2_without_sessions_over_http() {
        let driver = typescript_client("modern", DriverTransport::Http);
        driver
            .run_over_deploy("16-typescript-client-2-modern-http")
            .await;
    }

    #[tokio::test]
    async fn python_sdk_1_over_http() {
        let driver = Driver::new("mcp_sdk_1.py", DriverTransport::Http);
        driver.run_over_deploy("30-python-sdk-1-http").await;
    }

    #[tokio::test]
    async fn python_sdk_2_without_sessions_over_http() {
        let driver = python_sdk_2("modern", DriverTransport::Http);
        driver.run_over_deploy("33-python-sdk-2-modern-http").await;
    }
}

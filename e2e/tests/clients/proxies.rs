//! Programs that connect stdio with HTTP, between the newest TypeScript SDK 1.x and the bridge.

use e2e::{ClientStep, Driver, DriverTransport, Package};

fn driver_for(proxy: DriverTransport) -> Driver {
    Driver::new("typescript-sdk.mjs", proxy)
        .with("MCP_WEB_SDK_PACKAGE", "sdk-1-newest")
        .loses_progress()
}

fn mcp_remote_proxy() -> DriverTransport {
    DriverTransport::Proxy {
        package: Package::Npm("mcp-remote"),
        command: &[
            "{node}",
            "{modules}/mcp-remote/dist/proxy.js",
            "{url}",
            "--header",
            "Authorization:${AUTH_HEADER}",
            "--transport",
            "http-only",
            "--silent",
        ],
        environment: &[
            ("AUTH_HEADER", "Bearer {token}"),
            ("MCP_REMOTE_CONFIG_DIR", "{home}/mcp-remote"),
        ],
    }
}

#[tokio::test]
async fn mcp_remote() {
    let driver = driver_for(mcp_remote_proxy()).except(
        ClientStep::Leaving,
        "it sends no DELETE: its sessions make room when another client needs it",
    );
    driver.run("50-mcp-remote").await;
}

fn supergateway_proxy() -> DriverTransport {
    DriverTransport::Proxy {
        package: Package::Npm("supergateway"),
        command: &[
            "{node}",
            "{modules}/supergateway/dist/index.js",
            "--streamableHttp",
            "{url}",
            "--oauth2Bearer",
            "{token}",
            "--logLevel",
            "none",
        ],
        environment: &[],
    }
}

#[tokio::test]
async fn supergateway() {
    let driver = driver_for(supergateway_proxy())
        .except(
            ClientStep::ListChanged,
            "it passes no notification of a server on",
        )
        .except(
            ClientStep::Elicitation,
            "it declares elicitation to the server, and passes no question on",
        )
        .except(
            ClientStep::Leaving,
            "it sends no DELETE: its session makes room when another client needs it",
        );
    driver.run("51-supergateway").await;
}

fn mcp_proxy_proxy() -> DriverTransport {
    DriverTransport::Proxy {
        package: Package::Python("mcp-proxy"),
        command: &[
            "{python}/bin/mcp-proxy",
            "--transport",
            "streamablehttp",
            "--log-level",
            "WARNING",
            "{url}",
        ],
        environment: &[("API_ACCESS_TOKEN", "{token}")],
    }
}

#[tokio::test]
async fn mcp_proxy() {
    let driver = driver_for(mcp_proxy_proxy())
        .except(
            ClientStep::ListChanged,
            "it passes no notification of a server on",
        )
        .except(ClientStep::Cancel, "it passes no cancel on")
        .except(
            ClientStep::Elicitation,
            "it declares no elicitation to the server",
        );
    driver.run("52-mcp-proxy").await;
}

/// The bridge crashes and starts while the client calls a tool.
#[tokio::test]
async fn mcp_remote_over_a_restart() {
    driver_for(mcp_remote_proxy()).run_over_restart().await;
}

#[tokio::test]
async fn supergateway_over_a_restart() {
    driver_for(supergateway_proxy()).run_over_restart().await;
}

#[tokio::test]
async fn mcp_proxy_over_a_restart() {
    let driver = driver_for(mcp_proxy_proxy()).quiet_while_restarting();
    driver.run_over_restart().await;
}

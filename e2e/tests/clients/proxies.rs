//! Programs that connect stdio with HTTP, between the newest TypeScript SDK 1.x and the bridge.

use e2e::{ClientStep, Driver, DriverTransport, Package};

fn driver_for(proxy: DriverTransport) -> Driver {
    Driver::new("typescript-sdk.mjs", proxy)
        .with("MCP_WEB_SDK_PACKAGE", "sdk-1-newest")
        .loses_progress()
}

#[tokio::test]
async fn mcp_remote() {
    let proxy = DriverTransport::Proxy {
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
    };
    let driver = driver_for(proxy).except(
        ClientStep::Leaving,
        "it sends no DELETE: its sessions make room when another client needs it",
    );
    driver.run("50-mcp-remote").await;
}

#[tokio::test]
async fn supergateway() {
    let proxy = DriverTransport::Proxy {
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
    };
    let driver = driver_for(proxy)
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

#[tokio::test]
async fn mcp_proxy() {
    let proxy = DriverTransport::Proxy {
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
    };
    let driver = driver_for(proxy)
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

//! How the pages of these tests connect to their bridge.

use bridge::ServerHandle;
use bridge_protocol::{App, Authenticate, PageToBridge};
use raw_page::{Page, authenticate_message};
use serde_json::Value;

use super::TOKEN;

/// The origin of an app.
const ORIGIN: &str = "http://localhost:5173";

/// Connects a [`Page`] to the bridge of a test.
pub(crate) trait ConnectPage {
    /// Opens the socket without sending anything.
    async fn open(bridge: &ServerHandle, session: &str, origin: Option<&str>) -> Page {
        let origin = origin.map(|origin| ("origin", origin));
        Page::open_with_headers(bridge.local_addr(), session, origin.as_slice()).await
    }

    /// Opens the socket and authenticates.
    async fn connect(bridge: &ServerHandle, session: &str, token: &str) -> Page {
        Page::connect_to(bridge.local_addr(), session, token).await
    }

    /// Connects a page and registers these MCP tool objects.
    async fn with_tools(bridge: &ServerHandle, session: &str, tools: &[Value]) -> Page {
        let mut page = Page::connect(bridge, session, TOKEN).await;
        page.register(tools).await;
        page
    }

    /// Connects a page of this app and registers these tools.
    async fn with_app(bridge: &ServerHandle, session: &str, app: &str, tools: &[Value]) -> Page {
        Page::with_app_and_token(TOKEN, bridge, session, app, tools).await
    }

    async fn with_app_and_token(
        token: &str,
        bridge: &ServerHandle,
        session: &str,
        app: &str,
        tools: &[Value],
    ) -> Page {
        let app = App {
            name: app.to_owned(),
            description: None,
            version: None,
            icon: None,
        };
        let message = Authenticate {
            app: Some(app),
            session_name: Some("tab".to_owned()),
            ..authenticate_message(session, token)
        };
        register_as(bridge, session, message, tools).await
    }

    /// Connects a page that declares to check late calls, as the SDK does.
    async fn connect_checking_late_calls(
        bridge: &ServerHandle,
        session: &str,
        tools: &[Value],
    ) -> Page {
        let message = Authenticate {
            checks_late_calls: true,
            ..authenticate_message(session, TOKEN)
        };
        register_as(bridge, session, message, tools).await
    }
}

impl ConnectPage for Page {}

/// Connects a page that authenticates with this message, and registers these tools.
async fn register_as(
    bridge: &ServerHandle,
    session: &str,
    message: Authenticate,
    tools: &[Value],
) -> Page {
    let mut page = Page::open(bridge, session, Some(ORIGIN)).await;
    page.send(PageToBridge::Authenticate(Box::new(message)))
        .await;
    page.register(tools).await;
    page
}

//! The settings of a native page, and its credentials.

use bridge_protocol::{
    App, Authenticate, Authenticated, AuthenticationFailed, BridgeToPage, PageToBridge,
};

use super::wire::Wire;
use crate::TestBed;

/// How a page behaves. The default complies with the protocol.
#[derive(Clone)]
pub struct NativeSetup {
    /// The token, if it is not the test bed's.
    pub token: Option<String>,
    /// The name of the session.
    pub name: Option<String>,
    /// The app.
    pub app: App,
    /// Whether the page acknowledges a call before the handler runs.
    pub acknowledges: bool,
    /// Whether the page fails a call whose result is larger than the bridge accepts.
    pub measures: bool,
}

impl Default for NativeSetup {
    fn default() -> Self {
        Self {
            token: None,
            name: None,
            app: App {
                name: "Native page".to_owned(),
                description: None,
                version: None,
                icon: None,
            },
            acknowledges: true,
            measures: true,
        }
    }
}

/// What the page sends in `authenticate`, on each connection.
#[derive(Clone)]
pub(super) struct Credentials {
    pub(super) session: String,
    pub(super) token: String,
    pub(super) name: Option<String>,
    pub(super) app: App,
}

impl Credentials {
    pub(super) fn new(bed: &TestBed, session: &str, setup: &NativeSetup) -> Self {
        let token = setup.token.as_deref().unwrap_or_else(|| bed.token());
        Self {
            session: session.to_owned(),
            token: token.to_owned(),
            name: setup.name.clone(),
            app: setup.app.clone(),
        }
    }

    /// Connects and authenticates.
    pub(super) async fn authenticate(
        &self,
        bed: &TestBed,
    ) -> Result<(Wire, Box<Authenticated>), AuthenticationFailed> {
        let mut wire = Wire::open(&bed.page_url(&self.session)).await;
        let message = PageToBridge::Authenticate(Box::new(self.authenticate_message()));
        wire.send(&message.encode()).await;
        match wire.recv_first().await {
            BridgeToPage::Authenticated(authenticated) => Ok((wire, Box::new(authenticated))),
            BridgeToPage::AuthenticationFailed(failure) => Err(failure),
            other => panic!("the bridge answered {other:?}"),
        }
    }

    fn authenticate_message(&self) -> Authenticate {
        Authenticate {
            protocol: Some(bridge_protocol::PROTOCOL_VERSION),
            auth_token: Some(self.token.clone()),
            session_id: Some(self.session.as_str().into()),
            session_name: self.name.clone(),
            origin: None,
            page_title: Some(self.app.name.clone()),
            document_id: Some(format!("document of {}", self.session)),
            user_agent: None,
            app: Some(self.app.clone()),
            timestamp: None,
            checks_late_calls: false,
        }
    }
}

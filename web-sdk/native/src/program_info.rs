//! How a program presents itself to its bridge, which does not change while it runs.

use bridge_protocol::SessionId;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use uuid::Uuid;
use web_sdk_core::{Page, PageInfo, PageVisibility};

/// The names of a program and its session, and the address of its bridge.
#[derive(Debug)]
pub(crate) struct ProgramInfo {
    /// The address with `http` or `https`, without a trailing slash.
    pub(crate) bridge_url: String,
    pub(crate) app: String,
    pub(crate) session_id: String,
    pub(crate) session_name: Option<String>,
}

impl ProgramInfo {
    pub(crate) fn mcp_url(&self) -> String {
        format!("{}/mcp", self.bridge_url)
    }

    pub(crate) fn socket_url(&self) -> String {
        let address = self.bridge_url.replacen("http", "ws", 1);
        let session = utf8_percent_encode(&self.session_id, NON_ALPHANUMERIC);
        format!("{address}/ws?session={session}")
    }

    pub(crate) fn page(&self, renewable: bool) -> Page<String> {
        let info = PageInfo {
            bridge_url: self.bridge_url.clone(),
            session_id: SessionId::from(self.session_id.as_str()),
            session_name: self.session_name.clone(),
            origin: None,
            document_id: Some(Uuid::new_v4().simple().to_string()),
            user_agent: Some(concat!("mcp-web/", env!("CARGO_PKG_VERSION")).to_owned()),
            app: self.app.clone(),
            renewable,
        };
        Page::new(info, PageVisibility::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_the_socket_has_the_session() {
        let program = ProgramInfo {
            bridge_url: "https://example.com/a".to_owned(),
            app: String::new(),
            session_id: "a b/ü".to_owned(),
            session_name: None,
        };
        assert_eq!(
            program.socket_url(),
            "wss://example.com/a/ws?session=a%20b%2F%C3%BC"
        );
    }
}

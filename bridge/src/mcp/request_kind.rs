//! The kind of a request to the endpoint, and the scope that its token must grant. Both are
//! determined before rmcp receives the request.

use bridge_auth::Scope;

/// The kind of a request to the endpoint.
pub(super) enum RequestKind<'a> {
    /// A message with this method, which is empty for a response.
    Message(&'a str),
    /// A request to open the stream of a session.
    Stream,
}

impl RequestKind<'_> {
    /// Returns the scope that the request requires, or `None` if every valid token suffices.
    pub(super) fn required_scope(&self) -> Option<Scope> {
        let method = match self {
            RequestKind::Message(method) => *method,
            RequestKind::Stream => return Some(Scope::ToolsRead),
        };
        match method {
            "tools/call" => Some(Scope::ToolsCall),
            // A response, and the methods that a client calls before it knows its scopes.
            "" | "initialize" | "ping" | "server/discover" => None,
            _ if method.starts_with("notifications/") => None,
            _ => Some(Scope::ToolsRead),
        }
    }

    /// Whether the agent of a query may send the request. Its token is valid only for tools.
    pub(super) fn is_allowed_for_query_token(&self) -> bool {
        match self {
            RequestKind::Message(method) => {
                matches!(
                    *method,
                    "" | "initialize"
                        | "ping"
                        | "server/discover"
                        | "logging/setLevel"
                        | "tools/list"
                        | "tools/call"
                ) || method.starts_with("notifications/")
            }
            RequestKind::Stream => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_method_has_its_scope_and_unknown_ones_need_tools_read() {
        let scope = |method: &str| RequestKind::Message(method).required_scope();
        assert_eq!(scope("tools/call"), Some(Scope::ToolsCall));
        for method in [
            "tools/list",
            "resources/read",
            "prompts/get",
            "completion/complete",
            "logging/setLevel",
            "subscriptions/listen",
            "something/new",
            "Tools/Call",
        ] {
            assert_eq!(scope(method), Some(Scope::ToolsRead), "{method}");
        }
        for method in [
            "",
            "initialize",
            "ping",
            "server/discover",
            "notifications/cancelled",
        ] {
            assert_eq!(scope(method), None, "{method}");
        }
        assert_eq!(RequestKind::Stream.required_scope(), Some(Scope::ToolsRead));
    }
}

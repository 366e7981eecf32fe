//! What a request to the endpoint asks for, and what its token must grant: decided before anybody
//! else sees it.

use bridge_auth::Scope;

pub(super) enum RequestKind {
    /// A message with this method; a response has none.
    Message(String),
    /// The stream of a session.
    Stream,
    /// The end of a session, or what is refused anyway.
    Other,
}

impl RequestKind {
    /// The scope that it needs, if any good token does not do.
    pub(super) fn required_scope(&self) -> Option<Scope> {
        let method = match self {
            RequestKind::Message(method) => method.as_str(),
            RequestKind::Stream => return Some(Scope::ToolsRead),
            RequestKind::Other => return None,
        };
        match method {
            "tools/call" => Some(Scope::ToolsCall),
            // A response, and what every client says before it knows what it may do.
            "" | "initialize" | "ping" | "server/discover" => None,
            _ if method.starts_with("notifications/") => None,
            _ => Some(Scope::ToolsRead),
        }
    }

    /// Whether the agent of a query may ask for it: tools are all that its token is good for.
    pub(super) fn is_allowed_for_query_token(&self) -> bool {
        match self {
            RequestKind::Message(method) => {
                matches!(
                    method.as_str(),
                    "" | "initialize"
                        | "ping"
                        | "server/discover"
                        | "logging/setLevel"
                        | "tools/list"
                        | "tools/call"
                ) || method.starts_with("notifications/")
            }
            RequestKind::Stream => false,
            RequestKind::Other => true,
        }
    }

    /// Whether its answer is a stream that stands until somebody ends it.
    pub(super) fn is_long_lived(&self) -> bool {
        match self {
            RequestKind::Message(method) => method == "subscriptions/listen",
            RequestKind::Stream => true,
            RequestKind::Other => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_method_has_its_scope_and_unknown_ones_need_tools_read() {
        let scope = |method: &str| RequestKind::Message(method.to_owned()).required_scope();
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
        assert_eq!(RequestKind::Other.required_scope(), None);
    }
}

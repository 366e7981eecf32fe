//! What a request to the endpoint asks for, and what its token must grant: decided before anybody
//! else sees it.

use crate::auth::Scope;

pub(super) enum Asked {
    /// A message with this method; a response has none.
    Message(String),
    /// The stream of a session.
    Stream,
    /// The end of a session, or what is refused anyway.
    Other,
}

impl Asked {
    /// The scope that it needs, if any good token does not do.
    pub(super) fn scope(&self) -> Option<Scope> {
        let method = match self {
            Asked::Message(method) => method.as_str(),
            Asked::Stream => return Some(Scope::ToolsRead),
            Asked::Other => return None,
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
    pub(super) fn is_for_queries(&self) -> bool {
        match self {
            Asked::Message(method) => {
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
            Asked::Stream => false,
            Asked::Other => true,
        }
    }

    /// Whether its answer is a stream that stands until somebody ends it.
    pub(super) fn stands(&self) -> bool {
        match self {
            Asked::Message(method) => method == "subscriptions/listen",
            Asked::Stream => true,
            Asked::Other => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_method_needs_its_scope_and_unknown_ones_need_one_too() {
        let scope = |method: &str| Asked::Message(method.to_owned()).scope();
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
        assert_eq!(Asked::Stream.scope(), Some(Scope::ToolsRead));
        assert_eq!(Asked::Other.scope(), None);
    }
}

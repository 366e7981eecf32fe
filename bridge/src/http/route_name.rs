//! The names of the routes in the log. A path may contain what is a credential elsewhere, such as
//! the id of a query, so paths are not logged as they are.

const ROUTES: [&str; 11] = [
    "/mcp",
    "/tool-call",
    "/",
    "/ws",
    "/sessions",
    "/tools",
    "/conversations",
    "/healthz",
    "/readyz",
    "/metrics",
    "/cluster",
];

/// Returns the name of the route of a path, in which all paths that the bridge does not know have
/// one name.
pub(super) fn route_name(path: &str) -> &'static str {
    let route = ROUTES.into_iter().find(|route| *route == path);
    route.unwrap_or_else(|| match path.split('/').nth(1) {
        Some("query") => "/query/…",
        Some("conversations") => "/conversations/…",
        Some("sdk") => "/sdk/…",
        Some(".well-known") => "/.well-known/…",
        _ => "another",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::public_url::RESERVED_SEGMENTS;

    #[test]
    fn the_path_of_the_public_url_cannot_be_a_route() {
        let nested = ["query", "sdk", ".well-known"];
        let routes = ROUTES.map(|route| route.trim_start_matches('/'));
        for segment in routes.into_iter().chain(nested) {
            assert!(segment.is_empty() || RESERVED_SEGMENTS.contains(&segment));
        }
    }

    #[test]
    fn names_of_routes_contain_nothing_that_a_client_chooses() {
        for (path, name) in [
            ("/mcp", "/mcp"),
            ("/", "/"),
            ("/query/0123-4567/progress", "/query/…"),
            ("/conversations/abc", "/conversations/…"),
            ("/sdk/mcp-web.js", "/sdk/…"),
            ("/a-token-in-the-wrong-place", "another"),
            ("*", "another"),
            ("", "another"),
        ] {
            assert_eq!(route_name(path), name, "{path}");
        }
    }
}

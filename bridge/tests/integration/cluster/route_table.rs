//! The routes of the router, each with a path, and other paths. A route without a row here fails a test.

/// The source of the router.
const ROUTER: &str = include_str!("../../../src/http.rs");

/// A route as the router's source has it, with a path for it, and whether it belongs to the realm of a
/// token.
pub(super) struct RouteRow {
    source: &'static str,
    pub(super) path: &'static str,
    pub(super) belongs_to_realm: bool,
}

const fn of_realm(source: &'static str, path: &'static str) -> RouteRow {
    RouteRow {
        source,
        path,
        belongs_to_realm: true,
    }
}

const fn of_any_node(source: &'static str, path: &'static str) -> RouteRow {
    RouteRow {
        source,
        path,
        belongs_to_realm: false,
    }
}

/// The id is too long, so that the first request does not open a query, which a second could not.
const LONG_QUERY: &str = concat!(
    "/query/",
    "5f0c9a52-7d0e-4b3f-9c52-0d0b6a1f8e11",
    "5f0c9a52-7d0e-4b3f-9c52-0d0b6a1f8e11",
    "5f0c9a52-7d0e-4b3f-9c52-0d0b6a1f8e11",
    "5f0c9a52-7d0e-4b3f-9c52-0d0b6a1f8e11",
);

pub(super) const ROUTES: &[RouteRow] = &[
    of_realm("\"/mcp\"", "/mcp"),
    of_realm("\"/\"", "/"),
    of_any_node("\"/ws\"", "/ws?session=s"),
    of_realm("\"/tool-call\"", "/tool-call"),
    of_realm("\"/query/{uuid}\"", LONG_QUERY),
    of_realm("\"/query/{uuid}/progress\"", "/query/1/progress"),
    of_realm("\"/query/{uuid}/complete\"", "/query/1/complete"),
    of_realm("\"/query/{uuid}/fail\"", "/query/1/fail"),
    of_realm("\"/query/{uuid}/cancel\"", "/query/1/cancel"),
    of_realm("\"/conversations\"", "/conversations"),
    of_realm("\"/conversations/{id}\"", "/conversations/a"),
    of_realm("\"/sessions\"", "/sessions"),
    of_realm("\"/tools\"", "/tools"),
    of_any_node("\"/healthz\"", "/healthz"),
    of_any_node("\"/readyz\"", "/readyz"),
    of_any_node("METADATA_PATH", "/.well-known/oauth-protected-resource"),
    of_any_node(
        "&format!(\"{METADATA_PATH}/\")",
        "/.well-known/oauth-protected-resource/",
    ),
    of_any_node(
        "&format!(\"{METADATA_PATH}/{{*resource}}\")",
        "/.well-known/oauth-protected-resource/mcp",
    ),
    of_any_node("\"/sdk\"", "/sdk/mcp-web.js"),
];

/// Paths that are not in the router.
pub(super) const OTHER_PATHS: [(&str, bool); 10] = [
    ("/mcp/", true),
    ("/mcp/x", true),
    ("/tools/", true),
    ("/tools?a=b&c", true),
    ("/query/%7Bid%7D/x", true),
    ("/conversations/a%20%22b?c=%22", true),
    ("/metrics", false),
    ("/cluster", false),
    ("/unknown", false),
    ("/sdk/../tools", false),
];

/// The first arguments of `.route(` and `.nest(` in the source of the router.
fn routes_in_source() -> Vec<String> {
    let parts = ROUTER.split(".route(").skip(1);
    let nested = ROUTER.split(".nest(").skip(1);
    let arguments = parts.chain(nested).map(|part| {
        let (argument, _) = part.split_once(',').unwrap();
        argument.trim().to_owned()
    });
    arguments.collect()
}

#[test]
fn each_route_of_the_router_has_a_row() {
    let mut found = routes_in_source();
    let mut rows: Vec<_> = ROUTES.iter().map(|row| row.source.to_owned()).collect();
    found.sort_unstable();
    rows.sort_unstable();
    assert_eq!(found, rows);
}

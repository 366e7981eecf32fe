//! Ids, members of JSON-RPC, and the headers of HTTP: `Accept`, versions, sessions, `Mcp-*`.

use serde_json::json;

use super::request::{Request, SESSIONS, STATELESS};
use super::rows::{Row, as_is, call, list, row, rows_of, to_header};
use crate::kit::*;

/// The request with the version that the proxies of some clients send.
fn with_header_of_2025(request: Request) -> Request {
    request.header("mcp-protocol-version", "2025-11-25")
}

/// Adds the rows of calls and lists.
pub(super) fn add(rows: &mut Vec<Row>) {
    let both = [("call", call as fn() -> _), ("list", list)];
    for (what, request) in both {
        rows_of(
            rows,
            &format!("a {what} with the id"),
            request,
            [
                "null",
                "1.5",
                "1.0",
                "{}",
                "true",
                "\"\"",
                r#""\u0061\n""#,
                "-3",
                "9007199254740993",
                "99999999999999999999",
            ],
            |it, id| {
                let body = it.body.replacen("\"id\":1,", &format!("\"id\":{id},"), 1);
                assert!(body != it.body || id == "1");
                it.body(&body)
            },
        );
        rows_of(
            rows,
            &format!("a {what} with the Accept"),
            request,
            [
                "",
                "*/*",
                "text/html",
                "application/json",
                "text/event-stream",
                "application/*",
                "application/json;q=0, text/event-stream",
                "application/json, text/event-stream;q=0.000",
                "application/json;q=0.5, text/event-stream;q=x",
                "Application/JSON, Text/Event-Stream",
                "text/html, */*;q=0",
                "application/json-x",
            ],
            |it, accept| it.header("accept", accept),
        );
        for clients in [SESSIONS, STATELESS] {
            rows.push(row(
                format!("a {what} without Accept"),
                clients,
                request(),
                |it| it.without("accept"),
            ));
            rows.push(row(
                format!("a {what} with Accept in two lines"),
                clients,
                request(),
                |it| {
                    it.header("accept", "application/json")
                        .another("accept", b"text/event-stream")
                },
            ));
            rows.push(row(
                format!("a {what} with an Accept of unreadable bytes"),
                clients,
                request(),
                |it| it.without("accept").another("accept", b"\xff"),
            ));
            for (name, pointer, value) in [
                ("jsonrpc 1.0", "/jsonrpc", json!("1.0")),
                ("no version of JSON-RPC", "/jsonrpc", json!(null)),
                ("a method that is a number", "/method", json!(7)),
                ("a result", "/result", json!(1)),
                ("an unknown member", "/unknown", json!(1)),
                ("params that are null", "/params", json!(null)),
                ("params that are a list", "/params", json!([])),
                ("_meta that is a number", "/params/_meta", json!(7)),
            ] {
                let value = value.clone();
                rows.push(row(
                    format!("a {what} with {name}"),
                    clients,
                    request(),
                    move |it| it.set(pointer, value.clone()),
                ));
            }
        }
        // The protocol version.
        for (name, version) in [
            ("unknown", "1999-01-01"),
            ("of 2026", STATELESS_REVISION),
            ("of June 2025", "2025-06-18"),
        ] {
            rows.push(row(
                format!("a {what} in a session with a version {name}"),
                SESSIONS,
                request(),
                move |it| it.header("mcp-protocol-version", version),
            ));
        }
        rows.push(row(
            format!("a {what} with a version of unreadable bytes"),
            SESSIONS,
            request(),
            |it| it.another("mcp-protocol-version", b"\xff"),
        ));
        for (name, versions) in [
            ("a version twice", "2025-11-25, 2025-11-25"),
            ("two versions", "2025-11-25, 2025-06-18"),
        ] {
            rows.push(row(
                format!("a {what} in a session with {name}"),
                SESSIONS,
                request(),
                move |it| it.header("mcp-protocol-version", versions),
            ));
        }
        rows.push(row(
            format!("a {what} in an unknown session with the version of 2026"),
            SESSIONS,
            request(),
            |it| {
                it.header("mcp-session-id", "nobody's")
                    .header("mcp-protocol-version", STATELESS_REVISION)
            },
        ));
        // The session.
        rows.push(row(
            format!("a {what} without a session"),
            SESSIONS,
            request(),
            |it| it.without("mcp-session-id"),
        ));
        rows.push(row(
            format!("a {what} in an unknown session"),
            SESSIONS,
            request(),
            |it| it.header("mcp-session-id", "nobody's"),
        ));
        rows.push(row(
            format!("a {what} in a session of somebody else"),
            SESSIONS,
            request(),
            |it| it.token(Some(OTHER_TOKEN)),
        ));
        // The headers of 2026-07-28.
        for (name, change) in [
            (
                "no Mcp-Method",
                (|it: Request| it.without("mcp-method")) as fn(Request) -> Request,
            ),
            ("another Mcp-Method", |it| it.header("mcp-method", "ping")),
            ("Mcp-Method twice", |it| it.twice("mcp-method")),
            ("an Mcp-Method of unreadable bytes", |it| {
                it.without("mcp-method").another("mcp-method", b"\xff")
            }),
            ("no version header", |it| it.without("mcp-protocol-version")),
            ("no version header in an unknown session", |it| {
                it.without("mcp-protocol-version")
                    .header("mcp-session-id", "nobody's")
            }),
            ("no header of MCP", |it| {
                it.without("mcp-protocol-version")
                    .without("mcp-method")
                    .without("mcp-name")
            }),
            ("a version header of 2025", with_header_of_2025),
            ("a version header of 2025 in an unknown session", |it| {
                with_header_of_2025(it).header("mcp-session-id", "nobody's")
            }),
            ("a version header of 2025 and no other header", |it| {
                with_header_of_2025(it)
                    .without("mcp-method")
                    .without("mcp-name")
            }),
            ("a version header of 2025 and another Mcp-Method", |it| {
                with_header_of_2025(it).header("mcp-method", "ping")
            }),
            ("a version header of 2025 and no capabilities", |it| {
                with_header_of_2025(it)
                    .remove("/params/_meta/io.modelcontextprotocol~1clientCapabilities")
            }),
            (
                "a version header of 2025 and an unknown version in _meta",
                |it| {
                    with_header_of_2025(it).set(
                        "/params/_meta/io.modelcontextprotocol~1protocolVersion",
                        json!("2027-01-01"),
                    )
                },
            ),
            ("an unknown version header", |it| {
                it.header("mcp-protocol-version", "2027-01-01")
            }),
            ("a version of 2025 in _meta", |it| {
                it.set(
                    "/params/_meta/io.modelcontextprotocol~1protocolVersion",
                    json!("2025-11-25"),
                )
            }),
            ("a version header twice", |it| {
                it.twice("mcp-protocol-version")
            }),
            ("no version in _meta", |it| {
                it.remove("/params/_meta/io.modelcontextprotocol~1protocolVersion")
            }),
            ("a version in _meta that is a number", |it| {
                it.set(
                    "/params/_meta/io.modelcontextprotocol~1protocolVersion",
                    json!(7),
                )
            }),
            ("an unknown version", |it| {
                it.header("mcp-protocol-version", "2027-01-01").set(
                    "/params/_meta/io.modelcontextprotocol~1protocolVersion",
                    json!("2027-01-01"),
                )
            }),
            ("the version of 2025", |it| {
                it.header("mcp-protocol-version", "2025-11-25").set(
                    "/params/_meta/io.modelcontextprotocol~1protocolVersion",
                    json!("2025-11-25"),
                )
            }),
            ("no capabilities", |it| {
                it.remove("/params/_meta/io.modelcontextprotocol~1clientCapabilities")
            }),
            ("capabilities that are a text", |it| {
                it.set(
                    "/params/_meta/io.modelcontextprotocol~1clientCapabilities",
                    json!("none"),
                )
            }),
            ("a capability that is a number", |it| {
                it.set(
                    "/params/_meta/io.modelcontextprotocol~1clientCapabilities",
                    json!({ "roots": 7 }),
                )
            }),
            ("capabilities that are null", |it| {
                it.set(
                    "/params/_meta/io.modelcontextprotocol~1clientCapabilities",
                    json!(null),
                )
            }),
            ("no name of the client", |it| {
                it.remove("/params/_meta/io.modelcontextprotocol~1clientInfo")
            }),
            ("no name in the client's info", |it| {
                it.set(
                    "/params/_meta/io.modelcontextprotocol~1clientInfo",
                    json!({ "version": "1" }),
                )
            }),
            ("a name of the client that is a number", |it| {
                it.set(
                    "/params/_meta/io.modelcontextprotocol~1clientInfo",
                    json!(7),
                )
            }),
        ] {
            rows.push(row(
                format!("a {what} with {name}"),
                STATELESS,
                request(),
                change,
            ));
        }
    }
    for (name, change) in [
        (
            "no Mcp-Name",
            (|it: Request| it.without("mcp-name")) as fn(Request) -> Request,
        ),
        ("another Mcp-Name", |it| it.header("mcp-name", "other")),
        ("a version header of 2025 and another Mcp-Name", |it| {
            with_header_of_2025(it).header("mcp-name", "other")
        }),
        ("Mcp-Name twice", |it| it.twice("mcp-name")),
        ("an Mcp-Name in base64", |it| {
            it.header("mcp-name", "=?base64?ZWNobw==?=")
        }),
        ("an Mcp-Name in malformed base64", |it| {
            it.header("mcp-name", "=?base64?*?=")
        }),
        ("an Mcp-Name of unreadable bytes", |it| {
            it.without("mcp-name").another("mcp-name", b"\xff")
        }),
        ("a parameter header that no parameter has", |it| {
            it.header("mcp-param-n", "1")
        }),
    ] {
        rows.push(row(
            format!("a call with {name}"),
            STATELESS,
            call(),
            change,
        ));
    }
    for (name, change) in [
        (
            "the parameter header",
            (|it: Request| it.header("mcp-param-n", "1")) as fn(Request) -> Request,
        ),
        ("the parameter header in base64", |it| {
            it.header("mcp-param-n", "=?base64?MQ==?=")
        }),
        ("another parameter header", |it| {
            it.header("mcp-param-n", "2")
        }),
        ("no parameter header", as_is),
        (
            "a version header of 2025 and no parameter header",
            with_header_of_2025,
        ),
        ("no header of MCP and no parameter header", |it| {
            it.without("mcp-protocol-version")
                .without("mcp-method")
                .without("mcp-name")
        }),
        (
            "a version header of 2025 and another parameter header",
            |it| with_header_of_2025(it).header("mcp-param-n", "2"),
        ),
        ("the parameter header twice", |it| {
            it.header("mcp-param-n", "1").twice("mcp-param-n")
        }),
        ("the parameter header without the parameter", |it| {
            it.header("mcp-param-n", "1").remove("/params/arguments/n")
        }),
    ] {
        rows.push(row(
            format!("a call with {name}"),
            STATELESS,
            to_header(),
            change,
        ));
    }
}

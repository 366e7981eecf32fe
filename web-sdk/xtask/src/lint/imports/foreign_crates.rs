//! Which files may import which foreign crates.

use super::import_graph::ImportGraph;

/// A rule about crates that belong together.
pub(super) struct Rule {
    pub(super) crates: &'static [&'static str],
    pub(super) reason: &'static str,
    /// A path with `.rs` is that file, one without is a module: its own file and all below it.
    pub(super) importers: &'static [&'static str],
}

/// Tests are free. Each importer must be in use, so that the table does not allow more than there is.
pub(super) const RULES: &[Rule] = &[
    Rule {
        crates: &["axum"],
        reason: "Only the HTTP edge of a server knows its framework: what lies below works without sockets.",
        importers: &[
            "agent/src/http",
            "agent/src/service/connections.rs",
            "bridge/src/http",
            "bridge/src/mcp/endpoint.rs",
            "bridge/src/mcp/lane.rs",
            "bridge/src/mcp/lane/call.rs",
            "bridge/src/mcp/lane/list.rs",
            "bridge/src/mcp/lane/stream.rs",
            "bridge/src/result/written.rs",
            "bridge/src/websocket/handshake.rs",
            "demo-app/src/answerer.rs",
            "demo-app/src/lib.rs",
            "demo-app/src/page.rs",
            "e2e/src/adapter.rs",
            "e2e/src/adapter/door.rs",
            "e2e/src/issuer.rs",
            "e2e/src/provider/formats.rs",
            "e2e/src/provider/playing.rs",
            "e2e/src/provider/records.rs",
            "e2e/src/provider/tape.rs",
            "e2e/src/site.rs",
            "e2e/src/token_proxy.rs",
        ],
    },
    Rule {
        crates: &["clap"],
        reason: "Flags are parsed where a program starts: the rest gets settings, wherever they came from.",
        importers: &[
            "agent/src/config.rs",
            "agent/src/config/file.rs",
            "agent/src/config/limits.rs",
            "agent/src/config/print.rs",
            "agent/src/model/settings.rs",
            "agent/src/program.rs",
            "bridge/src/config.rs",
            "bridge/src/config/agent.rs",
            "bridge/src/config/compat.rs",
            "bridge/src/config/file.rs",
            "bridge/src/config/identity.rs",
            "bridge/src/config/keys.rs",
            "bridge/src/config/reading.rs",
            "bridge/src/config/results.rs",
            "bridge/src/config/tabs.rs",
            "bridge/src/main.rs",
            "bridge/src/program.rs",
            "client-stdio/src/config.rs",
            "demo-app/src/agent_settings.rs",
            "demo-app/src/main.rs",
            "e2e/src/bin",
            "e2e/src/idle/definitions.rs",
            "e2e/src/load/pages.rs",
            "e2e/src/load/route.rs",
            "e2e/src/load/run.rs",
            "web-sdk/xtask/src/bench/mod.rs",
            "web-sdk/xtask/src/clients.rs",
            "web-sdk/xtask/src/lint.rs",
            "web-sdk/xtask/src/main.rs",
            "web-sdk/xtask/src/test/mod.rs",
        ],
    },
    Rule {
        crates: &["genai"],
        reason: "Its minor versions change what streams mean: one module translates them.",
        importers: &["agent/src/model/genai"],
    },
    Rule {
        crates: &["hyper"],
        reason: "Only what accepts connections, or measures them, works below axum.",
        importers: &[
            "agent/src/service/connections.rs",
            "bridge/src/server/connections.rs",
            "bridge/src/websocket/handshake.rs",
            "e2e/src/load/floor.rs",
            "e2e/src/load/floor/page.rs",
        ],
    },
    Rule {
        crates: &["js_sys", "wasm_bindgen", "web_sys"],
        reason: "Only `js` knows the browser: `core` is tested without one.",
        importers: &["web-sdk/src/js"],
    },
    Rule {
        crates: &["jsonwebtoken"],
        reason: "Signed tokens are verified in one place, so that no other decides what counts as a signature.",
        importers: &[
            "bridge/src/auth/jwt.rs",
            "bridge/src/auth/keys.rs",
            "e2e/src/issuer.rs",
        ],
    },
    Rule {
        crates: &["reqwest"],
        reason: "Requests leave through few clients, which know what to trust and how long to wait.",
        importers: &[
            "agent/src/bridge.rs",
            "agent/src/bridge/reports.rs",
            "agent/src/bridge/tools/failing.rs",
            "agent/src/config/values.rs",
            "agent/src/model/genai.rs",
            "agent/src/model/genai/signs.rs",
            "agent/src/model/genai/trouble.rs",
            "agent/src/model/settings.rs",
            "agent/src/outgoing.rs",
            "bridge/src/auth/published/fetch.rs",
            "bridge/src/outgoing.rs",
            "bridge/src/queries/agent.rs",
            "bridge/src/queries/child.rs",
            "client-stdio/src/bridge_http.rs",
            "client-stdio/src/challenge.rs",
            "client-stdio/src/config.rs",
            "client-stdio/src/events.rs",
            "e2e/src/agent_service.rs",
            "e2e/src/clients.rs",
            "e2e/src/clients/bulk.rs",
            "e2e/src/clients/connect.rs",
            "e2e/src/clients/plain_http.rs",
            "e2e/src/clients/stalled.rs",
            "e2e/src/provider/tape.rs",
        ],
    },
    Rule {
        crates: &["rmcp"],
        reason: "Its minor versions change behaviour: in each crate one module knows its model of MCP.",
        importers: &[
            "agent/src/bridge/tools",
            "bridge/src/mcp",
            "e2e/src/clients/able.rs",
            "e2e/src/clients/connect.rs",
            "e2e/src/clients/mcp.rs",
        ],
    },
    Rule {
        crates: &["tokio_tungstenite", "tungstenite"],
        reason: "WebSocket ends at the connection: sessions and calls know messages, not frames.",
        importers: &[
            "bridge/src/http/page_socket/serving.rs",
            "bridge/src/json.rs",
            "bridge/src/page_wire/long.rs",
            "bridge/src/websocket",
            "e2e/src/load/floor.rs",
            "e2e/src/load/floor/page.rs",
            "e2e/src/load/mixed/pages.rs",
            "e2e/src/load/pages",
            "e2e/src/native_page/wire.rs",
            "e2e/src/socket_faults/page.rs",
            "e2e/src/v1_page.rs",
        ],
    },
];

/// What breaks the rules, one sentence each.
pub(super) fn violations(graphs: &[&ImportGraph], rules: &[Rule]) -> Vec<String> {
    let mut violations = Vec::new();
    for rule in rules {
        let mut unused = rule.importers.to_vec();
        for graph in graphs {
            for import in &graph.foreign {
                let file = &graph.files[import.file];
                if !rule.crates.contains(&import.crate_name.as_str()) {
                    continue;
                }
                unused.retain(|importer| !covers(importer, file));
                if !rule.importers.iter().any(|it| covers(it, file)) {
                    violations.push(format!(
                        "{}: this file may not import {}. {}",
                        graph.display(import.file, &import.location),
                        import.crate_name,
                        rule.reason
                    ));
                }
            }
        }
        violations.extend(unused.iter().map(|importer| {
            let crates = rule.crates.join(" or ");
            format!(
                "{importer} does not import {crates}: take it out of the rule in foreign_crates.rs"
            )
        }));
    }
    violations
}

fn covers(importer: &str, file: &str) -> bool {
    importer == file
        || file
            .strip_prefix(importer)
            .is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}

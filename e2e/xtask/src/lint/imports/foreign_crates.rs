//! Which files may import which foreign crates.

use std::collections::BTreeMap;

use super::import_graph::ImportGraph;

const THIS_FILE: &str = "e2e/xtask/src/lint/imports/foreign_crates.rs";

/// A rule for crates that belong together.
pub(super) struct Rule {
    pub(super) crates: &'static [&'static str],
    pub(super) reason: &'static str,
    /// The files and modules that may import the crates: a path with `.rs` is a file, one without
    /// is a module with all files below it.
    pub(super) importers: &'static [&'static str],
}

/// The rules of this project. Tests may import everything. Each importer must import one of the
/// crates, so that no rule allows more than necessary.
pub(super) const RULES: &[Rule] = &[
    Rule {
        crates: &["async_nats"],
        reason: "One module knows the engine behind the directory of a cluster.",
        importers: &["bridge/cluster/src/nats"],
    },
    Rule {
        crates: &["axum"],
        reason: "Only the HTTP edge of a server uses its framework: the layers below work without sockets.",
        importers: &[
            "agent/src/http",
            "bridge/src/http",
            "bridge/src/mcp/cluster_owner.rs",
            "bridge/src/mcp/endpoint.rs",
            "bridge/src/mcp/http_response.rs",
            "bridge/src/mcp/initialize.rs",
            "bridge/src/mcp/page_call.rs",
            "bridge/src/mcp/prompts_and_resources.rs",
            "bridge/src/mcp/rmcp_rejection.rs",
            "bridge/src/mcp/tools_call.rs",
            "bridge/src/mcp/tools_list.rs",
            "bridge/src/web",
            "bridge/src/websocket/handshake.rs",
            "bridge/traces/src/testing.rs",
            "client-stdio/cli/src/started_bridge.rs",
            "demo-app/src/agent_host.rs",
            "demo-app/src/lib.rs",
            "demo-app/src/page.rs",
            "e2e/src/adapter.rs",
            "e2e/src/adapter/http_frontend.rs",
            "e2e/src/auth_proxy.rs",
            "e2e/src/folder_site.rs",
            "e2e/src/page_tools_site.rs",
            "e2e/src/mock_provider/recording.rs",
            "e2e/src/mock_provider/server.rs",
            "e2e/src/site.rs",
            "e2e/src/token_issuer.rs",
        ],
    },
    Rule {
        crates: &["bridge_compat"],
        reason: "mcp-web 0.1 ends at the edge: realms and the hub know only what a page can do, and calls only the old name of a builtin tool.",
        importers: &[
            "bridge/src/calls/builtin_tools.rs",
            "bridge/src/calls/dispatch.rs",
            "bridge/src/compat",
            "bridge/src/http/compat.rs",
            "bridge/src/http/page_socket",
        ],
    },
    Rule {
        crates: &["sysinfo"],
        reason: "One module says what the machine has, and one what a process uses.",
        importers: &[
            "bridge/edge/src/process_usage.rs",
            "bridge/src/config/host.rs",
        ],
    },
    Rule {
        crates: &["clap"],
        reason: "Arguments are parsed where a program starts: the rest gets settings, whatever their source.",
        importers: &[
            "agent/src/commands",
            "agent/src/config.rs",
            "agent/src/config/budgets.rs",
            "agent/src/config/conversations.rs",
            "agent/src/config/limits.rs",
            "agent/src/config/secrets.rs",
            "agent/src/config/traces.rs",
            "agent/src/model/settings.rs",
            "agent/src/program/arguments.rs",
            "agent/tools/src/approval.rs",
            "bridge/realm/src/policy.rs",
            "bridge/settings/src",
            "bridge/src/admin/command.rs",
            "bridge/src/config.rs",
            "bridge/src/config/admin.rs",
            "bridge/src/config/agent.rs",
            "bridge/src/config/bridge_info.rs",
            "bridge/src/config/calls.rs",
            "bridge/src/config/cluster.rs",
            "bridge/src/config/compat.rs",
            "bridge/src/config/http_timeouts.rs",
            "bridge/src/config/identity.rs",
            "bridge/src/config/issuer_tables.rs",
            "bridge/src/config/mcp_sessions.rs",
            "bridge/src/config/memory.rs",
            "bridge/src/config/monitoring.rs",
            "bridge/src/config/network.rs",
            "bridge/src/config/page_limits.rs",
            "bridge/src/config/page_timings.rs",
            "bridge/src/config/results.rs",
            "bridge/src/config/state.rs",
            "bridge/src/config/tabs.rs",
            "bridge/src/config/tls.rs",
            "bridge/src/config/tokens.rs",
            "bridge/src/config/traces.rs",
            "bridge/src/fuzz.rs",
            "bridge/src/command_line.rs",
            "bridge/src/program.rs",
            "client-stdio/cli/src",
            "client-stdio/install/src/arguments.rs",
            "client-stdio/src/config.rs",
            "client-stdio/src/connection_flags.rs",
            "demo-app/src/agent_settings.rs",
            "demo-app/src/command_line.rs",
            "e2e/demo-nodes/src/main.rs",
            "e2e/lab/src/main.rs",
            "e2e/lab/src/proxy.rs",
            "e2e/lab/src/sections/attacks",
            "e2e/src/bin",
            "e2e/xtask/src/bench.rs",
            "e2e/xtask/src/clients.rs",
            "e2e/xtask/src/cross/mod.rs",
            "e2e/xtask/src/demo.rs",
            "e2e/xtask/src/dependencies.rs",
            "e2e/xtask/src/faults.rs",
            "e2e/xtask/src/fuzz.rs",
            "e2e/xtask/src/lint.rs",
            "e2e/xtask/src/main.rs",
            "e2e/xtask/src/provider_types.rs",
            "e2e/xtask/src/release/options.rs",
            "e2e/xtask/src/test/options.rs",
            "e2e/xtask/src/version.rs",
        ],
    },
    Rule {
        crates: &["cap_std"],
        reason: "What confines a path is in one module, and no other opens the files of a root.",
        importers: &["agent/sources/src/filesystem/files"],
    },
    Rule {
        crates: &["chacha20poly1305"],
        reason: "One module encrypts, and no other decides how.",
        importers: &["agent/secrets/src"],
    },
    Rule {
        crates: &["globset"],
        reason: "Patterns for names of tools mean the same wherever an operator writes them.",
        importers: &[
            "agent/sources/src/github/repositories.rs",
            "agent/tools/src/name_patterns.rs",
        ],
    },
    Rule {
        crates: &["governor"],
        reason: "Rates are counted in one module.",
        importers: &["agent/tools/src/rate.rs"],
    },
    Rule {
        crates: &["hyper"],
        reason: "Only code that accepts or measures connections works below axum.",
        importers: &[
            "bridge/edge/src/connections",
            "bridge/edge/src/peer_client.rs",
            "bridge/edge/src/request_body.rs",
            "bridge/src/websocket/handshake.rs",
            "e2e/lab/src/connection.rs",
            "e2e/lab/src/floor.rs",
            "e2e/lab/src/proxy.rs",
        ],
    },
    Rule {
        crates: &["js_sys", "wasm_bindgen", "web_sys"],
        reason: "Only few modules use the browser: the rest is tested without one.",
        importers: &[
            "web-sdk/page-tools/src/js",
            "web-sdk/wasm/src",
            "web-sdk/testing/src/js",
        ],
    },
    Rule {
        crates: &["jsonc_parser", "toml_edit"],
        reason: "Files of other programs are changed by one module for each format, so that the rest of them stays.",
        importers: &[
            "bridge/shared-files/src/jsonc",
            "client-stdio/install/src/toml_text.rs",
        ],
    },
    Rule {
        crates: &["jsonwebtoken"],
        reason: "Signed tokens are verified in one module, so that no other decides which signatures are valid.",
        importers: &[
            "bridge/auth/src/jwt.rs",
            "bridge/auth/src/jwk.rs",
            "bridge/auth/src/algorithm.rs",
            "bridge/auth/src/verification_key.rs",
            "e2e/src/token_issuer.rs",
        ],
    },
    Rule {
        crates: &[
            "opentelemetry",
            "opentelemetry_otlp",
            "opentelemetry_proto",
            "opentelemetry_sdk",
        ],
        reason: "One crate knows OpenTelemetry: the rest begins spans, with names that it defines.",
        importers: &["bridge/traces/src"],
    },
    Rule {
        crates: &["process_wrap"],
        reason: "One module starts the processes of MCP servers, and ends all that they have started.",
        importers: &["agent/tools/src/mcp/upstream/process.rs"],
    },
    Rule {
        crates: &["listenfd", "sd_notify"],
        reason: "One crate knows the service manager.",
        importers: &[
            "bridge/edge/src/connections/listener.rs",
            "bridge/edge/src/service_manager.rs",
        ],
    },
    Rule {
        crates: &["prometheus_client"],
        reason: "Only the format of metrics is theirs: what is counted does not depend on who reads it.",
        importers: &[
            "agent/tools/src/metrics.rs",
            "bridge/edge/src/process_metrics.rs",
            "bridge/src/http/metrics/bridge_metrics.rs",
            "bridge/src/http/metrics/cluster_metrics.rs",
            "bridge/src/http/metrics/metric_writer.rs",
        ],
    },
    Rule {
        crates: &["reqwest"],
        reason: "Requests are sent by few clients, which define trust and timeouts.",
        importers: &[
            "agent/sources/src/github/client.rs",
            "agent/sources/src/http_api.rs",
            "agent/sources/src/websearch",
            "agent/src/bridge/client.rs",
            "agent/src/bridge/mcp_errors.rs",
            "agent/src/config/bridge_url.rs",
            "agent/src/model/errors.rs",
            "agent/src/model/hosted.rs",
            "agent/src/model/settings.rs",
            "agent/tools/src/mcp/upstream/connection.rs",
            "agent/tools/src/mcp/upstream/mcp_http_client.rs",
            "bridge/auth/src/jwks/fetch.rs",
            "bridge/edge/src/http_client.rs",
            "bridge/src/agent_queries/agent_client",
            "bridge/src/agent_queries/agent_process.rs",
            "client-stdio/src/address_holder.rs",
            "client-stdio/src/bridge_http.rs",
            "client-stdio/src/event_stream.rs",
            "e2e/src/agent_service.rs",
            "e2e/src/clients.rs",
            "e2e/src/clients/connect.rs",
            "e2e/src/clients/plain_http.rs",
            "e2e/src/mock_provider/recording.rs",
            "e2e/src/node_faults",
        ],
    },
    Rule {
        crates: &["rmcp"],
        reason: "Its minor versions change behaviour: in each crate one module uses its model of MCP.",
        importers: &[
            "agent/src/bridge/allowed_tools.rs",
            "agent/src/bridge/mcp_errors.rs",
            "agent/tools/src/mcp",
            "bridge/src/mcp",
            "e2e/src/clients/connect.rs",
            "e2e/src/clients/full_client.rs",
            "e2e/src/clients/mcp.rs",
        ],
    },
    Rule {
        crates: &["rusqlite"],
        reason: "One module knows how conversations are stored, and one reads databases of operators.",
        importers: &[
            "agent/src/conversations/database",
            "agent/sources/src/database/sqlite",
        ],
    },
    Rule {
        crates: &["tokio_postgres", "tokio_postgres_rustls"],
        reason: "One module reads databases of PostgreSQL, and knows what confines their statements.",
        importers: &["agent/sources/src/database/postgres"],
    },
    Rule {
        crates: &["tokio_tungstenite", "tungstenite"],
        reason: "WebSocket ends at the connection: sessions and calls handle messages, not frames.",
        importers: &[
            "bridge/raw-json/src/raw_json.rs",
            "bridge/realm/src/page_messages/compact_response.rs",
            "bridge/src/http/page_socket/codec",
            "bridge/src/websocket",
            "e2e/lab/src/floor.rs",
            "e2e/lab/src/page.rs",
            "e2e/lab/src/sections/attacks/floods.rs",
            "web-sdk/native/src/socket.rs",
            "web-sdk/testing/raw-page/src",
        ],
    },
    Rule {
        crates: &["tracing_subscriber"],
        reason: "`bridge-output` writes the log: another writer panics or waits where stderr cannot be written.",
        importers: &[
            "agent/src/logging.rs",
            "bridge/output/src",
            "client-stdio/src/program.rs",
        ],
    },
];

/// Describes what breaks the rules: one line for each file and crate, and one for each importer
/// that does not import the crates of its rule.
pub(super) fn violations(graphs: &[ImportGraph], rules: &[Rule]) -> Vec<String> {
    rules
        .iter()
        .flat_map(|rule| rule.violations(graphs))
        .collect()
}

/// The uses of one crate in one file.
struct Uses {
    first_line: usize,
    count: usize,
}

impl Rule {
    fn violations(&self, graphs: &[ImportGraph]) -> Vec<String> {
        let mut unused = self.importers.to_vec();
        let mut forbidden = BTreeMap::<(&str, &str), Uses>::new();
        for graph in graphs {
            for import in &graph.foreign {
                let crate_name = import.crate_name.as_str();
                let file = graph.files[import.file].as_str();
                if !self.crates.contains(&crate_name) {
                    continue;
                }
                unused.retain(|importer| !covers(importer, file));
                if self.importers.iter().any(|it| covers(it, file)) {
                    continue;
                }
                let uses = forbidden.entry((file, crate_name)).or_insert(Uses {
                    first_line: import.line,
                    count: 0,
                });
                uses.first_line = uses.first_line.min(import.line);
                uses.count += 1;
            }
        }
        let forbidden = forbidden.iter().map(|((file, crate_name), uses)| {
            let Uses { first_line, count } = uses;
            let noun = if *count == 1 { "use" } else { "uses" };
            let reason = self.reason;
            format!(
                "{file}:{first_line} may not import {crate_name} ({count} {noun}). {reason} The files \
                 that may are listed in {THIS_FILE}."
            )
        });
        let crates = self.crates.join(" or ");
        let unused = unused.iter().map(|importer| {
            format!("{importer} does not import {crates}: remove it from {THIS_FILE}")
        });
        forbidden.chain(unused).collect()
    }
}

/// Returns whether a file is an importer's file, or in its module.
fn covers(importer: &str, file: &str) -> bool {
    importer == file
        || file
            .strip_prefix(importer)
            .is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}

//! Several bridges that serve as one, in one process, with a real server of NATS.
//!
//! `cargo xtask test` installs the server, and names it in `MCP_WEB_NATS_SERVER`.

mod browser_requests;
mod claim_limits;
mod client_addresses;
mod config_check;
mod cuttable_link;
mod denials;
mod drain;
mod exchange;
mod first_frames;
mod forwarded_requests;
mod held_requests;
mod isolation;
pub(crate) mod kit;
mod mcp_requests;
mod mortal_node;
mod overview;
mod owner_failures;
mod ownership;
mod page_tunnels;
mod peer_certificates;
mod peer_listener;
mod peer_watch;
mod queries;
mod route_table;
mod routes;
mod secret_change;
mod settings;
mod stand_in;
mod streams;
mod young_realms;

//! Test kit for journeys through the whole system, in which everything runs for real.
//!
//! A journey starts a [`TestBed`] (the bridge or the demo as a child process on a free port) or a
//! [`ClusterBed`] (several bridges that serve as one, behind a balancer), opens
//! pages in it ([`Browser`]: headless Chromium; [`native_program`]: a program of the crate `mcp-web-sdk`;
//! [`QueryPage`]: a page that asks the agent) and lets AI clients use their tools ([`McpClient`]: rmcp over HTTP or through `mcp-web-stdio`;
//! [`FullClient`]: a client that supports everything that a server may request; [`Inspector`];
//! [`PlainHttp`]). Everything stops when its value is dropped.
//!
//! Nothing sleeps: every wait is for an event, has the deadline of [`with_deadline`], and panics
//! with the name of that event. The journeys are in `tests/journeys`; `cargo xtask test` builds the
//! programs that they need.
#![allow(clippy::print_stderr, clippy::print_stdout)] // It prints for the person who runs it.
#![allow(clippy::unwrap_used)] // The whole crate is test code: a failed step fails the journey.
#![warn(missing_docs)]

mod action_rules;
mod adapter;
mod agent_service;
mod auth_proxy;
mod bridge_endpoint;
mod browser;
mod clients;
mod cluster_bed;
pub mod conformance;
mod deadline;
mod delay;
mod figures;
mod folder_site;
mod large;
mod llama_cpp;
mod meter;
mod mock_provider;
mod native_program;
mod network;
mod node;
pub mod node_faults;
pub mod packed_sdk;
mod page_tools_site;
mod process;
pub mod program_paths;
mod provider_rules;
mod query_page;
mod random;
mod real_clients;
mod request_tap;
mod sdk_page;
pub mod simulation;
mod site;
pub mod socket_faults;
mod test_bed;
mod tls_proxy;
mod token_issuer;
mod virtual_display;

pub use action_rules::ActionRule;
pub use adapter::Adapter;
pub use agent_service::{AGENT_METRICS_TOKEN, AgentEndpoint, AgentService};
pub use auth_proxy::AuthProxy;
pub use bridge_cluster::ReservedPort;
pub use bridge_endpoint::BridgeEndpoint;
pub use browser::{Browser, ColorScheme, SuspendedPages};
pub use clients::{
    ClientEvent, Era, FullClient, InFlightCall, Inspector, McpClient, PlainHttp, Transport,
    V1Client, http,
};
pub use cluster_bed::{ClusterBed, ClusterSetup};
pub use deadline::{DEADLINE, with_deadline};
pub use figures::print_figures;
pub use folder_site::FolderSite;
pub use large::LargeResult;
pub use llama_cpp::LlamaCpp;
pub use meter::{CpuTime, Meter};
pub use mock_provider::{
    BreakMode, Exchange, ExchangeOutcome, Fault, Format, MockProvider, Recordings, ResponseSource,
    Script, Scripts, StopReason, TokenUsage, Turn, TurnPart, Upstream,
};
pub use native_program::{add_echo, connect_program, echo_program, native_program};
pub use network::{Network, NetworkHost};
pub use node::NodeProject;
pub use page_tools_site::PageToolsSite;
pub use process::ProcessGroup;
pub use provider_rules::{ChatServer, RuleSource, rule_sources};
pub use query_page::{PageTool, QueryPage};
pub use raw_page::poll_pause;
pub use real_clients::{
    ClientRow, ClientStep, ClientTier, ClientsApp, CommandLine, CommandLineRun, Driver,
    DriverTransport, Package, RestartedBridge, RollingDeploy, StepResult, ToolOutput,
    run_inspector,
};
pub use request_tap::RequestTap;
pub use site::StaticSite;
pub use test_bed::TestBed;
pub use tls_proxy::TlsProxy;
pub use token_issuer::TokenIssuer;
pub use virtual_display::VirtualDisplay;

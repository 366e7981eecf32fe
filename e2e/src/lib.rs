//! Test kit for whole-system journeys: everything runs for real, nothing is mocked.
//!
//! A journey starts a [`World`] (the bridge or the demo as a child process on a free port), opens
//! pages in it ([`Browser`]: headless Chromium; [`NativePage`]: the page protocol from Rust) and
//! lets AI clients use their tools ([`McpClient`]: rmcp over HTTP or through `mcp-web-stdio`;
//! [`AbleClient`]: the same with everything that a server may ask of a client;
//! [`Inspector`]; [`PlainHttp`]). Whatever was started ends when its value is dropped.
//!
//! Nothing sleeps: every wait is a wait for something, under [`within`]'s deadline, and says what
//! it waited for when it fails. The journeys are in `tests/journeys`; `cargo xtask test` builds
//! what they need.
#![allow(clippy::unwrap_used)] // The whole crate is test code: a failed step fails the journey.
#![warn(missing_docs)]

mod adapter;
mod agent_service;
pub mod asking;
mod browser;
mod clients;
pub mod conformance;
mod deadline;
pub mod idle;
mod issuer;
mod large;
pub mod load;
mod native_page;
mod node;
mod process;
mod provider;
mod random;
mod real_clients;
mod sdk_page;
pub mod simulation;
mod site;
pub mod socket_faults;
mod tls_front;
mod token_proxy;
pub mod tools;
mod v1_page;
mod world;

pub use adapter::Adapter;
pub use agent_service::{AgentPlace, AgentService};
pub use browser::{Browser, ColorScheme, SuspendedPages};
pub use clients::{
    AbleClient, BulkClient, Era, Heard, InFlight, Inspector, Leg, McpClient, PlainHttp,
    StalledClient, V1Client,
};
pub use deadline::{DEADLINE, within};
pub use issuer::Issuer;
pub use large::Large;
pub use native_page::{
    NativeAnswer, NativeCall, NativeFailure, NativeItem, NativeOutcome, NativePage, NativeSetup,
    Standstill, Wanted,
};
pub use node::NodeProject;
pub use process::ProcessGroup;
pub use provider::{
    Break, Ending, Exchange, Fault, Format, Piece, Provider, Script, Scripts, Stop, Tape, Tokens,
    Turn, Upstream, Voice,
};
pub use real_clients::{
    Cell, ClientsApp, CommandLine, Driver, Output, Package, Row, Run, Server, Step,
};
pub use site::Site;
pub use tls_front::TlsFront;
pub use token_proxy::TokenProxy;
pub use v1_page::{V1Handler, V1Page};
pub use world::World;

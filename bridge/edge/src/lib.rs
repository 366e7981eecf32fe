//! The parts that bridge and agent both need for their sockets, independent of a web framework.
//!
//! - [`connections`] is the accept loop, [`request_body`] the body of a request that must arrive in
//!   time, and [`body`] reads it up to a limit. [`host_origin`] decides which `Host` and `Origin`
//!   headers are accepted, and [`client_address`] finds the address of a client, also behind
//!   trusted proxies.
//! - [`http_client`] builds the client for requests that a service makes itself.
//! - [`shared_credential`] stores the secret that a bridge and an agent of one user share.
//!   [`TokenHash`] is what is stored instead of a token, and [`state_folder`] has what survives a
//!   restart.
//! - [`raise_open_file_limit`] prepares the process for many connections, and
//!   [`lower_thread_priority`] a thread for long computations.
//!   [`shutdown_signal`](mod@shutdown_signal) waits until the process is requested to stop.
//!
//! This crate depends on hyper and reqwest, but not on axum or MCP.

pub mod body;
pub mod client_address;
mod connection_slots;
pub mod connections;
pub mod host_origin;
pub mod http_client;
mod private_file;
mod progress_timeout;
pub mod request_body;
pub mod shared_credential;
pub mod shutdown_signal;
pub mod state_folder;
mod thread_priority;
mod token_hash;

pub use client_address::{ClientAddress, TrustedProxy};
pub use connection_slots::raise_open_file_limit;
pub use host_origin::{HostCheck, HostOriginPolicy, LOOPBACK, OriginCheck};
pub use shutdown_signal::{shutdown_signal, stdin_closed};
pub use state_folder::{StateFile, StateFolder, StateFolderError, derive_key};
pub use thread_priority::lower_thread_priority;
pub use token_hash::TokenHash;

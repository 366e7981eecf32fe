//! The parts that bridge and agent both need for their sockets, independent of a web framework.
//!
//! - [`connections`] is the accept loop, [`request_body`] the body of a request that must arrive in
//!   time, and [`body`] reads it up to a limit. [`host_origin`] decides which `Host` and `Origin`
//!   headers are accepted, and [`client_address`] finds the address of a client, also behind
//!   trusted proxies.
//! - [`http_client`] builds the client for requests that a service makes itself, and [`peer_client`] the
//!   one for requests that it passes on to another server of the same kind.
//! - [`PrivateSocket`] is a Unix socket for the operator.
//! - [`shared_credential`] stores the secret that a bridge and an agent of one user share, and
//!   [`credential_file`] loads those that an operator has written.
//!   [`TokenHash`] is what is stored instead of a token, and [`state_folder`] has what survives a
//!   restart. [`user_folders`] finds the folders of the user.
//! - [`FileWatch`] reports changes of the files of settings, and [`service_manager`] the state of the
//!   process to its service manager.
//! - [`raise_open_file_limit`] prepares the process for many connections, and
//!   [`lower_thread_priority`] a thread for long computations.
//!   [`shutdown_signal`](mod@shutdown_signal) receives the signals of the process.
//! - [`process_metrics`] has the metrics that every program has, and [`ResourceUsage`] their values.
//!
//! This crate depends on hyper and reqwest, but not on axum or MCP.

pub mod body;
pub mod client_address;
mod connection_slots;
pub mod connections;
pub mod credential_file;
mod file_watch;
pub mod host_origin;
pub mod http_client;
pub mod peer_client;
mod private_file;
#[cfg(unix)]
mod private_socket;
mod private_socket_error;
pub mod process_metrics;
mod process_usage;
mod progress_timeout;
pub mod request_body;
pub mod service_manager;
pub mod shared_credential;
pub mod shutdown_signal;
pub mod state_folder;
mod thread_priority;
mod token_hash;
pub mod user_folders;

pub use client_address::{ClientAddress, ForwardedHeader, TrustedProxies, TrustedProxy};
pub use connection_slots::{open_file_limit, raise_open_file_limit};
pub use file_watch::FileWatch;
pub use host_origin::{HostCheck, HostOriginPolicy, LOOPBACK, OriginCheck};
#[cfg(unix)]
pub use private_socket::PrivateSocket;
pub use private_socket_error::PrivateSocketError;
pub use process_usage::ResourceUsage;
pub use service_manager::{ServiceState, notify_service_manager};
pub use shutdown_signal::{ProcessSignal, ProcessSignals, shutdown_signal, stdin_closed};
pub use state_folder::{StateFile, StateFolder, StateFolderError, derive_key};
pub use thread_priority::lower_thread_priority;
pub use token_hash::TokenHash;

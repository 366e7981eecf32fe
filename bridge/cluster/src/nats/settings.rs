//! The settings of the connection.

use std::path::PathBuf;
use std::time::Duration;

use bridge_settings::Secret;

/// Where NATS is, and how to log in.
#[derive(Clone, Debug)]
pub struct NatsSettings {
    /// The servers, as `tls://host:4222` or `nats://host:4222`. A user or password in them is refused.
    pub servers: Vec<String>,
    /// The start of the names of buckets and subjects: letters, digits and `-`.
    pub name: String,
    /// On how many servers of NATS each bucket is stored.
    pub replicas: usize,
    /// How long the record of a node lasts.
    pub lease: Duration,
    /// The file with a JWT and its seed. It is read at each connection, like `ca`.
    pub credentials: Option<PathBuf>,
    pub user: Option<String>,
    pub password: Option<Secret>,
    /// The file with the only certificates that are trusted. Without it, those of the system are.
    pub ca: Option<PathBuf>,
}

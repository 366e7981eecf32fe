//! The settings of the network: the address to listen on, who may connect from where, and how much
//! may arrive.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use bridge_edge::host_origin::is_loopback_entry;
use bridge_edge::{ForwardedHeader, LOOPBACK, TrustedProxy};
use bridge_settings::values;
use clap::Args;

/// The address that only programs of this machine can reach, and the port of the bridge.
const DEFAULT_BIND: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 3001);

const DEFAULT_MAX_REQUEST_BYTES: usize = 4 * 1024 * 1024;

/// Settings of the network.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Network")]
pub struct Network {
    /// Address to listen on. With 127.0.0.1, the bridge also listens on the same port of [::1] if that
    /// is free. An address that is not a loopback address requires configured tokens.
    #[arg(long, env = "MCP_WEB_BIND", value_name = "ADDR:PORT", default_value_t = DEFAULT_BIND)]
    pub bind: SocketAddr,

    /// Origins of pages that may connect: `https://app.example.com`, `http://10.0.0.5:*`, or
    /// `loopback` for localhost, 127.0.0.1 and [::1] on any port.
    #[arg(
        long,
        env = "MCP_WEB_ALLOWED_ORIGINS",
        value_name = "ORIGIN,…",
        value_delimiter = ',',
        default_value = LOOPBACK
    )]
    pub allowed_origins: Vec<String>,

    /// Values of the `Host` header that are accepted: `bridge.example.com`, `10.0.0.5:3001`, or
    /// `loopback`.
    #[arg(
        long,
        env = "MCP_WEB_ALLOWED_HOSTS",
        value_name = "HOST,…",
        value_delimiter = ',',
        default_value = LOOPBACK
    )]
    pub allowed_hosts: Vec<String>,

    /// Proxies whose `forwarded_header` names the address of their client, under which its share of
    /// a limit is counted: addresses and networks, such as `10.0.0.0/8`.
    #[arg(
        long,
        env = "MCP_WEB_TRUSTED_PROXIES",
        value_name = "ADDRESS,…",
        value_delimiter = ','
    )]
    pub trusted_proxies: Vec<TrustedProxy>,

    /// Header in which these proxies name the address of their client: `x-forwarded-for` or
    /// `forwarded`. The other one is ignored, because a proxy may pass it on as a client sent it.
    #[arg(
        long,
        env = "MCP_WEB_FORWARDED_HEADER",
        value_name = "HEADER",
        default_value_t = ForwardedHeader::XForwardedFor
    )]
    pub forwarded_header: ForwardedHeader,

    /// Connections that are open at the same time, including those of pages. Without it, as many as
    /// memory and open files allow.
    #[arg(long, env = "MCP_WEB_MAX_CONNECTIONS", value_name = "N", value_parser = values::parse_count)]
    pub max_connections: Option<usize>,

    /// Largest HTTP request body, in bytes.
    #[arg(long, env = "MCP_WEB_MAX_REQUEST_BYTES", value_name = "BYTES",
        default_value_t = DEFAULT_MAX_REQUEST_BYTES, value_parser = values::parse_count)]
    pub max_request_bytes: usize,
}

impl Network {
    /// Whether only programs of this machine can connect: the address is a loopback one, and no
    /// proxy may pass on requests under another host name.
    pub(crate) fn is_loopback_only(&self) -> bool {
        let mut hosts = self.allowed_hosts.iter();
        self.bind.ip().is_loopback() && hosts.all(|host| is_loopback_entry(host))
    }
}

impl Default for Network {
    fn default() -> Self {
        Self {
            bind: DEFAULT_BIND,
            allowed_origins: vec![LOOPBACK.to_owned()],
            allowed_hosts: vec![LOOPBACK.to_owned()],
            trusted_proxies: Vec::new(),
            forwarded_header: ForwardedHeader::XForwardedFor,
            max_connections: None,
            max_request_bytes: DEFAULT_MAX_REQUEST_BYTES,
        }
    }
}

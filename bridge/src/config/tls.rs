//! The settings of encryption.

use std::path::PathBuf;

use clap::Args;

/// Settings of encryption, for a bridge without a proxy that encrypts.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Encryption")]
pub struct TlsSettings {
    /// File with the certificate of the bridge in PEM, followed by those of its issuers. With it, the
    /// bridge serves https:// and wss:// only, and with HTTP/1.1 only.
    #[arg(long, env = "MCP_WEB_TLS_CERT", value_name = "PATH")]
    pub tls_cert: Option<PathBuf>,

    /// File with the private key of `tls_cert` in PEM, without a passphrase.
    #[arg(long, env = "MCP_WEB_TLS_KEY", value_name = "PATH")]
    pub tls_key: Option<PathBuf>,
}

impl TlsSettings {
    /// Whether the bridge encrypts.
    pub(crate) fn is_enabled(&self) -> bool {
        self.tls_cert.is_some()
    }
}

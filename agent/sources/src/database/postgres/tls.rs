//! How connections are encrypted.

use std::fmt;
use std::sync::Arc;

use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres_rustls::MakeRustlsConnect;

/// Encrypts connections, and verifies the certificate of the server and its name, which the `require`
/// of other programs does not do.
#[derive(Clone)]
pub(super) struct TlsConnector(MakeRustlsConnect);

impl TlsConnector {
    /// Loads the authorities that this machine trusts, if connections are encrypted.
    pub(super) fn new(mode: SslMode) -> Result<Self, String> {
        let builder = builder()?;
        let builder = if mode == SslMode::Require {
            builder.with_platform_verifier().map_err(|_| {
                "this machine has no certificates of authorities, which `sslmode=require` needs: \
                 install `ca-certificates`"
            })?
        } else {
            builder.with_root_certificates(RootCertStore::empty())
        };
        Ok(Self(MakeRustlsConnect::new(builder.with_no_client_auth())))
    }

    /// Returns what encrypts a connection to a server of this name.
    pub(super) fn for_stream<S>(
        &self,
        _stream: &S,
        name: &str,
    ) -> <MakeRustlsConnect as MakeTlsConnect<S>>::TlsConnect
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let Ok(tls) = MakeTlsConnect::<S>::make_tls_connect(&mut self.0.clone(), name);
        tls
    }

    /// Trusts only these authorities.
    #[cfg(test)]
    #[cfg(unix)]
    pub(super) fn with_authorities(authorities: RootCertStore) -> Self {
        let config = builder().unwrap().with_root_certificates(authorities);
        Self(MakeRustlsConnect::new(config.with_no_client_auth()))
    }
}

fn builder() -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())
}

impl fmt::Debug for TlsConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TlsConnector")
    }
}

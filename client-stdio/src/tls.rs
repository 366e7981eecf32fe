//! TLS to a bridge behind a proxy: whom we trust, and why a certificate was not accepted.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use rustls::client::WantsClientCert;
use rustls::{CertificateError, ClientConfig, ConfigBuilder, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;

use crate::absence::Absence;

/// Whether the trusted authorities may be named in `SSL_CERT_FILE`; elsewhere the system decides.
const TRUSTS_FILES: bool = cfg!(all(unix, not(target_vendor = "apple")));

/// Why a certificate was not accepted, with what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Distrust {
    UnknownAuthority,
    /// The system has no authorities at all: small containers.
    NoAuthorities,
    OtherName,
    /// Expired, or not valid yet.
    OtherTime,
    /// In the words of rustls.
    Invalid(String),
}

impl fmt::Display for Distrust {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownAuthority if TRUSTS_FILES => out.write_str(
                "the authority that signed it is not trusted here: add it to the system's \
                 authorities, or set SSL_CERT_FILE to its PEM file in the configuration of this \
                 MCP server",
            ),
            Self::UnknownAuthority => out.write_str(
                "the authority that signed it is not trusted here: add it to the system's \
                 authorities",
            ),
            Self::NoAuthorities => out.write_str(
                "this system trusts no authority at all: install its package ca-certificates, or \
                 set SSL_CERT_FILE to the PEM file of the authority that signed it, in the \
                 configuration of this MCP server",
            ),
            Self::OtherName => out.write_str(
                "it is for another host name: set MCP_SERVER_URL to the name that it is for",
            ),
            Self::OtherTime => out.write_str(
                "it is not valid at this time: check the clock, or ask the operator to renew it",
            ),
            Self::Invalid(reason) => {
                write!(out, "{reason}: ask the operator to replace it")
            }
        }
    }
}

/// The TLS of one client. The authorities are read anew each time, so that one which is added
/// while there is no bridge counts at the next attempt.
pub(crate) fn client_config(is_https: bool) -> Result<ClientConfig, Absence> {
    let unusable = |error: rustls::Error| Absence::Unusable(error.to_string());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(unusable)?;
    let builder: ConfigBuilder<ClientConfig, WantsClientCert> = if is_https {
        let no_authorities = |_| Absence::Distrusted(Distrust::NoAuthorities);
        builder.with_platform_verifier().map_err(no_authorities)?
    } else {
        // reqwest wants a configuration even when nothing will be encrypted.
        builder.with_root_certificates(RootCertStore::empty())
    };
    Ok(builder.with_no_client_auth())
}

/// What a failure to connect means if TLS is its cause.
pub(crate) fn absence(failure: &(dyn Error + 'static)) -> Option<Absence> {
    Some(match tls_error(failure)? {
        rustls::Error::InvalidCertificate(error) => Absence::Distrusted(distrust(error)),
        rustls::Error::InvalidMessage(_) => {
            Absence::Unusable("it does not speak TLS: http:// may be meant".to_owned())
        }
        other => Absence::Unusable(format!("TLS: {other}")),
    })
}

fn distrust(error: &CertificateError) -> Distrust {
    use CertificateError as E;
    match error {
        // The second: the authority was made anew with its old name.
        E::UnknownIssuer | E::BadSignature => Distrust::UnknownAuthority,
        E::NotValidForName | E::NotValidForNameContext { .. } => Distrust::OtherName,
        E::Expired | E::ExpiredContext { .. } | E::NotValidYet | E::NotValidYetContext { .. } => {
            Distrust::OtherTime
        }
        other => Distrust::Invalid(other.to_string()),
    }
}

/// The TLS error among the causes.
fn tls_error<'a>(failure: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    let mut cause = failure;
    loop {
        if let Some(found) = cause.downcast_ref() {
            return Some(found);
        }
        // `source()` of an `io::Error` skips the error that it wraps.
        let wrapped = cause
            .downcast_ref::<std::io::Error>()
            .and_then(std::io::Error::get_ref);
        cause = match wrapped {
            Some(inner) => inner,
            None => cause.source()?,
        };
    }
}

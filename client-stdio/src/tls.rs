//! TLS to a bridge behind a proxy: whom we trust, and why a certificate was not accepted.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use rustls::client::WantsClientCert;
use rustls::{CertificateError, ClientConfig, ConfigBuilder, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;

use crate::connect_error::BridgeError;

/// Whether the trusted authorities may be named in `SSL_CERT_FILE`; elsewhere the system decides.
const SUPPORTS_SSL_CERT_FILE: bool = cfg!(all(unix, not(target_vendor = "apple")));

/// Why a certificate was not accepted, with what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CertificateRejection {
    UnknownAuthority,
    /// The system has no authorities at all: small containers.
    NoAuthorities,
    NameMismatch,
    /// Expired, or not valid yet.
    NotValidNow,
    /// In the words of rustls.
    Invalid(String),
}

impl fmt::Display for CertificateRejection {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownAuthority if SUPPORTS_SSL_CERT_FILE => out.write_str(
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
            Self::NameMismatch => out.write_str(
                "it is for another host name: set MCP_SERVER_URL to the name that it is for",
            ),
            Self::NotValidNow => out.write_str(
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
pub(crate) fn client_config(is_https: bool) -> Result<ClientConfig, BridgeError> {
    let unusable = |error: rustls::Error| BridgeError::InvalidResponse(error.to_string());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(unusable)?;
    let builder: ConfigBuilder<ClientConfig, WantsClientCert> = if is_https {
        let no_authorities =
            |_| BridgeError::UntrustedCertificate(CertificateRejection::NoAuthorities);
        builder.with_platform_verifier().map_err(no_authorities)?
    } else {
        // reqwest wants a configuration even when nothing will be encrypted.
        builder.with_root_certificates(RootCertStore::empty())
    };
    Ok(builder.with_no_client_auth())
}

/// What a failure to connect means if TLS is its cause.
pub(crate) fn bridge_error(failure: &(dyn Error + 'static)) -> Option<BridgeError> {
    Some(match tls_error(failure)? {
        rustls::Error::InvalidCertificate(error) => {
            BridgeError::UntrustedCertificate(certificate_rejection(error))
        }
        rustls::Error::InvalidMessage(_) => {
            BridgeError::InvalidResponse("it does not speak TLS: http:// may be meant".to_owned())
        }
        other => BridgeError::InvalidResponse(format!("TLS: {other}")),
    })
}

fn certificate_rejection(error: &CertificateError) -> CertificateRejection {
    use CertificateError as E;
    match error {
        // The second: the authority was made anew with its old name.
        E::UnknownIssuer | E::BadSignature => CertificateRejection::UnknownAuthority,
        E::NotValidForName | E::NotValidForNameContext { .. } => CertificateRejection::NameMismatch,
        E::Expired | E::ExpiredContext { .. } | E::NotValidYet | E::NotValidYetContext { .. } => {
            CertificateRejection::NotValidNow
        }
        other => CertificateRejection::Invalid(other.to_string()),
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

//! Why the certificate of a bridge was not accepted.

use std::fmt;

use rustls::CertificateError;

/// Whether the variable `SSL_CERT_FILE` can name the trusted authorities. On macOS and Windows the
/// system alone decides which authorities are trusted.
const SUPPORTS_SSL_CERT_FILE: bool = cfg!(all(unix, not(target_vendor = "apple")));

/// The reason why the certificate of a bridge was not accepted.
///
/// Its text describes what is wrong with the certificate and what the user can do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CertificateRejection {
    /// The authority that signed the certificate is not trusted.
    UnknownAuthority,
    /// The system trusts no authority at all, as in small containers.
    NoAuthorities,
    /// The certificate is for another host name.
    NameMismatch,
    /// The certificate has expired or is not valid yet.
    NotValidNow,
    /// Any other reason, as rustls describes it.
    Invalid(String),
}

impl From<&CertificateError> for CertificateRejection {
    fn from(error: &CertificateError) -> Self {
        use CertificateError as E;
        match error {
            // A bad signature is what rustls reports if the authority was created again with a new
            // key under its old name.
            E::UnknownIssuer | E::BadSignature => Self::UnknownAuthority,
            E::NotValidForName | E::NotValidForNameContext { .. } => Self::NameMismatch,
            E::Expired
            | E::ExpiredContext { .. }
            | E::NotValidYet
            | E::NotValidYetContext { .. } => Self::NotValidNow,
            other => Self::Invalid(other.to_string()),
        }
    }
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

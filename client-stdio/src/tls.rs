//! TLS to a bridge that is behind a proxy: the trusted authorities, and the meaning of TLS errors.

use std::error::Error;
use std::sync::Arc;

use rustls::client::WantsClientCert;
use rustls::{ClientConfig, ConfigBuilder, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;

use crate::certificate_rejection::CertificateRejection;
use crate::connect_error::BridgeError;

/// Creates the TLS configuration of one HTTP client.
///
/// The trusted authorities are loaded each time. If an authority is added while no bridge can be
/// reached, the next attempt uses it.
pub(crate) fn client_config(is_https: bool) -> Result<ClientConfig, BridgeError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| BridgeError::InvalidResponse(error.to_string()))?;
    let builder: ConfigBuilder<ClientConfig, WantsClientCert> = if is_https {
        builder
            .with_platform_verifier()
            .map_err(|_| BridgeError::UntrustedCertificate(CertificateRejection::NoAuthorities))?
    } else {
        // reqwest requires a configuration even if nothing is encrypted.
        builder.with_root_certificates(RootCertStore::empty())
    };
    Ok(builder.with_no_client_auth())
}

/// Translates an error while connecting; `None` if TLS did not cause it.
pub(crate) fn bridge_error(error: &(dyn Error + 'static)) -> Option<BridgeError> {
    Some(match tls_error(error)? {
        rustls::Error::InvalidCertificate(error) => BridgeError::UntrustedCertificate(error.into()),
        rustls::Error::InvalidMessage(_) => {
            BridgeError::InvalidResponse("it does not speak TLS: http:// may be meant".to_owned())
        }
        other => BridgeError::InvalidResponse(format!("TLS: {other}")),
    })
}

/// Finds the TLS error among the causes of an error.
fn tls_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    let mut cause = error;
    loop {
        if let Some(tls_error) = cause.downcast_ref() {
            return Some(tls_error);
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

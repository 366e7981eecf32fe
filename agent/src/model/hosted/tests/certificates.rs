//! Tests of servers with a certificate that this system does not trust.

use rcgen::generate_simple_self_signed;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::*;

/// Starts a server that makes TLS connections with its own certificate, and returns its port.
async fn start() -> u16 {
    let certified = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(certified.signing_key.serialize_der().into());
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // The client ends the handshake.
            let _ = acceptor.accept(stream).await;
        }
    });
    port
}

#[tokio::test]
async fn a_certificate_that_is_not_trusted_is_an_error_with_a_remedy() {
    let port = start().await;
    for api in ALL {
        let settings = ModelSettings {
            base_url: Some(format!("https://localhost:{port}/v1/").parse().unwrap()),
            retries: 0,
            ..ModelSettings::default()
        };
        let output = collect_turn(&model_for(api, &settings), first_request()).await;
        let failure = output.failure();
        assert_eq!(failure.code, ErrorCode::ModelUnavailable, "{failure}");
        assert!(failure.message.ends_with("cannot be reached"), "{failure}");
        let remedy = failure.remedy.as_deref().unwrap();
        assert!(remedy.contains("SSL_CERT_FILE"), "{remedy}");
        let log_message = failure.log_message.as_deref().unwrap();
        assert!(log_message.contains("certificate"), "{log_message}");
    }
}

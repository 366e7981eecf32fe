//! An agent that encrypts without a proxy.

use rcgen::generate_simple_self_signed;

use crate::kit::*;

#[tokio::test]
async fn an_agent_with_a_certificate_serves_https_only() {
    let folder = tempfile::tempdir().unwrap();
    let certified = generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let [certificate, key] = ["cert.pem", "key.pem"].map(|name| folder.path().join(name));
    std::fs::write(&certificate, certified.cert.pem()).unwrap();
    std::fs::write(&key, certified.signing_key.serialize_pem()).unwrap();
    let mut config = settings();
    config.tls_cert = Some(certificate);
    let error = agent::bind(config.clone()).await.unwrap_err().to_string();
    assert!(error.contains("`tls_key` is not set"), "{error}");

    config.tls_key = Some(key);
    let agent = agent::bind(config).await.unwrap();
    let agent = agent.serve("http://127.0.0.1:9").unwrap();
    // Installs the crypto provider.
    http_client();
    let trusted = reqwest::Certificate::from_der(certified.cert.der()).unwrap();
    let http = reqwest::Client::builder().tls_certs_only([trusted]);
    let http = http.no_proxy().build().unwrap();
    let health = agent.url().replace("/query", "/healthz");
    assert!(health.starts_with("https://127.0.0.1:"), "{health}");
    let response = with_deadline("health", http.get(&health).send()).await;
    assert_eq!(response.unwrap().status(), 200);
    let plain = http_client().get(health.replace("https:", "http:")).send();
    assert_eq!(with_deadline("refusal", plain).await.unwrap().status(), 400);
    agent.tls().unwrap().reload().unwrap();
    agent.shutdown().await;
}

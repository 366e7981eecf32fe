//! Encryption between bridges, where each proves with a certificate that it is one.

use std::path::PathBuf;

use bridge::Config;
use bridge_cluster::NatsServer;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use serde_json::json;
use tempfile::TempDir;

use super::kit::*;
use crate::kit::*;
use crate::metrics::scrape;
use crate::running_program::RunningBridge;

/// The name that the certificates of all bridges have, by default.
const NAME: &str = "mcp-web";

const OTHER_NAME: &str = "another-name";

/// An authority of the certificates of bridges.
struct PeerAuthority(CertifiedIssuer<'static, KeyPair>);

impl PeerAuthority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        Self(CertifiedIssuer::self_signed(params, key).unwrap())
    }
}

/// A certificate of a bridge, its key, and the authorities that it trusts, as files.
struct PeerFiles(TempDir);

impl PeerFiles {
    fn new(signed_by: &PeerAuthority, trusted: &[&PeerAuthority]) -> Self {
        let this = Self(tempfile::tempdir().unwrap());
        this.renew(signed_by, NAME, trusted);
        this
    }

    /// Writes another certificate.
    fn renew(&self, signed_by: &PeerAuthority, name: &str, trusted: &[&PeerAuthority]) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new([name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &signed_by.0).unwrap();
        let trusted: String = trusted.iter().map(|it| it.0.pem()).collect();
        std::fs::write(self.path("cert.pem"), certificate.pem()).unwrap();
        std::fs::write(self.path("key.pem"), key.serialize_pem()).unwrap();
        std::fs::write(self.path("ca.pem"), trusted).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn configure(&self, config: &mut Config) {
        config.cluster.cluster_tls_cert = Some(self.path("cert.pem"));
        config.cluster.cluster_tls_key = Some(self.path("key.pem"));
        config.cluster.cluster_tls_ca = Some(self.path("ca.pem"));
    }
}

/// Starts two bridges with these files, and the page at the first.
async fn start_with_files(files: [&PeerFiles; 2]) -> (Bridges, Page) {
    let configure = |number: usize, config: &mut Config| files[number].configure(config);
    let bridges = Bridges::start_with(2, configure).await;
    let page = Page::with_tools(&bridges.nodes[0], "s", &[echo_tool()]).await;
    (bridges, page)
}

#[tokio::test]
async fn bridges_with_certificates_of_one_authority_reach_each_other() {
    let authority = PeerAuthority::new();
    let files = [(); 2].map(|()| PeerFiles::new(&authority, &[&authority]));
    let (bridges, _page) = start_with_files(files.each_ref()).await;
    let (owner, edge) = bridges.owner_and_edge();
    let view = bridges.directory().await;
    for bridge in [owner, edge] {
        view.wait_for_node(bridge, |it| it.reaches.len() == 1).await;
    }
    let mut page = Page::with_tools(edge, "t", &[json!({ "name": "other" })]).await;
    for bridge in [owner, edge] {
        let text = "x".repeat(1_000_000);
        let call = post_tool_call(bridge, "other", json!({ "text": text }));
        let ((status, answer), ()) = tokio::join!(call, page.echo_call());
        assert_eq!(status, 200);
        assert!(answer["structuredContent"]["text"] == text.as_str());
    }
    assert_eq!(tunnels(edge, "edge").await, 1.0);
    let series = scrape(owner).await;
    let expires =
        series["mcp_web_tls_certificate_expiry_timestamp_seconds{setting=\"cluster_tls_cert\"}"];
    // rcgen's default is the year 4096.
    assert!(expires > 4e9, "{expires}");
}

/// The status of a call at the second bridge, which does not reach the page of the first.
async fn status_of_unreachable_owner(bridges: &Bridges) -> u16 {
    let edge = &bridges.nodes[1];
    let request = http_client().get(format!("{}/tools", edge.url()));
    let response = request.bearer_auth(TOKEN).send().await.unwrap();
    let status = response.status().as_u16();
    assert_eq!(forwards(edge, "ok").await, 0.0);
    let mut page = Page::open(edge, "t", None).await;
    page.authenticate("t", TOKEN).await;
    assert_eq!(page.recv_close().await.0, 1012);
    status
}

#[tokio::test]
async fn a_bridge_of_another_authority_is_not_trusted() {
    let (ours, other) = (PeerAuthority::new(), PeerAuthority::new());
    let right = PeerFiles::new(&ours, &[&ours]);
    let foreign = PeerFiles::new(&other, &[&other]);
    let (bridges, _page) = start_with_files([&right, &foreign]).await;
    let status = status_of_unreachable_owner(&bridges).await;
    assert!([502, 503].contains(&status), "{status}");
    // The name is checked as well.
    let named = PeerFiles::new(&ours, &[&ours]);
    named.renew(&ours, OTHER_NAME, &[&ours]);
    let files = [&named, &right];
    let bridges = Bridges::start_with(2, |number, config| {
        files[number].configure(config);
        if number == 0 {
            config.cluster.cluster_tls_name = OTHER_NAME.to_owned();
        }
    })
    .await;
    let _page = Page::with_tools(&bridges.nodes[0], "s", &[echo_tool()]).await;
    assert_eq!(status_of_unreachable_owner(&bridges).await, 503);
}

#[tokio::test]
async fn a_bridge_whose_certificate_all_others_would_refuse_does_not_start() {
    let (ours, other) = (PeerAuthority::new(), PeerAuthority::new());
    let named = PeerFiles::new(&ours, &[&ours]);
    named.renew(&ours, OTHER_NAME, &[&ours]);
    let nats = NatsServer::start();
    for (files, reason) in [
        // The authorities have the same name.
        (PeerFiles::new(&ours, &[&other]), "BadSignature"),
        (PeerFiles::new(&other, &[&ours]), "BadSignature"),
        (named, "not valid for name \"mcp-web\""),
    ] {
        let mut config = node_config(&nats);
        files.configure(&mut config);
        let error = start_error(config).await.to_string();
        assert!(error.contains("`cluster_tls_cert`"), "{error}");
        assert!(error.contains(reason), "{error}");
    }
}

#[tokio::test]
async fn a_certificate_between_bridges_is_loaded_again() {
    let (old, new) = (PeerAuthority::new(), PeerAuthority::new());
    let files = PeerFiles::new(&old, &[&old]);
    let bridges = Bridges::start_with(1, |_, config| files.configure(config)).await;
    let mut page = Page::with_tools(&bridges.nodes[0], "s", &[echo_tool()]).await;
    // Its authority is unknown to the other bridge until that loads its files again.
    let of_program = PeerFiles::new(&new, &[&new]);
    let arguments = [
        "--cluster".to_owned(),
        bridges.nats.url(),
        "--cluster-secret".to_owned(),
        CLUSTER_SECRET.to_owned(),
        "--cluster-bind=127.0.0.1:0".to_owned(),
        "--cluster-tls-cert".to_owned(),
        of_program.path("cert.pem").display().to_string(),
        "--cluster-tls-key".to_owned(),
        of_program.path("key.pem").display().to_string(),
        "--cluster-tls-ca".to_owned(),
        of_program.path("ca.pem").display().to_string(),
    ];
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let mut program = RunningBridge::start(&arguments).await;
    wait_for_metrics(&bridges.nodes[0], "the program", |metrics| {
        metrics["mcp_web_cluster_nodes{state=\"serving\"}"] == 1.0
    })
    .await;
    program
        .recv_log("another bridge of the cluster is there")
        .await;
    let (status, _) = post_tool_call_to(&program.url, TOKEN, "echo", json!({})).await;
    assert_eq!(status, 503);
    of_program.renew(&old, NAME, &[&old]);
    // Without a signal: the files are watched.
    program.recv_log("is valid until").await;
    let call = post_tool_call_to(&program.url, TOKEN, "echo", json!({ "n": 1 }));
    let ((status, answer), ()) = tokio::join!(call, page.echo_call());
    assert_eq!(status, 200, "{answer}");
}

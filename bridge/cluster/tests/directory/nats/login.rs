//! How a node logs in, and what it reports when it cannot.

use std::fs;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bridge_cluster::{NatsDirectory, NatsServer, NatsSettings, NodeId};
use bridge_settings::Secret;
use nkeys::KeyPair;

use super::{connect, realm, refusal, settings, settings_of, start};
use crate::contract::Events;

#[tokio::test]
async fn a_wrong_password_is_reported_without_it() {
    let server = NatsServer::start_with("authorization { user: bridge, password: right }");
    let login = |password: &str| NatsSettings {
        user: Some("bridge".to_owned()),
        password: Some(Secret::from_trusted(password.to_owned())),
        ..settings_of(&server)
    };
    let right = login("right");
    let mut node = start(login("hush"));
    let text = refusal(&mut node).await;
    assert!(
        text.contains("cluster_nats_password") && !text.contains("hush"),
        "{text}"
    );
    connect(right).await;
}

#[tokio::test]
async fn the_server_of_a_tls_address_has_a_certificate_of_the_ca() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let certificate = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let other = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    fs::write(path("server.pem"), certificate.cert.pem()).unwrap();
    fs::write(path("server.key"), certificate.signing_key.serialize_pem()).unwrap();
    fs::write(path("other.pem"), other.cert.pem()).unwrap();
    let server = NatsServer::start_with(&format!(
        "tls {{ cert_file: {:?}, key_file: {:?} }}",
        path("server.pem"),
        path("server.key")
    ));
    let tls = |ca: &str| NatsSettings {
        servers: vec![server.url().replace("nats://127.0.0.1", "tls://localhost")],
        ca: Some(path(ca)),
        ..settings_of(&server)
    };
    let node = connect(tls("server.pem")).await;
    assert_eq!(node.directory.find(&realm(1)).await, Ok(None));
    let text = refusal(&mut start(tls("other.pem"))).await;
    assert!(text.contains("cluster_nats_ca"), "{text}");
}

#[tokio::test]
async fn a_credentials_file_is_enough() {
    let operator = KeyPair::new_operator();
    let [system, account] = [(); 2].map(|()| KeyPair::new_account());
    let user = KeyPair::new_user();
    let limits = r#""subs":-1,"data":-1,"payload":-1"#;
    let account_limits =
        format!(r#"{limits},"conn":-1,"leaf":-1,"imports":-1,"exports":-1,"wildcards":true"#);
    let jetstream = r#""mem_storage":-1,"disk_storage":-1,"streams":-1,"consumer":-1"#;
    let operator_jwt = jwt(&operator, &operator, r#""type":"operator""#);
    let system_claims = format!(r#""type":"account","limits":{{{account_limits}}}"#);
    let system_jwt = jwt(&system, &operator, &system_claims);
    let account_claims = format!(r#""type":"account","limits":{{{account_limits},{jetstream}}}"#);
    let account_jwt = jwt(&account, &operator, &account_claims);
    let user_jwt = jwt(&user, &account, &format!(r#""type":"user",{limits}"#));
    let (system, account) = (system.public_key(), account.public_key());
    let server = NatsServer::start_with(&format!(
        "operator: {operator_jwt}\nsystem_account: {system}\nresolver: MEMORY\n\
         resolver_preload: {{ {system}: {system_jwt}, {account}: {account_jwt} }}"
    ));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("user.creds");
    let seed = user.seed().unwrap();
    let text = format!(
        "-----BEGIN NATS USER JWT-----\n{user_jwt}\n------END NATS USER JWT------\n\n\
         -----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
    );
    fs::write(&file, text).unwrap();
    let credentials = NatsSettings {
        credentials: Some(file),
        ..settings_of(&server)
    };
    let node = connect(credentials).await;
    assert_eq!(node.directory.find(&realm(1)).await, Ok(None));
    let text = refusal(&mut start(settings_of(&server))).await;
    assert!(text.contains("cluster_nats_credentials"), "{text}");
}

/// Returns a token of a key, signed by another, with these claims of NATS.
fn jwt(subject: &KeyPair, issuer: &KeyPair, claims: &str) -> String {
    let header = r#"{"typ":"JWT","alg":"ed25519-nkey"}"#;
    let (issuer_key, subject_key) = (issuer.public_key(), subject.public_key());
    let payload = format!(
        r#"{{"jti":"1","iat":1,"iss":"{issuer_key}","sub":"{subject_key}","name":"test",
            "nats":{{{claims},"version":2}}}}"#
    );
    let [header, payload] = [header, &payload].map(|part| URL_SAFE_NO_PAD.encode(part));
    let signed = format!("{header}.{payload}");
    let signature = issuer.sign(signed.as_bytes()).unwrap();
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

#[tokio::test]
async fn wrong_settings_are_refused_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "nothing").unwrap();
    let valid = NatsSettings {
        servers: vec!["tls://a.example:4222".to_owned()],
        ..settings(&[])
    };
    let refused = |settings: NatsSettings| {
        let (observer, _) = Events::new();
        let observer = Arc::new(observer);
        NatsDirectory::start(settings, NodeId::from_bytes([0; 16]), observer).unwrap_err()
    };
    let servers = NatsSettings {
        servers: Vec::new(),
        ..valid.clone()
    };
    let password = NatsSettings {
        user: Some("me".to_owned()),
        ..valid.clone()
    };
    let credentials = NatsSettings {
        credentials: Some(file.clone()),
        ..valid.clone()
    };
    let ca = NatsSettings {
        ca: Some(file),
        ..valid.clone()
    };
    let missing_ca = NatsSettings {
        ca: Some(folder.path().join("none")),
        ..valid
    };
    for (setting, settings) in [
        ("cluster must", servers),
        ("cluster_nats_password", password),
        ("cluster_nats_credentials", credentials),
        ("cluster_nats_ca", ca),
        ("cluster_nats_ca", missing_ca),
    ] {
        let error = refused(settings);
        assert!(error.contains(setting), "{error}");
    }
}

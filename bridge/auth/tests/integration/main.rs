//! Tests of the authenticator with a real key server, which is down, slow, or rotates its keys.
#![allow(clippy::unwrap_used)]

mod key_server;
mod signer;

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bridge_auth::jwks::MISS_INTERVAL;
use bridge_auth::{AuthError, Authenticator, JwtSettings, Principal};
use bridge_edge::ClientAddress;
use bridge_protocol::ErrorCode;
use futures_util::future::join_all;
use serde_json::json;

use key_server::{KeyAnswer, KeyServer};
use signer::{AUDIENCE, ISSUER, Signer, with_kid};

/// Something that must happen takes less.
const DEADLINE: Duration = Duration::from_secs(60);

fn authenticator(url: &str) -> Arc<Authenticator> {
    let settings = JwtSettings {
        jwks_url: Some(url.to_owned()),
        issuer: Some(ISSUER.to_owned()),
        audience: vec![AUDIENCE.to_owned()],
        ..JwtSettings::default()
    };
    let authenticator = Authenticator::new(&[], &[settings]).unwrap();
    authenticator.start();
    Arc::new(authenticator)
}

async fn verify(
    authenticator: &Authenticator,
    token: &str,
    client: u32,
) -> Result<Principal, AuthError> {
    let client: ClientAddress = IpAddr::from(Ipv4Addr::from_bits(client)).into();
    let verified = authenticator.verify(Some(token), client);
    tokio::time::timeout(DEADLINE, verified).await.unwrap()
}

fn code(verified: Result<Principal, AuthError>) -> ErrorCode {
    verified.unwrap_err().code
}

#[tokio::test]
async fn keys_are_missing_while_their_server_is_down_and_used_when_it_is_up() {
    let key = Signer::new("key");
    let (url, listener) = KeyServer::reserve_address();
    let authenticator = authenticator(&url);
    let token = key.token("ada");
    let refused = verify(&authenticator, &token, 1).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::AuthenticationUnavailable);
    assert_eq!(refused.retry_after(), Some(MISS_INTERVAL));
    assert!(authenticator.lacks_keys());
    // A token of another issuer is invalid without any key.
    let foreign = key.sign(&json!({ "iss": "https://else.test", "sub": "ada" }));
    assert_eq!(
        code(verify(&authenticator, &foreign, 1).await),
        ErrorCode::InvalidAuthentication
    );

    let _server = KeyServer::start_on(listener, KeyAnswer::keys(&[&key]));
    let begin = Instant::now();
    while verify(&authenticator, &token, 1).await.is_err() {
        assert!(begin.elapsed() < DEADLINE);
        tokio::task::yield_now().await;
    }
    assert!(!authenticator.lacks_keys());
    let [status] = authenticator.key_sets()[..] else {
        panic!("one set of keys");
    };
    assert!(status.failed_fetches >= 1 && status.issuer == 1);
    assert!(status.age <= begin.elapsed());
}

#[tokio::test]
async fn tokens_wait_for_a_slow_server() {
    let key = Signer::new("key");
    let server = KeyServer::start(KeyAnswer::keys(&[&key]));
    let answer = server.hold_answers();
    let authenticator = authenticator(&server.url);
    let tokens: Vec<_> = (0..100)
        .map(|it| key.token(&format!("user-{it}")))
        .collect();
    let verified = join_all(tokens.iter().map(|it| verify(&authenticator, it, 1)));
    let release = async {
        server.wait_for_requests(1).await;
        drop(answer);
    };
    let (verified, ()) = tokio::join!(verified, release);
    assert!(verified.iter().all(Result::is_ok));
    assert_eq!(server.request_count(), 1);
}

#[tokio::test]
async fn a_token_that_has_waited_for_its_key_is_not_verified_by_former_rules() {
    let key = Signer::new("key");
    let server = KeyServer::start(KeyAnswer::keys(&[&key]));
    let answer = server.hold_answers();
    let authenticator = authenticator(&server.url);
    let token = key.token("ada");
    let replacing = async {
        server.wait_for_requests(1).await;
        let listed = ["listed-token-0123456789".to_owned()];
        let other = Authenticator::new(&listed, &[]).unwrap();
        let other = other.prepare_to_replace(&authenticator).await;
        authenticator.replace(other.unwrap());
        drop(answer);
    };
    let (verified, ()) = tokio::join!(biased; verify(&authenticator, &token, 1), replacing);
    assert_eq!(code(verified), ErrorCode::InvalidAuthentication);
}

/// The stranger has one address and sends 10,000 tokens with made-up keys while the keys rotate.
#[tokio::test]
async fn a_stranger_with_made_up_keys_does_not_delay_a_rotation() {
    let (old, new) = (Signer::new("old"), Signer::new("new"));
    let server = KeyServer::start(KeyAnswer::keys(&[&old]));
    let authenticator = authenticator(&server.url);
    assert!(verify(&authenticator, &old.token("ada"), 1).await.is_ok());
    let (begin, eve) = (Instant::now(), old.token("eve"));
    let made_up: Vec<_> = (0..10_000)
        .map(|number| with_kid(&eve, &format!("made-up-{number}")))
        .collect();
    let stranger = join_all(made_up.iter().map(|it| verify(&authenticator, it, 2)));
    server.answer_with(KeyAnswer::keys(&[&old, &new]));
    let users: Vec<_> = (0..100)
        .map(|it| new.token(&format!("user-{it}")))
        .collect();
    let users = join_all(users.iter().map(|it| verify(&authenticator, it, 1)));
    let sent = Instant::now();
    let (strangers, (users, waited)) = tokio::join!(biased; stranger, async {
        let users = users.await;
        (users, sent.elapsed())
    });
    let refused = users.iter().filter(|it| it.is_err()).count();
    assert_eq!(refused, 0, "of 100 users");
    // The rest is for a machine that is busy with other tests.
    assert!(waited <= 2 * MISS_INTERVAL, "{waited:?}");
    let invalid = strangers.into_iter().map(code);
    let invalid = invalid.filter(|code| *code == ErrorCode::InvalidAuthentication);
    assert!(
        (1..=128).contains(&invalid.count()),
        "the others had no place"
    );
    let fetches = server.request_count() as u64;
    let intervals = begin.elapsed().as_secs() / MISS_INTERVAL.as_secs();
    assert!((2..=intervals + 2).contains(&fetches), "{fetches}");
}

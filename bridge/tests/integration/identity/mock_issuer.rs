//! An issuer of tokens: keys made for one test, and a server that publishes them.

use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bridge::{Config, Identity};
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header};
use serde_json::{Value, json};

use crate::kit::*;

pub(super) const ISSUER: &str = "https://issuer.test";
pub(super) const AUDIENCE: &str = "https://bridge.test/mcp";
pub(super) const SECRET: &str = "test-secret-of-no-other-use-0123456789";
pub(super) const EVERYTHING: &str = "page tools:read tools:call query";

const RSA_TEST_KEYS: [&str; 2] = [
    include_str!("test-keys/rsa-1.pem"),
    include_str!("test-keys/rsa-2.pem"),
];

/// A key that signs.
pub(super) struct Signer {
    pub(super) algorithm: Algorithm,
    pub(super) kid: Option<&'static str>,
    private: EncodingKey,
    /// The public part as PEM.
    pub(super) pem: String,
}

impl Signer {
    pub(super) fn hs256() -> Self {
        Self {
            algorithm: Algorithm::HS256,
            kid: None,
            private: EncodingKey::from_secret(SECRET.as_bytes()),
            pem: String::new(),
        }
    }

    pub(super) fn es256(kid: Option<&'static str>) -> Self {
        let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).unwrap();
        Self {
            algorithm: Algorithm::ES256,
            kid,
            private: EncodingKey::from_ec_pem(key.serialize_pem().as_bytes()).unwrap(),
            pem: key.public_key_pem(),
        }
    }

    pub(super) fn eddsa(kid: Option<&'static str>) -> Self {
        let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).unwrap();
        Self {
            algorithm: Algorithm::EdDSA,
            kid,
            private: EncodingKey::from_ed_pem(key.serialize_pem().as_bytes()).unwrap(),
            pem: key.public_key_pem(),
        }
    }

    /// One of the two test keys: making one takes seconds.
    pub(super) fn rs256(which: usize, kid: Option<&'static str>) -> Self {
        let pem = RSA_TEST_KEYS[which];
        let key = rcgen::KeyPair::from_pem(&pem[pem.find("-----").unwrap()..]).unwrap();
        Self {
            algorithm: Algorithm::RS256,
            kid,
            private: EncodingKey::from_rsa_pem(pem.as_bytes()).unwrap(),
            pem: key.public_key_pem(),
        }
    }

    /// One of each algorithm with a public key.
    pub(super) fn public_ones() -> [Self; 3] {
        let (rsa, ec, ed) = (Some("rsa"), Some("ec"), Some("ed"));
        [Self::rs256(0, rsa), Self::es256(ec), Self::eddsa(ed)]
    }

    pub(super) fn header(&self) -> Header {
        Header {
            kid: self.kid.map(str::to_owned),
            ..Header::new(self.algorithm)
        }
    }

    pub(super) fn sign(&self, claims: &Value) -> String {
        self.sign_under(&self.header(), claims)
    }

    pub(super) fn sign_under(&self, header: &Header, claims: &Value) -> String {
        jsonwebtoken::encode(header, claims, &self.private).unwrap()
    }

    /// A token of everything that there is, for ten minutes.
    pub(super) fn token(&self, sub: &str) -> String {
        self.sign(&claims(sub, EVERYTHING, 600.0))
    }

    /// The public part as JWK.
    pub(super) fn jwk(&self) -> Value {
        let pem = self.pem.as_bytes();
        let public = match self.algorithm {
            Algorithm::RS256 => DecodingKey::from_rsa_pem(pem),
            Algorithm::ES256 => DecodingKey::from_ec_pem(pem),
            _ => DecodingKey::from_ed_pem(pem),
        };
        let mut jwk = Jwk::from_decoding_key(&public.unwrap(), Some(self.algorithm)).unwrap();
        jwk.common.key_id = self.kid.map(str::to_owned);
        serde_json::to_value(jwk).unwrap()
    }
}

/// Claims that a bridge of these tests accepts for so many seconds.
pub(super) fn claims(sub: &str, scope: &str, seconds: f64) -> Value {
    json!({ "iss": ISSUER, "aud": AUDIENCE, "sub": sub, "scope": scope, "exp": unix() + seconds })
}

pub(super) fn unix() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs_f64()
}

/// A token of these parts, whatever they are.
pub(super) fn made_of(header: &Value, claims: &Value, signature: &str) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}.{signature}", part(header), part(claims))
}

pub(super) fn set_of(keys: &[Value]) -> Value {
    json!({ "keys": keys })
}

/// Settings of a bridge that trusts this issuer, with the keys that the test adds.
pub(super) fn trusting(identity: Identity) -> Config {
    let identity = Identity {
        jwt_issuer: Some(ISSUER.to_owned()),
        jwt_audience: vec![AUDIENCE.to_owned()],
        jwt_leeway: std::time::Duration::ZERO,
        ..identity
    };
    Config {
        identity,
        ..test_config()
    }
}

/// The same with the secret.
pub(super) fn trusting_secret() -> Config {
    trusting(Identity {
        jwt_secret: Some(SECRET.parse().unwrap()),
        ..Identity::default()
    })
}

/// The same with a file of keys.
pub(super) fn trusting_file(text: &str) -> (Config, tempfile::TempPath) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let path = file.into_temp_path();
    let config = trusting(Identity {
        jwt_keys: Some(path.to_path_buf()),
        ..Identity::default()
    });
    (config, path)
}

/// `GET /tools`: status, the code of the refusal, and the challenge.
pub(super) async fn knocks(url: &str, token: &str) -> (u16, String, String) {
    let request = http_client().get(format!("{url}/tools")).bearer_auth(token);
    let response = with_deadline("answer", request.send()).await.unwrap();
    let status = response.status().as_u16();
    let challenge = response.headers().get("www-authenticate");
    let challenge = challenge.map_or(String::new(), |text| text.to_str().unwrap().to_owned());
    let body: Value = response.json().await.unwrap();
    let code = body["error"].as_str().unwrap_or_default();
    (status, code.to_owned(), challenge)
}

/// A server that publishes keys.
pub(super) struct KeyServer {
    pub(super) url: String,
    state: Arc<Mutex<(Answer, usize)>>,
    server: tokio::task::JoinHandle<()>,
}

#[derive(Clone)]
pub(super) enum Answer {
    Keys(Value),
    Text(String),
    Status(u16),
    Redirect(String),
    Never,
}

impl KeyServer {
    pub(super) async fn start(answer: Answer) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self::on(listener, answer)
    }

    pub(super) fn on(listener: tokio::net::TcpListener, answer: Answer) -> Self {
        let url = format!("http://{}/jwks.json", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new((answer, 0)));
        let asked = Arc::clone(&state);
        let route = get(move || {
            let mut state = asked.lock().unwrap();
            state.1 += 1;
            response(state.0.clone())
        });
        let routes = Router::new().route("/jwks.json", route);
        let server = tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self { url, state, server }
    }

    pub(super) fn address(&self) -> std::net::SocketAddr {
        let address = self.url.strip_prefix("http://").unwrap();
        address.split('/').next().unwrap().parse().unwrap()
    }

    pub(super) fn answers(&self, answer: Answer) {
        self.state.lock().unwrap().0 = answer;
    }

    /// How often it was asked.
    pub(super) fn asked(&self) -> usize {
        self.state.lock().unwrap().1
    }

    pub(super) fn trusted(&self) -> Config {
        trusting(Identity {
            jwks_url: Some(self.url.clone()),
            ..Identity::default()
        })
    }
}

async fn response(answer: Answer) -> Response {
    match answer {
        Answer::Never => std::future::pending().await,
        Answer::Keys(keys) => axum::Json(keys).into_response(),
        Answer::Text(text) => text.into_response(),
        Answer::Status(status) => axum::http::StatusCode::from_u16(status)
            .unwrap()
            .into_response(),
        Answer::Redirect(to) => axum::response::Redirect::temporary(&to).into_response(),
    }
}

impl Drop for KeyServer {
    fn drop(&mut self) {
        self.server.abort();
    }
}

//! A mock issuer of signed tokens: its keys, and a server that publishes them.

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
pub(super) const ALL_SCOPES: &str = "page tools:read tools:call query";

const RSA_TEST_KEYS: [&str; 2] = [
    include_str!("test-keys/rsa-1.pem"),
    include_str!("test-keys/rsa-2.pem"),
];

/// A key that signs tokens.
pub(super) struct Signer {
    pub(super) algorithm: Algorithm,
    pub(super) kid: Option<&'static str>,
    private: EncodingKey,
    /// The public key as PEM.
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

    /// A signer with one of the two stored keys, because generating an RSA key takes seconds.
    pub(super) fn rs256(index: usize, kid: Option<&'static str>) -> Self {
        let pem = RSA_TEST_KEYS[index];
        let key = rcgen::KeyPair::from_pem(&pem[pem.find("-----").unwrap()..]).unwrap();
        Self {
            algorithm: Algorithm::RS256,
            kid,
            private: EncodingKey::from_rsa_pem(pem.as_bytes()).unwrap(),
            pem: key.public_key_pem(),
        }
    }

    /// A signer for each algorithm with a public key.
    pub(super) fn all_asymmetric() -> [Self; 3] {
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
        self.sign_with_header(&self.header(), claims)
    }

    pub(super) fn sign_with_header(&self, header: &Header, claims: &Value) -> String {
        jsonwebtoken::encode(header, claims, &self.private).unwrap()
    }

    /// A token with every scope, valid for ten minutes.
    pub(super) fn token(&self, sub: &str) -> String {
        self.sign(&claims(sub, ALL_SCOPES, 600.0))
    }

    /// The public key as JWK.
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

/// Claims that a bridge of these tests accepts for this number of seconds.
pub(super) fn claims(sub: &str, scope: &str, seconds: f64) -> Value {
    json!({ "iss": ISSUER, "aud": AUDIENCE, "sub": sub, "scope": scope, "exp": unix() + seconds })
}

pub(super) fn unix() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs_f64()
}

/// Joins the parts of a token without signing it.
pub(super) fn join_token(header: &Value, claims: &Value, signature: &str) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}.{signature}", part(header), part(claims))
}

pub(super) fn jwk_set(keys: &[Value]) -> Value {
    json!({ "keys": keys })
}

/// The configuration of a bridge that trusts this issuer, with the keys that `identity` names.
pub(super) fn trusting_config(identity: Identity) -> Config {
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

/// The configuration of a bridge that trusts tokens signed with [`SECRET`].
pub(super) fn config_with_secret() -> Config {
    trusting_config(Identity {
        jwt_secret: Some(SECRET.parse().unwrap()),
        ..Identity::default()
    })
}

/// The configuration of a bridge that trusts the keys in a file with this content, and the path of
/// the file, which is removed when it is dropped.
pub(super) fn config_with_key_file(text: &str) -> (Config, tempfile::TempPath) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let path = file.into_temp_path();
    let config = trusting_config(Identity {
        jwt_keys: Some(path.to_path_buf()),
        ..Identity::default()
    });
    (config, path)
}

/// Requests `GET /tools` and returns the status, the error code and the challenge.
pub(super) async fn get_tools(url: &str, token: &str) -> (u16, String, String) {
    let request = http_client().get(format!("{url}/tools")).bearer_auth(token);
    let response = with_deadline("response", request.send()).await.unwrap();
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
    /// The response to the next requests, and the number of requests so far.
    state: Arc<Mutex<(KeyResponse, usize)>>,
    server: tokio::task::JoinHandle<()>,
}

/// The response of the key server to requests.
#[derive(Clone)]
pub(super) enum KeyResponse {
    Keys(Value),
    Text(String),
    Status(u16),
    Redirect(String),
    Never,
}

impl KeyServer {
    pub(super) async fn start(response: KeyResponse) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self::on(listener, response)
    }

    pub(super) fn on(listener: tokio::net::TcpListener, response: KeyResponse) -> Self {
        let url = format!("http://{}/jwks.json", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new((response, 0)));
        let shared = Arc::clone(&state);
        let route = get(move || {
            let mut state = shared.lock().unwrap();
            state.1 += 1;
            to_http(state.0.clone())
        });
        let routes = Router::new().route("/jwks.json", route);
        let server = tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self { url, state, server }
    }

    pub(super) fn address(&self) -> std::net::SocketAddr {
        let address = self.url.strip_prefix("http://").unwrap();
        address.split('/').next().unwrap().parse().unwrap()
    }

    pub(super) fn set_response(&self, response: KeyResponse) {
        self.state.lock().unwrap().0 = response;
    }

    /// The number of requests so far.
    pub(super) fn request_count(&self) -> usize {
        self.state.lock().unwrap().1
    }

    pub(super) fn trusting_config(&self) -> Config {
        trusting_config(Identity {
            jwks_url: Some(self.url.clone()),
            ..Identity::default()
        })
    }
}

async fn to_http(response: KeyResponse) -> Response {
    match response {
        KeyResponse::Never => std::future::pending().await,
        KeyResponse::Keys(keys) => axum::Json(keys).into_response(),
        KeyResponse::Text(text) => text.into_response(),
        KeyResponse::Status(status) => axum::http::StatusCode::from_u16(status)
            .unwrap()
            .into_response(),
        KeyResponse::Redirect(to) => axum::response::Redirect::temporary(&to).into_response(),
    }
}

impl Drop for KeyServer {
    fn drop(&mut self) {
        self.server.abort();
    }
}

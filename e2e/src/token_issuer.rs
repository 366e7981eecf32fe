//! An issuer of signed tokens, like the backend of an app.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::response::IntoResponse;
use axum::routing::get;
use http::StatusCode;
use http::header::ACCESS_CONTROL_ALLOW_ORIGIN;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// The secret that signs all tokens of tests.
const SECRET: &str = "a-secret-that-only-tests-may-use-0123456789";

const ISSUER: &str = "https://issuer.example";
const AUDIENCE: &str = "mcp-web";

/// Serves new tokens of one user at `/token`, and at `/issued` the number of issued tokens. It
/// stops when it is dropped.
#[derive(Debug)]
pub struct TokenIssuer {
    url: String,
    state: Arc<State>,
    server: JoinHandle<()>,
}

#[derive(Debug)]
struct State {
    subject: String,
    token_lifetime: Duration,
    issued: AtomicUsize,
    rejects: AtomicBool,
}

impl TokenIssuer {
    /// Starts the server. Its tokens are valid for `token_lifetime`.
    pub async fn start(subject: &str, token_lifetime: Duration) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}/token", listener.local_addr().unwrap());
        let state = Arc::new(State {
            subject: subject.to_owned(),
            token_lifetime,
            issued: AtomicUsize::new(0),
            rejects: AtomicBool::new(false),
        });
        let shared = Arc::clone(&state);
        let issue = async move || shared.respond();
        let shared = Arc::clone(&state);
        let count = async move || {
            let issued = shared.issued.load(Ordering::SeqCst);
            ([(ACCESS_CONTROL_ALLOW_ORIGIN, "*")], issued.to_string())
        };
        let server = tokio::spawn(async move {
            let routes = Router::new()
                .route("/token", get(issue))
                .route("/issued", get(count));
            let _ = axum::serve(listener, routes).await;
        });
        Self { url, state, server }
    }

    /// Returns the arguments with which a bridge accepts the tokens.
    pub fn bridge_arguments() -> [&'static str; 8] {
        [
            "--jwt-secret",
            SECRET,
            "--jwt-issuer",
            ISSUER,
            "--jwt-audience",
            AUDIENCE,
            "--jwt-leeway",
            "0s",
        ]
    }

    /// Returns the URL at which an app fetches a token.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Sets whether requests for tokens are rejected from now on.
    pub fn set_rejecting(&self, rejects: bool) {
        self.state.rejects.store(rejects, Ordering::SeqCst);
    }

    /// Returns a token of the user that is valid for longer than any journey.
    pub fn long_lived_token(&self) -> String {
        Self::token_of(&self.state.subject)
    }

    /// Returns a token of a user that is valid for longer than any test.
    pub fn token_of(subject: &str) -> String {
        sign_token(subject, Duration::from_secs(3600))
    }
}

impl State {
    fn respond(&self) -> impl IntoResponse + use<> {
        let header = [(ACCESS_CONTROL_ALLOW_ORIGIN, "*")];
        if self.rejects.load(Ordering::SeqCst) {
            return (StatusCode::SERVICE_UNAVAILABLE, header, String::new());
        }
        self.issued.fetch_add(1, Ordering::SeqCst);
        (
            StatusCode::OK,
            header,
            sign_token(&self.subject, self.token_lifetime),
        )
    }
}

impl Drop for TokenIssuer {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// Signs a token with all scopes.
pub(crate) fn sign_token(subject: &str, lifetime: Duration) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let claims = json!({
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": subject,
    "exp": (now + lifetime).as_secs_f64(),
        "scope": "page tools:read tools:call query",
        "roles": ["editor"],
    });
    let key = EncodingKey::from_secret(SECRET.as_bytes());
    encode(&Header::new(Algorithm::HS256), &claims, &key).unwrap()
}

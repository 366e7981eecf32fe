//! Tokens and secrets appear neither in the log nor in responses.

use std::io;
use std::sync::{Arc, Mutex};

use serde_json::json;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;

use super::mock_issuer::*;
use crate::kit::*;

/// The complete captured log.
#[derive(Clone, Default)]
pub(super) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// The text that was logged until now.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// Captures the log of this thread, which is the whole log of the bridge in a single-threaded test.
/// Like the program, it omits the frames that the WebSocket library traces.
pub(super) fn capture_log() -> (Log, tracing::subscriber::DefaultGuard) {
    // With a single subscriber in the process, tracing decides whether an event is enabled by the
    // subscriber of the thread that reaches it first, and other test threads have none.
    std::mem::forget(tracing::Dispatch::new(tracing_subscriber::registry()));
    let log = Log::default();
    let frames = tracing_subscriber::filter::filter_fn(|event| {
        !(event.target().starts_with("tungstenite") || event.target().starts_with("tokio_tung"))
    });
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(log.clone())
        .finish()
        .with(frames);
    (log, tracing::subscriber::set_default(subscriber))
}

#[tokio::test]
async fn tokens_are_never_logged_or_echoed() {
    let (log, _guard) = capture_log();
    let key = Signer::es256(Some("key"));
    let issuer = KeyServer::start(KeyResponse::Keys(jwk_set(&[key.jwk()]))).await;
    let mut config = issuer.trusting_config();
    config.identity.jwt_secret = Some(SECRET.parse().unwrap());
    config.tokens = vec!["listed-token-0123456789".to_owned()];
    assert!(!format!("{config:?}").contains(SECRET));
    let bridge = start_bridge_with(config).await;

    let valid = key.token("ada");
    let tokens = [
        valid.clone(),
        Signer::hs256().token("ada"),
        "listed-token-0123456789".to_owned(),
        "unlisted-token-0123456789".to_owned(),
        Signer::es256(Some("unknown")).token("ada"),
        key.sign(&claims("ada", ALL_SCOPES, -5.0)),
        key.sign(&claims("ada", "", 600.0)),
        join_token(&json!({ "alg": "none" }), &claims("ada", "", 600.0), ""),
    ];
    for token in &tokens {
        for method in ["tools/list", "tools/call"] {
            let request = http_client()
                .post(format!("{}/mcp", bridge.url()))
                .bearer_auth(token)
                .json(&rpc_request(1, method, json!({ "name": "echo" })));
            let response = with_deadline("response", request.send()).await.unwrap();
            let challenge = format!("{:?}", response.headers());
            let text = response.text().await.unwrap();
            assert!(
                !text.contains(token) && !challenge.contains(token),
                "{text}"
            );
        }
        let mut page = Page::open(&bridge, "s", None).await;
        page.authenticate("s", token).await;
        let response = format!("{:?}", page.recv().await);
        assert!(!response.contains(token), "{response}");
    }
    let mut page = Page::connect(&bridge, "s", &valid).await;
    for token in &tokens {
        let _ = page.renew(token).await;
    }
    issuer.set_response(KeyResponse::Status(500));
    page.close().await;
    bridge.shutdown().await;

    let logged = log.text();
    assert!(logged.contains("page connected"), "the log was captured");
    for secret in tokens.iter().map(String::as_str).chain([SECRET]) {
        let line = logged.lines().find(|line| line.contains(secret));
        assert_eq!(line, None);
        // The signature alone must not appear either.
        let signature = secret.rsplit('.').next().unwrap();
        if signature.len() > 20 {
            assert!(!logged.contains(signature));
        }
    }
}

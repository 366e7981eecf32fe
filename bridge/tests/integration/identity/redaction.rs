//! Tokens and secrets are neither logged nor repeated.

use std::io;
use std::sync::{Arc, Mutex};

use bridge_protocol::{BridgeToPage, PageToBridge, Renew};
use serde_json::json;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;

use super::mock_issuer::*;
use crate::kit::*;

/// All that is logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

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

/// The runtime of a test has one thread, so all of its bridge logs here. What the program never
/// shows (frames as the WebSocket library traces them) is left out here too.
fn log_everything() -> (Log, tracing::subscriber::DefaultGuard) {
    // While there is one subscriber in a process, tracing asks that of the thread which comes to an
    // event first, whether anybody wants it: in these tests a thread that has none.
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
    let (log, _guard) = log_everything();
    let key = Signer::es256(Some("key"));
    let issuer = KeyServer::start(Answer::Keys(set_of(&[key.jwk()]))).await;
    let mut config = issuer.trusted();
    config.identity.jwt_secret = Some(SECRET.parse().unwrap());
    config.tokens = vec!["listed-token-0123456789".to_owned()];
    assert!(!format!("{config:?}").contains(SECRET));
    let bridge = start_bridge_with(config).await;

    let good = key.token("ada");
    let tokens = [
        good.clone(),
        Signer::hs256().token("ada"),
        "listed-token-0123456789".to_owned(),
        "unlisted-token-0123456789".to_owned(),
        Signer::es256(Some("unknown")).token("ada"),
        key.sign(&claims("ada", EVERYTHING, -5.0)),
        key.sign(&claims("ada", "", 600.0)),
        made_of(&json!({ "alg": "none" }), &claims("ada", "", 600.0), ""),
    ];
    for token in &tokens {
        for method in ["tools/list", "tools/call"] {
            let request = http_client()
                .post(format!("{}/mcp", bridge.url()))
                .bearer_auth(token)
                .json(&rpc_request(1, method, json!({ "name": "echo" })));
            let response = with_deadline("answer", request.send()).await.unwrap();
            let challenge = format!("{:?}", response.headers());
            let text = response.text().await.unwrap();
            assert!(
                !text.contains(token) && !challenge.contains(token),
                "{text}"
            );
        }
        let mut page = Page::open(&bridge, "s", None).await;
        page.authenticate("s", token).await;
        let welcome = format!("{:?}", page.recv().await);
        assert!(!welcome.contains(token), "{welcome}");
    }
    let mut page = Page::connect(&bridge, "s", &good).await;
    for token in &tokens {
        let auth_token = token.clone();
        page.send(PageToBridge::Renew(Renew { auth_token })).await;
        page.recv_matching(|message| match message {
            BridgeToPage::Renewed(_) | BridgeToPage::RenewalFailed(_) => Some(()),
            _ => None,
        })
        .await;
    }
    issuer.answers(Answer::Status(500));
    page.close().await;
    bridge.shutdown().await;

    let logged = String::from_utf8_lossy(&log.0.lock().unwrap()).into_owned();
    assert!(logged.contains("page connected"), "the log is read");
    for secret in tokens.iter().map(String::as_str).chain([SECRET]) {
        let line = logged.lines().find(|line| line.contains(secret));
        assert_eq!(line, None);
        // Nor the part that makes it a credential.
        let signature = secret.rsplit('.').next().unwrap();
        if signature.len() > 20 {
            assert!(!logged.contains(signature));
        }
    }
}

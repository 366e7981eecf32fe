//! The demo with a small trained model, as `cargo xtask demo --local-model` starts it.

use e2e::{Browser, Format, LlamaCpp, TestBed};
use serde_json::json;
use tempfile::TempDir;

use super::demo::wait_for_state;
use crate::{PageToken, open_with_page_token};

const KEY: &str = "a-key-of-the-local-model-0123456789";

#[tokio::test]
async fn a_local_model_answers() {
    let server = LlamaCpp::start(&[
        "--model",
        "smollm2",
        "--context",
        "8192",
        "--slots",
        "1",
        // One word is enough here: this model may repeat itself without an end.
        "--stop",
        " ",
        "--stop",
        ".",
        "--stop",
        "!",
        "--api-key",
        KEY,
    ])
    .await;
    let folder = TempDir::with_prefix("mcp-web-key-").unwrap();
    let key = folder.path().join("key");
    std::fs::write(&key, KEY).unwrap();
    let mut bed = TestBed::demo_with(&[
        "--agent-provider=openai",
        "--agent-model=SmolLM2-135M-Instruct",
        &format!("--agent-base-url={}", server.base_url(Format::OpenAi)),
        &format!("--agent-api-key-file={}", key.display()),
        "--agent-max-output-tokens=1024",
    ])
    .await;
    let browser = Browser::open().await;
    let page = PageToken {
        connected: "mcpWeb.status.state === 'connected'",
        token: "mcpWeb.authToken",
    };
    let url = bed.url();
    open_with_page_token(&browser, &url, &mut bed, page).await;
    let label =
        "document.getElementById('ask-model').textContent.includes('SmolLM2-135M-Instruct')";
    browser.wait_for(label).await;
    let ask = "document.querySelector('mcp-web-ask').ask?.('Say hello in one short sentence.')";
    browser.wait_for(ask).await;
    wait_for_state(&browser, "complete").await;
    let answer =
        "return document.querySelector('mcp-web-ask').shadowRoot.querySelector('.text').innerText";
    let answer = browser.eval(answer, json!(null)).await;
    assert!(!answer.as_str().unwrap().trim().is_empty(), "{answer}");
    assert!(!bed.log().contains(KEY), "keys are not logged");
}

//! A read that answers at once costs the page one message: the answer is the receipt.

use e2e::{Browser, PlainHttp, StaticSite, TestBed};
use serde_json::{Value, json};

use crate::open_app;

/// Adds tools to the page, and records the types of the messages that it sends about calls.
const SET_UP: &str = r#"
    const { mcpWeb } = journey;
    journey.sent = [];
    const send = WebSocket.prototype.send;
    WebSocket.prototype.send = function (frame) {
      const type = /^\{"type":"(call-[a-z]+)"/.exec(frame)?.[1];
      if (type) journey.sent.push(type);
      return send.call(this, frame);
    };
    const tools = {
      read: [{ readOnlyHint: true }, async () => ({ prompt: true })],
      waits: [{ readOnlyHint: true }, async () => {
        if (journey.waits) await new Promise((resolve) => setTimeout(resolve, 1)); // sleep: the handler answers after a task
        return { prompt: false };
      }],
      write: [{ readOnlyHint: false }, async () => ({ prompt: true })],
    };
    await Promise.all(Object.entries(tools).map(([name, [annotations, handler]]) =>
      mcpWeb.addTool({ name, description: name, annotations, handler }).registered));
"#;

const RECEIVED: &str = "call-received";
const RESPONSE: &str = "call-response";

/// Calls a tool, and returns the types of the messages that the page has sent about the call.
async fn messages_of_a_call(browser: &Browser, script: &PlainHttp, tool: &str) -> Value {
    browser.eval("journey.sent.length = 0", json!(null)).await;
    script
        .call(tool, json!({}))
        .await
        .expect("the page answers");
    browser.eval("return journey.sent", json!(null)).await
}

#[tokio::test]
async fn a_read_that_answers_at_once_is_one_message_of_the_page() {
    let (bed, site) = (TestBed::bridge().await, StaticSite::start().await);
    let browser = open_app(&site, &bed).await;
    browser.eval(SET_UP, json!(null)).await;
    let script = PlainHttp::new(&bed);
    let (both, one) = (json!([RECEIVED, RESPONSE]), json!([RESPONSE]));

    for tool in ["read", "waits", "write"] {
        for _ in 0..3 {
            let sent = messages_of_a_call(&browser, &script, tool).await;
            assert_eq!(sent, both, "{tool}");
        }
    }
    for _ in 0..2 {
        assert_eq!(messages_of_a_call(&browser, &script, "read").await, one);
        assert_eq!(messages_of_a_call(&browser, &script, "write").await, both);
    }

    browser.eval("journey.waits = true", json!(null)).await;
    for _ in 0..2 {
        assert_eq!(messages_of_a_call(&browser, &script, "waits").await, both);
    }
}

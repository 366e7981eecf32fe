//! Two people with two pages each. What belongs to one of them says so.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bridge::ServerHandle;
use bridge_protocol::{BridgeToPage, CallId, CallReceived, Kind, PageToBridge};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::mock_issuer::*;
use crate::kit::*;

/// A person, with pages that answer and an MCP session.
pub(super) struct Person {
    pub(super) name: &'static str,
    pub(super) token: String,
    pub(super) client: McpClient,
    pages: [AnsweringPage; 2],
}

impl Person {
    pub(super) async fn come(bridge: &ServerHandle, name: &'static str) -> Self {
        let token = Signer::hs256().token(name);
        let pages = [
            AnsweringPage::open(bridge, name, 1, &token).await,
            AnsweringPage::open(bridge, name, 2, &token).await,
        ];
        let client = McpClient::connect(bridge, &token).await;
        Self {
            name,
            token,
            client,
            pages,
        }
    }

    /// A token of this person for these scopes and so many seconds.
    pub(super) fn token_for(&self, scope: &str, seconds: f64) -> String {
        Signer::hs256().sign(&claims(self.name, scope, seconds))
    }

    /// What only this person may see.
    pub(super) fn secret(&self) -> String {
        secret(self.name)
    }

    /// What the pages were asked so far.
    pub(super) fn asked(&self) -> usize {
        let asked = |page: &AnsweringPage| page.asked.load(Ordering::SeqCst);
        self.pages.iter().map(asked).sum()
    }

    /// Lets the first page say something.
    pub(super) async fn page_says(&self, message: Value) {
        self.pages[0].says.send(message).await.unwrap();
    }
}

pub(super) fn secret(name: &str) -> String {
    format!("SECRET-OF-{}", name.to_uppercase())
}

/// A page in a task of its own, that answers whatever it is asked with its owner's secret.
struct AnsweringPage {
    asked: Arc<AtomicUsize>,
    says: mpsc::Sender<Value>,
    task: JoinHandle<()>,
}

impl AnsweringPage {
    async fn open(bridge: &ServerHandle, name: &str, number: usize, token: &str) -> Self {
        let mut page = Page::connect(bridge, &format!("{name}-{number}"), token).await;
        let description = secret(name);
        let named = |kind: &str| format!("{name}_{kind}_{number}");
        page.register_items(&[
            (
                Kind::Tool,
                json!({ "name": named("tool"), "description": description }),
            ),
            (
                Kind::Prompt,
                json!({ "name": named("prompt"), "description": description,
                    "arguments": [{ "name": "a" }] }),
            ),
            (
                Kind::Resource,
                json!({ "uri": format!("note://{name}/{number}"), "name": description }),
            ),
            (
                Kind::ResourceTemplate,
                json!({ "uriTemplate": format!("card://{name}/{number}/{{id}}"),
                    "name": description }),
            ),
        ])
        .await;
        let asked = Arc::new(AtomicUsize::new(0));
        let (says, said) = mpsc::channel(4);
        let task = tokio::spawn(answer_all(page, description, Arc::clone(&asked), said));
        Self { asked, says, task }
    }
}

impl Drop for AnsweringPage {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer_all(
    mut page: Page,
    secret: String,
    asked: Arc<AtomicUsize>,
    mut said: mpsc::Receiver<Value>,
) {
    loop {
        let frame = tokio::select! {
            message = said.recv() => match message {
                Some(message) => {
                    page.send_json(message).await;
                    continue;
                }
                None => return,
            },
            frame = page.recv_without_deadline() => frame,
        };
        let Some(message) = frame else { return };
        if let Some((id, answer)) = answer_to(message, &secret) {
            asked.fetch_add(1, Ordering::SeqCst);
            let receipt = CallReceived {
                request_id: id.clone(),
            };
            page.send(PageToBridge::CallReceived(receipt)).await;
            page.respond_to(&id, answer).await;
        }
    }
}

fn answer_to(message: BridgeToPage, secret: &str) -> Option<(CallId, Value)> {
    let text = json!({ "type": "text", "text": secret });
    Some(match message {
        BridgeToPage::ToolCall(call) => (call.request_id, json!({ "secret": secret })),
        BridgeToPage::PromptGet(get) => (
            get.request_id,
            json!({ "messages": [{ "role": "user", "content": text }] }),
        ),
        BridgeToPage::ResourceRead(read) => (
            read.request_id,
            json!({ "contents": [{ "uri": read.uri, "text": secret }] }),
        ),
        BridgeToPage::Completion(completion) => {
            (completion.request_id, json!({ "values": [secret] }))
        }
        _ => return None,
    })
}

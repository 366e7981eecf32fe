//! Users with two pages each. All data of a user contains the secret of that user.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bridge::ServerHandle;
use bridge_protocol::{BridgeToPage, CallId, CallReceived, Kind, PageToBridge};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::mock_issuer::*;
use crate::kit::*;

/// A user with pages that serve requests, and an MCP session.
pub(super) struct User {
    pub(super) name: &'static str,
    pub(super) token: String,
    pub(super) client: McpClient,
    pages: [ServingPage; 2],
}

impl User {
    pub(super) async fn connect(bridge: &ServerHandle, name: &'static str) -> Self {
        let token = Signer::hs256().token(name);
        let pages = [
            ServingPage::open(bridge, name, 1, &token).await,
            ServingPage::open(bridge, name, 2, &token).await,
        ];
        let client = McpClient::connect(bridge, &token).await;
        Self {
            name,
            token,
            client,
            pages,
        }
    }

    /// A token of this user with these scopes, valid for this number of seconds.
    pub(super) fn token_for(&self, scope: &str, seconds: f64) -> String {
        Signer::hs256().sign(&claims(self.name, scope, seconds))
    }

    /// The text that only this user may see.
    pub(super) fn secret(&self) -> String {
        secret(self.name)
    }

    /// The number of requests that the pages have received so far.
    pub(super) fn request_count(&self) -> usize {
        let count = |page: &ServingPage| page.request_count.load(Ordering::SeqCst);
        self.pages.iter().map(count).sum()
    }

    /// Sends a message from the first page.
    pub(super) async fn send_from_page(&self, message: Value) {
        self.pages[0].outgoing.send(message).await.unwrap();
    }
}

pub(super) fn secret(name: &str) -> String {
    format!("SECRET-OF-{}", name.to_uppercase())
}

/// A page in its own task, which responds to every request with the secret of its owner.
struct ServingPage {
    request_count: Arc<AtomicUsize>,
    outgoing: mpsc::Sender<Value>,
    task: JoinHandle<()>,
}

impl ServingPage {
    async fn open(bridge: &ServerHandle, name: &str, number: usize, token: &str) -> Self {
        let mut page = Page::connect(bridge, &format!("{name}-{number}"), token).await;
        let description = secret(name);
        let name_of = |kind: &str| format!("{name}_{kind}_{number}");
        page.register_items(&[
            (
                Kind::Tool,
                json!({ "name": name_of("tool"), "description": description }),
            ),
            (
                Kind::Prompt,
                json!({ "name": name_of("prompt"), "description": description,
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
        let request_count = Arc::new(AtomicUsize::new(0));
        let (outgoing, messages) = mpsc::channel(4);
        let counter = Arc::clone(&request_count);
        let task = tokio::spawn(serve(page, description, counter, messages));
        Self {
            request_count,
            outgoing,
            task,
        }
    }
}

impl Drop for ServingPage {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(
    mut page: Page,
    secret: String,
    request_count: Arc<AtomicUsize>,
    mut outgoing: mpsc::Receiver<Value>,
) {
    loop {
        let message = tokio::select! {
            message = outgoing.recv() => match message {
                Some(message) => {
                    page.send_json(message).await;
                    continue;
                }
                None => return,
            },
            message = page.recv_without_deadline() => message,
        };
        let Some(message) = message else { return };
        if let Some((id, result)) = result_for(message, &secret) {
            request_count.fetch_add(1, Ordering::SeqCst);
            let receipt = CallReceived {
                request_id: id.clone(),
            };
            page.send(PageToBridge::CallReceived(receipt)).await;
            page.respond_to(&id, result).await;
        }
    }
}

/// The result for a request to the page; `None` for other messages.
fn result_for(message: BridgeToPage, secret: &str) -> Option<(CallId, Value)> {
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

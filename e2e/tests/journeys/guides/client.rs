//! A real MCP client that performs a transcript.

use std::sync::Mutex;

use e2e::{Era, with_deadline};
use http::{HeaderName, HeaderValue};
use rmcp::RoleClient;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ClientRequest, ClientResult, ErrorData, Implementation,
    ProtocolVersion, ServerNotification, ServerRequest, SubscriptionFilter,
};
use rmcp::service::{
    ClientLifecycleMode, ClientServiceExt, NotificationContext, PeerRequestOptions, RequestContext,
    RequestHandle, RunningService, Service, ServiceError,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::matching::{Bindings, difference, substitute};
use super::{Answer, Transcript};

/// The client of one conversation.
pub(super) struct GuideClient {
    service: RunningService<RoleClient, ForwardingHandler>,
    messages: mpsc::UnboundedReceiver<ServerMessage>,
    in_flight: Option<RequestHandle<RoleClient>>,
    open_request: Option<oneshot::Sender<Answer>>,
    /// Requests of the server that arrived before the guide shows them.
    unmatched: Vec<ServerMessage>,
    bindings: Bindings,
    subscriptions: Vec<JoinHandle<()>>,
}

/// A notification, or a request with the sender for its answer.
struct ServerMessage {
    message: Value,
    answer: Option<oneshot::Sender<Answer>>,
}

impl GuideClient {
    pub(super) async fn connect(server: &Value, transcript: &Transcript) -> Self {
        let (sender, messages) = mpsc::unbounded_channel();
        let handler = ForwardingHandler {
            capabilities: capabilities(transcript.capable),
            messages: Mutex::new(sender),
        };
        let mode = match transcript.era {
            Era::Initialize => ClientLifecycleMode::Initialize,
            Era::Discover => ClientLifecycleMode::Discover {
                preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            },
        };
        let connecting = handler.serve_with_lifecycle(transport(server), mode);
        let service = with_deadline("the guide's client to connect", connecting).await;
        Self {
            service: service.unwrap_or_else(|error| panic!("{error}")),
            messages,
            in_flight: None,
            open_request: None,
            unmatched: Vec::new(),
            bindings: Bindings::new(),
            subscriptions: Vec::new(),
        }
    }

    /// Sends a request, whose answer [`Self::expect_answer`] waits for.
    pub(super) async fn request(&mut self, method: &str, params: &Value) {
        assert!(
            self.in_flight.is_none(),
            "the guide shows no answer to the request before {method}"
        );
        let params = substitute(params, &self.bindings);
        if method == "subscriptions/listen" {
            return self.subscribe(&params).await;
        }
        let request = json!({ "method": method, "params": params });
        let request: ClientRequest = serde_json::from_value(request)
            .unwrap_or_else(|error| panic!("{method} is not a request of a client: {error}"));
        let sent = self
            .service
            .send_cancellable_request(request, PeerRequestOptions::no_options());
        self.in_flight = Some(
            sent.await
                .unwrap_or_else(|error| panic!("{method}: {error}")),
        );
    }

    /// Cancels the request in flight.
    pub(super) async fn cancel(&mut self, params: &Value) {
        let request = self.in_flight.take().expect("a request is in flight");
        let reason = params["reason"].as_str().map(str::to_owned);
        request.cancel(reason).await.unwrap();
    }

    /// Waits for a request or a notification. Requests of one round may arrive in any order, and
    /// notifications that the guide does not show are ignored.
    pub(super) async fn expect_message(&mut self, method: &str, expected: Option<&Value>) {
        let what = format!(
            "the client to receive {method} {}",
            expected.cloned().unwrap_or_default()
        );
        let mut earlier = std::mem::take(&mut self.unmatched);
        loop {
            let received = match earlier.pop() {
                Some(received) => received,
                None => with_deadline(&what, self.messages.recv())
                    .await
                    .expect("the client is connected"),
            };
            let matches = received.message["method"] == method
                && expected.is_none_or(|expected| {
                    difference(expected, &received.message["params"], &mut self.bindings).is_none()
                });
            if matches {
                self.open_request = received.answer;
                return self.unmatched.append(&mut earlier);
            }
            println!("  (← {})", received.message);
            if received.answer.is_some() {
                self.unmatched.push(received);
            }
        }
    }

    /// Answers the last request that was received.
    pub(super) fn reply(&mut self, answer: &Answer) {
        let request = self
            .open_request
            .take()
            .expect("the server has sent a request");
        let answer = match answer {
            Ok(result) => Ok(substitute(result, &self.bindings)),
            Err(error) => Err(error.clone()),
        };
        request
            .send(answer)
            .expect("the server waits for the answer");
    }

    /// Waits for the answer to the request in flight.
    pub(super) async fn expect_answer(&mut self, expected: &Answer) {
        let request = self.in_flight.take().expect("a request is in flight");
        let answer = match with_deadline("an answer", request.await_response()).await {
            Ok(result) => Ok(json_of(serde_json::to_string(&result))),
            Err(ServiceError::McpError(error)) => Err(json_of(serde_json::to_string(&error))),
            Err(error) => panic!("{error}"),
        };
        let why = match (expected, &answer) {
            (Ok(expected), Ok(actual)) | (Err(expected), Err(actual)) => {
                difference(expected, actual, &mut self.bindings)
            }
            _ => Some("one of them is an error".to_owned()),
        };
        if let Some(why) = why {
            panic!("the guide shows {expected:#?}\nbut the answer is {answer:#?}\n{why}");
        }
    }

    pub(super) async fn close(mut self) {
        let unmatched = self.unmatched.iter().map(|received| &received.message);
        let unmatched: Vec<_> = unmatched.collect();
        assert!(
            unmatched.is_empty(),
            "the guide does not show {unmatched:?}"
        );
        for subscription in &self.subscriptions {
            subscription.abort();
        }
        let closed = with_deadline("the client to close", self.service.close()).await;
        closed.expect("the client does not panic");
    }

    /// Subscribes; the notifications of the subscription are received like any others.
    async fn subscribe(&mut self, params: &Value) {
        let filter: SubscriptionFilter =
            serde_json::from_value(params["notifications"].clone()).unwrap();
        let peer = self.service.peer().clone();
        let listening = with_deadline("subscriptions/listen", peer.listen(filter)).await;
        let mut listening = listening.unwrap_or_else(|error| panic!("listen: {error}"));
        let sender = self.service.service().messages.lock().unwrap().clone();
        self.subscriptions.push(tokio::spawn(async move {
            while let Ok(Some(notification)) = listening.next().await {
                let message = json_of(serde_json::to_string(&notification));
                let _ = sender.send(ServerMessage {
                    message,
                    answer: None,
                });
            }
        }));
    }
}

/// Forwards everything that the server sends.
struct ForwardingHandler {
    capabilities: ClientCapabilities,
    messages: Mutex<mpsc::UnboundedSender<ServerMessage>>,
}

impl ForwardingHandler {
    fn forward(&self, message: ServerMessage) {
        // The send fails when the conversation is over.
        let _ = self.messages.lock().unwrap().send(message);
    }
}

impl Service<RoleClient> for ForwardingHandler {
    async fn handle_request(
        &self,
        request: ServerRequest,
        _: RequestContext<RoleClient>,
    ) -> Result<ClientResult, ErrorData> {
        let message = json_of(serde_json::to_string(&request));
        let (answer, receiver) = oneshot::channel();
        self.forward(ServerMessage {
            message,
            answer: Some(answer),
        });
        match receiver.await {
            Ok(Ok(result)) => Ok(serde_json::from_value(result).expect("a result of a client")),
            Ok(Err(error)) => Err(serde_json::from_value(error).expect("a JSON-RPC error")),
            Err(_) => Err(ErrorData::internal_error("the conversation is over", None)),
        }
    }

    async fn handle_notification(
        &self,
        notification: ServerNotification,
        _: NotificationContext<RoleClient>,
    ) -> Result<(), ErrorData> {
        let message = json_of(serde_json::to_string(&notification));
        self.forward(ServerMessage {
            message,
            answer: None,
        });
        Ok(())
    }

    fn get_info(&self) -> ClientConfig {
        let client = Implementation::new("guide-client", "1.0.0");
        ClientConfig::new(self.capabilities.clone(), client)
            .with_protocol_version(ProtocolVersion::V_2025_11_25)
    }
}

/// Parses the encoded value: 0.8 is short as text, but inexact if an f32 is converted directly.
fn json_of(text: serde_json::Result<String>) -> Value {
    serde_json::from_str(&text.unwrap()).unwrap()
}

fn capabilities(capable: bool) -> ClientCapabilities {
    let capabilities = if capable {
        json!({ "elicitation": { "form": {}, "url": {} }, "sampling": {}, "roots": {} })
    } else {
        json!({})
    };
    serde_json::from_value(capabilities).unwrap()
}

fn transport(server: &Value) -> StreamableHttpClientTransport<reqwest::Client> {
    let bearer = format!("Bearer {}", server["token"].as_str().unwrap());
    let headers = [(
        HeaderName::from_static("authorization"),
        HeaderValue::from_str(&bearer).unwrap(),
    )];
    let config = StreamableHttpClientTransportConfig::with_uri(server["url"].as_str().unwrap())
        .custom_headers(headers.into_iter().collect());
    StreamableHttpClientTransport::with_client(e2e::http(), config)
}

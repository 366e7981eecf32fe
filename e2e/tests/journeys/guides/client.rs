//! A real MCP client that follows a transcript.

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
    /// Requests of the server that came before the guide shows them.
    unmatched: Vec<ServerMessage>,
    remembered: Bindings,
    subscriptions: Vec<JoinHandle<()>>,
}

/// A notification, or a request that wants an answer.
struct ServerMessage {
    message: Value,
    answer: Option<oneshot::Sender<Answer>>,
}

impl GuideClient {
    pub(super) async fn connect(server: &Value, transcript: &Transcript) -> Self {
        let (ear, heard) = mpsc::unbounded_channel();
        let ear = ForwardingHandler {
            capabilities: capabilities(transcript.capable),
            messages: Mutex::new(ear),
        };
        let mode = match transcript.era {
            Era::Initialize => ClientLifecycleMode::Initialize,
            Era::Discover => ClientLifecycleMode::Discover {
                preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            },
        };
        let connecting = ear.serve_with_lifecycle(transport(server), mode);
        let service = with_deadline("the guide's client to connect", connecting).await;
        Self {
            service: service.unwrap_or_else(|error| panic!("{error}")),
            messages: heard,
            in_flight: None,
            open_request: None,
            unmatched: Vec::new(),
            remembered: Bindings::new(),
            subscriptions: Vec::new(),
        }
    }

    /// Sends a request. Its answer is awaited by [`Self::expect_answer`].
    pub(super) async fn request(&mut self, method: &str, params: &Value) {
        assert!(
            self.in_flight.is_none(),
            "the guide shows no answer to the request before {method}"
        );
        let params = substitute(params, &self.remembered);
        if method == "subscriptions/listen" {
            return self.subscribe(&params).await;
        }
        let request = json!({ "method": method, "params": params });
        let request: ClientRequest = serde_json::from_value(request)
            .unwrap_or_else(|error| panic!("{method} is no request of a client: {error}"));
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

    /// Waits for a request or a notification. Requests that were asked at a time come in any order;
    /// notifications that are not shown pass.
    pub(super) async fn expect_message(&mut self, method: &str, shown: Option<&Value>) {
        let what = format!(
            "the client to hear {method} {}",
            shown.cloned().unwrap_or_default()
        );
        let mut earlier = std::mem::take(&mut self.unmatched);
        loop {
            let heard = match earlier.pop() {
                Some(heard) => heard,
                None => with_deadline(&what, self.messages.recv())
                    .await
                    .expect("the client lives"),
            };
            let fits = heard.message["method"] == method
                && shown.is_none_or(|shown| {
                    difference(shown, &heard.message["params"], &mut self.remembered).is_none()
                });
            if fits {
                self.open_request = heard.answer;
                return self.unmatched.append(&mut earlier);
            }
            println!("  (← {})", heard.message);
            if heard.answer.is_some() {
                self.unmatched.push(heard);
            }
        }
    }

    /// Answers the request that was heard last.
    pub(super) fn reply(&mut self, answer: &Answer) {
        let question = self
            .open_request
            .take()
            .expect("the server asked something");
        let answer = match answer {
            Ok(result) => Ok(substitute(result, &self.remembered)),
            Err(error) => Err(error.clone()),
        };
        question.send(answer).expect("the server waits for it");
    }

    /// Waits for the answer to the request in flight.
    pub(super) async fn expect_answer(&mut self, shown: &Answer) {
        let request = self.in_flight.take().expect("a request is in flight");
        let answer = match with_deadline("an answer", request.await_response()).await {
            Ok(result) => Ok(json_of(serde_json::to_string(&result))),
            Err(ServiceError::McpError(error)) => Err(json_of(serde_json::to_string(&error))),
            Err(error) => panic!("{error}"),
        };
        let why = match (shown, &answer) {
            (Ok(shown), Ok(actual)) | (Err(shown), Err(actual)) => {
                difference(shown, actual, &mut self.remembered)
            }
            _ => Some("one of them is an error".to_owned()),
        };
        if let Some(why) = why {
            panic!("the guide shows {shown:#?}\nbut the answer is {answer:#?}\n{why}");
        }
    }

    pub(super) async fn close(mut self) {
        let unshown = self.unmatched.iter().map(|heard| &heard.message);
        let unshown: Vec<_> = unshown.collect();
        assert!(unshown.is_empty(), "the guide does not show {unshown:?}");
        for subscription in &self.subscriptions {
            subscription.abort();
        }
        let closed = with_deadline("the client to close", self.service.close()).await;
        closed.expect("the client does not panic");
    }

    /// What a subscription says is heard like any notification.
    async fn subscribe(&mut self, params: &Value) {
        let filter: SubscriptionFilter =
            serde_json::from_value(params["notifications"].clone()).unwrap();
        let peer = self.service.peer().clone();
        let listening = with_deadline("subscriptions/listen", peer.listen(filter)).await;
        let mut listening = listening.unwrap_or_else(|error| panic!("listen: {error}"));
        let heard = self.service.service().messages.lock().unwrap().clone();
        self.subscriptions.push(tokio::spawn(async move {
            while let Ok(Some(notification)) = listening.next().await {
                let message = json_of(serde_json::to_string(&notification));
                let _ = heard.send(ServerMessage {
                    message,
                    answer: None,
                });
            }
        }));
    }
}

/// Hands over whatever comes from the server.
struct ForwardingHandler {
    capabilities: ClientCapabilities,
    messages: Mutex<mpsc::UnboundedSender<ServerMessage>>,
}

impl ForwardingHandler {
    fn forward(&self, heard: ServerMessage) {
        // Nobody listens any more once the conversation is over.
        let _ = self.messages.lock().unwrap().send(heard);
    }
}

impl Service<RoleClient> for ForwardingHandler {
    async fn handle_request(
        &self,
        request: ServerRequest,
        _: RequestContext<RoleClient>,
    ) -> Result<ClientResult, ErrorData> {
        let message = json_of(serde_json::to_string(&request));
        let (answer, answered) = oneshot::channel();
        self.forward(ServerMessage {
            message,
            answer: Some(answer),
        });
        match answered.await {
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

/// By way of the text, where a short number stays short: as 32 bits are kept, 0.8 is not 0.8.
fn json_of(text: serde_json::Result<String>) -> Value {
    serde_json::from_str(&text.unwrap()).unwrap()
}

fn capabilities(capable: bool) -> ClientCapabilities {
    let capabilities = match capable {
        true => json!({ "elicitation": { "form": {}, "url": {} }, "sampling": {}, "roots": {} }),
        false => json!({}),
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
    // In a build of the whole workspace reqwest has TLS, and wants a provider. A second
    // installation in this process fails and changes nothing.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    StreamableHttpClientTransport::with_client(http, config)
}

//! Tests of long calls on a paused clock, which advances only while no task can run.

use bridge_realm::realm;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use bridge_protocol::{
    BridgeToPage, CallContext, CallProgress, CallingClient, ClientInfo, ClientRequest,
    ClientResponse, Definition as Sent, Kind, RegistrationId, ToolCall,
};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::*;
use crate::agent_queries::AgentQueries;
use crate::budget::PageParty;
use crate::calls::{CallRequest, ClientTimeout, DeliveryLimits, call_tool};
use crate::config::Config;
use crate::hub::{OutboxReceiver, SocketCommand};
use bridge_mcp_results::arguments::Arguments;
use bridge_mcp_results::tool_result::CallToolResult;
use bridge_realm::realm::{CallerEvent, ConnectionId, PageAbilities, PageAnswer, PageHello};

const SECOND: Duration = Duration::from_secs(1);

/// Records the progress that a client receives: the seconds since the start, the value and the
/// message. It lists its roots.
#[derive(Default)]
struct RecordingClient {
    started: Option<Instant>,
    progress_log: Mutex<Vec<(u64, f64, String)>>,
    answers_after: Duration,
}

impl ClientChannel for RecordingClient {
    fn notify(&self, event: CallerEvent) -> BoxFuture<'_, ()> {
        if let CallerEvent::Progress(report) = event {
            let progress = report.progress.as_f64().unwrap();
            let after = self.started.unwrap().elapsed().as_secs();
            let message = report.message.unwrap();
            self.progress_log
                .lock()
                .unwrap()
                .push((after, progress, message));
        }
        Box::pin(std::future::ready(()))
    }

    fn request(&self, request: ClientRequest) -> BoxFuture<'_, ClientResponse> {
        Box::pin(async move {
            tokio::time::sleep(self.answers_after).await;
            ClientResponse {
                key: request.key,
                result: to_raw_value(&json!({ "roots": [] })).ok(),
                error: None,
            }
        })
    }

    fn uses_input_required(&self) -> bool {
        false
    }
}

/// A page, which may register one tool, `work`.
struct Page {
    hub: Arc<Hub>,
    realm: RealmId,
    connection: ConnectionId,
    outbox: OutboxReceiver,
}

const SESSION: &str = "tab";

impl Page {
    fn connect() -> Self {
        let page = Self::connect_without_tools();
        page.register();
        page
    }

    fn connect_without_tools() -> Self {
        let hub = Hub::new(
            Config::default(),
            |_, _| Ok(()),
            Arc::<AgentQueries>::default(),
        );
        let realm = RealmId::from_token("token");
        let hello = PageHello {
            session: SessionId::from(SESSION),
            abilities: PageAbilities::SDK,
            document: None,
            name: None,
            origin: None,
            address: None,
            page_title: None,
            app: None,
            app_description: None,
            expires: None,
            may_query: true,
            subject: None,
            written_ms: None,
            heartbeat_after: None,
            sdk_version: None,
        };
        let party = PageParty::new(std::net::IpAddr::from([127, 0, 0, 1]).into(), None);
        let (connection, outbox) = hub.page_connected(realm, &party, hello).unwrap();
        Self {
            hub,
            realm,
            connection,
            outbox,
        }
    }

    fn register(&self) {
        let definition = RawValue::from_string(json!({ "name": "work" }).to_string()).unwrap();
        let kind = Kind::Tool;
        let tools = self.hub.definitions.parse(&[Sent { kind, definition }]);
        let registration = RegistrationId::from("r");
        self.apply(|realm, id, connection, now| {
            realm.items_registered(id, connection, registration, tools, now)
        });
    }

    fn apply(
        &self,
        event: impl FnOnce(&mut realm::Realm, &SessionId, ConnectionId, realm::Now) -> realm::Effects,
    ) {
        let id = SessionId::from(SESSION);
        let changed = self.hub.apply(self.realm, |realm, now| {
            ((), event(realm, &id, self.connection, now))
        });
        assert!(changed.is_some());
    }

    /// Receives the next call.
    async fn recv_call(&mut self) -> CallId {
        loop {
            let outgoing = self.outbox.recv().await.unwrap();
            if let SocketCommand::Message(BridgeToPage::ToolCall(ToolCall { request_id, .. })) =
                outgoing
            {
                self.apply(|realm, id, connection, _| {
                    realm.call_received(id, connection, &request_id);
                    Vec::new()
                });
                return request_id;
            }
        }
    }

    fn report_progress(&self, call: &CallId, progress: f64) {
        let report = CallProgress {
            request_id: call.clone(),
            progress: serde_json::Number::from_f64(progress).unwrap(),
            total: None,
            message: Some("page".to_owned()),
        };
        self.apply(|realm, id, connection, _| {
            realm.call_event_emitted(id, connection, call, CallerEvent::Progress(report))
        });
    }

    fn list_roots(&self, call: &CallId) {
        let request = ClientRequest {
            key: "roots".to_owned(),
            method: "roots/list".to_owned(),
            params: to_raw_value(&json!({})).unwrap(),
        };
        self.apply(|realm, id, connection, now| {
            realm.client_requests_received(id, connection, call, vec![request], now)
        });
    }

    fn complete(&self, call: &CallId) {
        let answer = Ok(PageAnswer::Value(Some(
            RawValue::from_string("\"done\"".to_owned()).unwrap().into(),
        )));
        self.apply(|realm, id, connection, now| {
            realm.call_answered(id, connection, call, answer, now)
        });
    }
}

/// Calls a tool as a client that requests progress, and returns its result.
async fn call_with_progress(
    hub: &Arc<Hub>,
    client: &RecordingClient,
    client_timeout: Option<ClientTimeout>,
    tool: &str,
    arguments: Value,
) -> CallToolResult {
    match call_outcome(hub, client, client_timeout, tool, arguments).await {
        Ok(RoundOutcome::Complete(result)) => result,
        Ok(RoundOutcome::InputRequired { .. }) => panic!("unexpected InputRequired"),
        Err(error) => panic!("{error}"),
    }
}

async fn call_outcome(
    hub: &Arc<Hub>,
    client: &RecordingClient,
    client_timeout: Option<ClientTimeout>,
    tool: &str,
    arguments: Value,
) -> Result<RoundOutcome<CallToolResult>, RequestError> {
    let caller = CallOptions {
        call_context: CallContext {
            progress: true,
            client: Some(Arc::new(CallingClient {
                info: ClientInfo {
                    name: "test".to_owned(),
                    version: None,
                    title: None,
                },
                protocol_version: None,
                capabilities: to_raw_value(&json!({ "roots": {} })).ok(),
                limits: None,
            })),
            ..CallContext::default()
        },
        limits: DeliveryLimits {
            client_timeout,
            ..DeliveryLimits::default()
        },
        ..CallOptions::new(
            RealmId::from_token("token"),
            IpAddr::from([127, 0, 0, 1]).into(),
            client,
        )
    };
    let request = CallRequest {
        caller,
        tool: tool.to_owned(),
        arguments: Arguments::from_raw(to_raw_value(&arguments).unwrap()),
    };
    call_tool(hub, request).await.outcome
}

/// Calls a tool that the page does not have. Returns the number of seconds that the call waits for it.
async fn unknown_tool_wait(hub: &Arc<Hub>) -> u64 {
    let begun = Instant::now();
    let outcome = call_outcome(hub, &recording_client(), None, "unknown", json!({})).await;
    let code = outcome.err().map(|error| error.code());
    assert_eq!(code, Some(ErrorCode::ToolNotFound));
    begun.elapsed().as_secs()
}

fn recording_client() -> RecordingClient {
    RecordingClient {
        started: Some(Instant::now()),
        ..RecordingClient::default()
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_until_a_page_that_has_just_connected_has_registered_its_tools() {
    let mut page = Page::connect_without_tools();
    let (client, hub) = (recording_client(), Arc::clone(&page.hub));
    let handler = async {
        tokio::time::sleep(2 * SECOND).await;
        page.register();
        let call = page.recv_call().await;
        page.complete(&call);
    };
    let (result, ()) = tokio::join!(
        call_with_progress(&hub, &client, None, "work", json!({})),
        handler
    );
    assert_eq!(result, CallToolResult::text("done".to_owned()));
    assert_eq!(unknown_tool_wait(&hub).await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_page_without_tools_is_waited_for_only_after_it_has_connected() {
    let page = Page::connect_without_tools();
    tokio::time::sleep(SECOND).await;
    assert_eq!(unknown_tool_wait(&page.hub).await, 2);
    assert_eq!(unknown_tool_wait(&page.hub).await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_silent_page_gets_keepalive_progress_every_ten_seconds() {
    let mut page = Page::connect();
    let (client, hub) = (recording_client(), Arc::clone(&page.hub));
    let handler = async {
        let call = page.recv_call().await;
        tokio::time::sleep(25 * SECOND).await;
        page.report_progress(&call, 1.0);
        page.report_progress(&call, 0.5);
        tokio::time::sleep(15 * SECOND).await;
        page.complete(&call);
    };
    let (result, ()) = tokio::join!(
        call_with_progress(&hub, &client, None, "work", json!({})),
        handler
    );
    assert_eq!(result, CallToolResult::text("done".to_owned()));
    let progress_log = client.progress_log.into_inner().unwrap();
    let when: Vec<_> = progress_log.iter().map(|(after, ..)| *after).collect();
    assert_eq!(when, [10, 20, 25, 35], "{progress_log:?}");
    assert!(
        progress_log.is_sorted_by(|one, next| one.1 < next.1),
        "{progress_log:?}"
    );
    assert_eq!(
        progress_log[1].2,
        "`work` is still running in the page (20 s)"
    );
    assert_eq!(progress_log[2].2, "page");
    hub.result_store.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_long_call_returns_a_handle_after_the_client_timeout() {
    let mut page = Page::connect();
    let (client, hub, client_timeout) = (
        recording_client(),
        Arc::clone(&page.hub),
        Some(ClientTimeout::Known(50 * SECOND)),
    );
    let started = Instant::now();
    let (early, call) = tokio::join!(
        call_with_progress(&hub, &client, client_timeout, "work", json!({})),
        page.recv_call()
    );
    assert_eq!(started.elapsed().as_secs(), 50);
    let handle = early.into_parsed().meta.unwrap()["mcp-web/handle"].clone();
    let get = || {
        call_with_progress(
            &hub,
            &client,
            client_timeout,
            "get_result",
            json!({ "handle": handle }),
        )
    };
    let again = get().await;
    assert_eq!(started.elapsed().as_secs(), 100);
    assert_eq!(again.into_parsed().meta.unwrap()["mcp-web/handle"], handle);
    let answered = async {
        tokio::time::sleep(7 * SECOND).await;
        page.complete(&call);
    };
    let (result, ()) = tokio::join!(get(), answered);
    assert_eq!(started.elapsed().as_secs(), 107);
    assert_eq!(result, CallToolResult::text("done".to_owned()));
    // A client that waits with `get_result` also learns that the page is still working.
    let progress_log = client.progress_log.lock().unwrap().clone();
    assert_eq!(
        progress_log.last().unwrap().2,
        "`work` is still running in the page (90 s)"
    );

    // The result remains available for ten minutes.
    tokio::time::sleep(599 * SECOND).await;
    assert_eq!(get().await, result);
    tokio::time::sleep(SECOND).await;
    assert!(
        get()
            .await
            .has_error_code(bridge_protocol::ErrorCode::HandleNotFound)
    );
    hub.result_store.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_patience_begins_again_with_an_answer_that_comes_after_it() {
    let patience = Some(ClientTimeout::Assumed(50 * SECOND));
    for (answers_after, handle_after) in [(1, 50), (49, 50), (60, 60 + 50)] {
        let mut page = Page::connect();
        let hub = Arc::clone(&page.hub);
        let client = RecordingClient {
            answers_after: answers_after * SECOND,
            ..recording_client()
        };
        let started = Instant::now();
        let handler = async {
            let call = page.recv_call().await;
            page.list_roots(&call);
        };
        let (early, ()) = tokio::join!(
            call_with_progress(&hub, &client, patience, "work", json!({})),
            handler
        );
        assert!(early.is_handle());
        assert_eq!(started.elapsed().as_secs(), handle_after);
        hub.result_store.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_detached_call_still_times_out() {
    let mut page = Page::connect();
    let (client, hub, client_timeout) = (
        recording_client(),
        Arc::clone(&page.hub),
        Some(ClientTimeout::Known(50 * SECOND)),
    );
    let (early, _) = tokio::join!(
        call_with_progress(&hub, &client, client_timeout, "work", json!({})),
        page.recv_call()
    );
    let handle = early.into_parsed().meta.unwrap()["mcp-web/handle"].clone();
    let started = Instant::now();
    let arguments = json!({ "handle": handle });
    let result = call_with_progress(&hub, &client, None, "get_result", arguments).await;
    // The socket of this page is not read, so the bridge waits 2 s for it to be read.
    assert_eq!(started.elapsed().as_secs(), 120 - 50 + 2);
    assert!(result.has_error_code(bridge_protocol::ErrorCode::CallTimeout));
    hub.result_store.stop().await;
}

//! Long calls by a clock that stands still while anything happens.

use std::sync::{Arc, Mutex};

use bridge_protocol::{
    BridgeToPage, CallContext, CallProgress, Definition as Sent, Kind, RegistrationId, ToolCall,
};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::*;
use crate::calls::{CallRequest, Takes, call};
use crate::config::Config;
use crate::definition::Definitions;
use crate::hub::{Outbox, Outgoing};
use crate::realm::{Answer, ConnectionId, Dialect, PageHello};
use crate::result::ToolResult;

const SECOND: Duration = Duration::from_secs(1);

/// What a client heard of progress: after how many seconds, how far, in which words.
#[derive(Default)]
struct Ears {
    began: Option<Instant>,
    heard: Mutex<Vec<(u64, f64, String)>>,
}

impl Client for Ears {
    fn notify(&self, event: CallEvent) -> BoxFuture<'_, ()> {
        if let CallEvent::Progress(told) = event {
            let progress = told.progress.as_f64().unwrap();
            let after = self.began.unwrap().elapsed().as_secs();
            let message = told.message.unwrap();
            self.heard.lock().unwrap().push((after, progress, message));
        }
        Box::pin(std::future::ready(()))
    }

    fn ask(&self, request: ClientRequest) -> BoxFuture<'_, ClientResponse> {
        panic!("asked {}", request.method)
    }

    fn answers_in_rounds(&self) -> bool {
        false
    }
}

/// A page with one tool, `work`.
struct Page {
    hub: Arc<Hub>,
    realm: RealmId,
    connection: ConnectionId,
    outbox: Outbox,
}

const TAB: &str = "tab";

impl Page {
    fn open() -> Self {
        let definitions = Definitions::new(|_, _| Ok(()), 1_000_000);
        let hub = Hub::new(Config::default(), definitions);
        let realm = RealmId::of_token("token");
        let hello = PageHello {
            session: SessionId::from(TAB),
            dialect: Dialect::V2,
            document: None,
            name: None,
            origin: None,
            page_title: None,
            app: None,
            expires: None,
            may_ask: true,
            person: None,
            written_ms: None,
            heartbeat_after: None,
        };
        let (connection, outbox) = hub.page_connected(realm, hello).unwrap();
        let definition = RawValue::from_string(json!({ "name": "work" }).to_string()).unwrap();
        let kind = Kind::Tool;
        let tools = hub.definitions.parse(&[Sent { kind, definition }]);
        let page = Self {
            hub,
            realm,
            connection,
            outbox,
        };
        let registration = RegistrationId::from("r");
        page.change(|realm, id, connection, _| {
            realm.items_registered(id, connection, registration, tools)
        });
        page
    }

    fn change(
        &self,
        event: impl FnOnce(
            &mut crate::realm::Realm,
            &SessionId,
            ConnectionId,
            crate::realm::Now,
        ) -> crate::realm::Effects,
    ) {
        let id = SessionId::from(TAB);
        let changed = self.hub.change(self.realm, |realm, now| {
            ((), event(realm, &id, self.connection, now))
        });
        assert!(changed.is_some());
    }

    /// Takes the next call.
    async fn called(&mut self) -> CallId {
        loop {
            let outgoing = self.outbox.next().await.unwrap();
            if let Outgoing::Message(BridgeToPage::ToolCall(ToolCall { request_id, .. })) = outgoing
            {
                self.change(|realm, id, connection, _| {
                    realm.call_received(id, connection, &request_id);
                    Vec::new()
                });
                return request_id;
            }
        }
    }

    fn report(&self, call: &CallId, progress: f64) {
        let report = CallProgress {
            request_id: call.clone(),
            progress: serde_json::Number::from_f64(progress).unwrap(),
            total: None,
            message: Some("page".to_owned()),
        };
        self.change(|realm, id, connection, _| {
            realm.call_told(id, connection, call, CallEvent::Progress(report))
        });
    }

    fn answer(&self, call: &CallId) {
        let answer = Ok(Answer::Value(Some(
            RawValue::from_string("\"done\"".to_owned()).unwrap().into(),
        )));
        self.change(|realm, id, connection, now| {
            realm.call_answered(id, connection, call, answer, now)
        });
    }
}

/// Calls a tool as a client that wants progress.
async fn run(
    hub: &Arc<Hub>,
    ears: &Ears,
    patience: Option<Duration>,
    tool: &str,
    arguments: Value,
) -> ToolResult {
    let caller = Caller {
        realm: RealmId::of_token("token"),
        session: None,
        context: CallContext {
            progress: true,
            ..CallContext::default()
        },
        client: ears,
        takes: Takes {
            patience,
            ..Takes::default()
        },
        answers: Vec::new(),
        resumes: None,
    };
    let request = CallRequest {
        caller,
        tool: tool.to_owned(),
        arguments: arguments.as_object().cloned().unwrap_or_default().into(),
    };
    match call(hub, request).await.unwrap() {
        Outcome::Done(result) => result,
        Outcome::InputRequired { .. } => panic!("nothing was asked"),
    }
}

fn ears() -> Ears {
    Ears {
        began: Some(Instant::now()),
        heard: Mutex::default(),
    }
}

#[tokio::test(start_paused = true)]
async fn a_quiet_page_is_said_to_be_at_work_every_ten_seconds() {
    let mut page = Page::open();
    let (ears, hub) = (ears(), Arc::clone(&page.hub));
    let handler = async {
        let call = page.called().await;
        tokio::time::sleep(25 * SECOND).await;
        page.report(&call, 1.0);
        page.report(&call, 0.5);
        tokio::time::sleep(15 * SECOND).await;
        page.answer(&call);
    };
    let (result, ()) = tokio::join!(run(&hub, &ears, None, "work", json!({})), handler);
    assert_eq!(result, ToolResult::text("done".to_owned()));
    let heard = ears.heard.into_inner().unwrap();
    let when: Vec<_> = heard.iter().map(|(after, ..)| *after).collect();
    assert_eq!(when, [10, 20, 25, 35], "{heard:?}");
    assert!(heard.is_sorted_by(|one, next| one.1 < next.1), "{heard:?}");
    assert_eq!(heard[1].2, "`work` is still running in the page (20 s)");
    assert_eq!(heard[2].2, "page");
    hub.kept.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_client_hears_of_a_long_call_when_its_patience_is_over_and_again() {
    let mut page = Page::open();
    let (ears, hub, patience) = (ears(), Arc::clone(&page.hub), Some(50 * SECOND));
    let began = Instant::now();
    let (early, call) = tokio::join!(run(&hub, &ears, patience, "work", json!({})), page.called());
    assert_eq!(began.elapsed().as_secs(), 50);
    let handle = early.meta.unwrap()["mcp-web/handle"].clone();
    let get = || {
        run(
            &hub,
            &ears,
            patience,
            "get_result",
            json!({ "handle": handle }),
        )
    };
    let again = get().await;
    assert_eq!(began.elapsed().as_secs(), 100);
    assert_eq!(again.meta.unwrap()["mcp-web/handle"], handle);
    let answered = async {
        tokio::time::sleep(7 * SECOND).await;
        page.answer(&call);
    };
    let (result, ()) = tokio::join!(get(), answered);
    assert_eq!(began.elapsed().as_secs(), 107);
    assert_eq!(result, ToolResult::text("done".to_owned()));
    // Who waits with `get_result` hears that the page is at work, too.
    let heard = ears.heard.lock().unwrap().clone();
    assert_eq!(
        heard.last().unwrap().2,
        "`work` is still running in the page (90 s)"
    );

    // For ten minutes.
    tokio::time::sleep(599 * SECOND).await;
    assert_eq!(get().await, result);
    tokio::time::sleep(SECOND).await;
    assert!(
        get()
            .await
            .failed_with(bridge_protocol::ErrorCode::HandleNotFound)
    );
    hub.kept.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_call_goes_on_when_its_caller_has_left() {
    let mut page = Page::open();
    let (ears, hub, patience) = (ears(), Arc::clone(&page.hub), Some(50 * SECOND));
    let (early, _) = tokio::join!(run(&hub, &ears, patience, "work", json!({})), page.called());
    let handle = early.meta.unwrap()["mcp-web/handle"].clone();
    let began = Instant::now();
    let arguments = json!({ "handle": handle });
    let result = run(&hub, &ears, None, "get_result", arguments).await;
    assert_eq!(began.elapsed().as_secs(), 120 - 50);
    assert!(result.failed_with(bridge_protocol::ErrorCode::CallTimeout));
    hub.kept.stop().await;
}

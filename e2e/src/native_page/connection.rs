//! The task that owns a native page's socket: one for each connection of a page.

use std::time::Instant;

use bridge_protocol::{
    Authenticated, BridgeToPage, CallReceived, CallsCheck, ErrorCode, Heartbeat, PageToBridge,
    RegistrationId, Unregister,
};
use tokio::sync::oneshot;

use super::call::{Called, Deed};
use super::tab::{Answer, Request, Start, Tab};
use super::wire::Wire;

/// A page while it is connected.
pub(super) struct Connection {
    tab: Tab,
    wire: Wire,
}

impl Connection {
    pub(super) fn new(tab: Tab, wire: Wire) -> Self {
        Self { tab, wire }
    }

    /// Returns the page and the close code that the bridge sent, if any.
    pub(super) async fn run(
        mut self,
        authenticated: Box<Authenticated>,
        cut: oneshot::Receiver<()>,
    ) -> (Tab, Option<u16>) {
        self.resume(&authenticated).await;
        let code = tokio::select! {
            code = self.run_inner() => code,
            _ = cut => None,
        };
        (self.tab, code)
    }

    async fn run_inner(&mut self) -> Option<u16> {
        loop {
            let tab = &mut self.tab;
            tokio::select! {
                // What a handler did comes before what it came to.
                biased;
                Some(deed) = tab.deeds.1.recv() => self.done(deed).await,
                Some((id, outcome)) = tab.finished.1.recv() => {
                    let text = self.tab.finished(id, outcome);
                    self.wire.send(&text).await;
                }
                message = self.wire.next() => match message {
                    Ok(message) => self.received(message).await,
                    Err(code) => return code,
                },
                Some(request) = tab.request.recv() => self.requested(request).await,
            }
        }
    }

    /// Goes on where the connection before ended.
    async fn resume(&mut self, authenticated: &Authenticated) {
        for text in self.tab.connected(authenticated) {
            self.wire.send(&text).await;
        }
        if !self.tab.items.is_empty() {
            let everything = self.tab.registration();
            self.send(everything).await;
        }
    }

    async fn received(&mut self, message: BridgeToPage) {
        match message {
            BridgeToPage::ToolCall(call) => self.called(call.into()).await,
            BridgeToPage::PromptGet(get) => self.called(get.into()).await,
            BridgeToPage::ResourceRead(read) => self.called(read.into()).await,
            BridgeToPage::Completion(completion) => self.called(completion.into()).await,
            BridgeToPage::CallCancel(cancel) => self.tab.cancelled(cancel.request_id, cancel.code),
            BridgeToPage::CallsAlive(alive) => {
                for id in alive.ended {
                    self.tab.cancelled(id, ErrorCode::CallCancelled);
                }
                for id in alive.request_ids {
                    if let Some(called) = self.tab.asked_about.remove(&id) {
                        self.tab.start(called);
                    }
                }
            }
            BridgeToPage::ClientResponses(answers) => self.tab.client_answered(answers),
            BridgeToPage::Subscriptions(subscriptions) => {
                let _ = self.tab.heard.subscribed.send(subscriptions.uris);
            }
            BridgeToPage::Heartbeat(Heartbeat { sequence, answers }) => {
                self.tab.answers.taken(answers);
                let answers = 0;
                self.send(PageToBridge::HeartbeatAck(Heartbeat { sequence, answers }))
                    .await;
            }
            BridgeToPage::Registered(answer) => self.tab.hears(Answer::Registered(answer)),
            BridgeToPage::Unregistered(answer) => self.tab.hears(Answer::Unregistered(answer)),
            BridgeToPage::Renewed(renewed) => self.tab.hears(Answer::Renewal(Ok(renewed))),
            BridgeToPage::RenewalFailed(failure) => self.tab.hears(Answer::Renewal(Err(failure))),
            of_query @ (BridgeToPage::QueryAccepted(_)
            | BridgeToPage::QueryProgress(_)
            | BridgeToPage::QueryComplete(_)
            | BridgeToPage::QueryFailure(_)
            | BridgeToPage::QueryCancel(_)) => {
                let _ = self.tab.heard.told.send((Instant::now(), of_query));
            }
            _ => {}
        }
    }

    async fn called(&mut self, called: Called) {
        let request_id = called.id.clone();
        if self.tab.setup.acknowledges {
            self.send(PageToBridge::CallReceived(CallReceived {
                request_id: request_id.clone(),
            }))
            .await;
        }
        match self.tab.called(&called) {
            Start::Now => self.tab.start(called),
            Start::WhenAlive => {
                self.tab.asked_about.insert(request_id.clone(), called);
                let request_ids = vec![request_id];
                self.send(PageToBridge::CallsCheck(CallsCheck { request_ids }))
                    .await;
            }
            Start::Never => {}
        }
    }

    async fn done(&mut self, deed: Deed) {
        let message = match deed {
            Deed::Say(message) => *message,
            Deed::Ask(requests, responders) => {
                self.tab.waits(&requests, responders);
                PageToBridge::ClientRequests(requests)
            }
        };
        self.send(message).await;
    }

    async fn requested(&mut self, request: Request) {
        match request {
            Request::Register(items) => {
                let registration = self.tab.register(items);
                self.send(registration).await;
            }
            Request::Unregister(items) => {
                self.tab.items.retain(|item, _| !items.contains(item));
                self.send(PageToBridge::Unregister(Unregister {
                    registration_id: RegistrationId::from("unregister"),
                    items,
                }))
                .await;
            }
            Request::Say(message) => self.send(*message).await,
            Request::StandStill(standing, go_on) => {
                let _ = standing.send(());
                let _ = go_on.await;
            }
            Request::Close(code) => self.wire.close(code).await,
        }
    }

    async fn send(&mut self, message: PageToBridge) {
        self.wire.send(&message.encode()).await;
    }
}

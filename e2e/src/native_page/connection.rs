//! The task that owns the socket of a native page during one connection.

use std::time::Instant;

use bridge_protocol::{
    Authenticated, BridgeToPage, CallReceived, CallsCheck, ErrorCode, Heartbeat, PageToBridge,
    RegistrationId, Unregister,
};
use tokio::sync::oneshot;

use super::call::{HandlerAction, IncomingCall};
use super::tab::{Acknowledgement, CallStart, OwnerRequest, Tab};
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

    /// Runs until the connection ends. Returns the page and the close code of the bridge, if any.
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
            // The messages of a handler are sent before its result.
                            biased;
                            Some(action) = tab.actions.1.recv() => self.on_handler_action(action).await,
                            Some((id, outcome)) = tab.finished.1.recv() => {
                                let text = self.tab.finished(id, outcome);
                                self.wire.send(&text).await;
                            }
                            message = self.wire.recv() => match message {
                                Ok(message) => self.on_message(message).await,
                                Err(code) => return code,
                            },
                            Some(request) = tab.requests.recv() => self.on_owner_request(request).await,
                        }
        }
    }

    /// Resumes after the previous connection: sends awaited answers and registers all items.
    async fn resume(&mut self, authenticated: &Authenticated) {
        for text in self.tab.connected(authenticated) {
            self.wire.send(&text).await;
        }
        if !self.tab.items.is_empty() {
            let registration = self.tab.registration();
            self.send(registration).await;
        }
    }

    async fn on_message(&mut self, message: BridgeToPage) {
        match message {
            BridgeToPage::ToolCall(call) => self.on_call(call.into()).await,
            BridgeToPage::PromptGet(get) => self.on_call(get.into()).await,
            BridgeToPage::ResourceRead(read) => self.on_call(read.into()).await,
            BridgeToPage::Completion(completion) => self.on_call(completion.into()).await,
            BridgeToPage::CallCancel(cancel) => self.tab.cancelled(cancel.request_id, cancel.code),
            BridgeToPage::CallsAlive(alive) => {
                for id in alive.ended {
                    self.tab.cancelled(id, ErrorCode::CallCancelled);
                }
                for id in alive.request_ids {
                    if let Some(call) = self.tab.unconfirmed.remove(&id) {
                        self.tab.start(call);
                    }
                }
            }
            BridgeToPage::ClientResponses(responses) => self.tab.client_answered(responses),
            BridgeToPage::Subscriptions(subscriptions) => {
                let _ = self.tab.events.subscriptions.send(subscriptions.uris);
            }
            BridgeToPage::Heartbeat(Heartbeat { sequence, answers }) => {
                self.tab.answers.acknowledge(answers);
                let answers = 0;
                self.send(PageToBridge::HeartbeatAck(Heartbeat { sequence, answers }))
                    .await;
            }
            BridgeToPage::Registered(answer) => {
                self.tab.acknowledge(Acknowledgement::Registered(answer))
            }
            BridgeToPage::Unregistered(answer) => {
                self.tab.acknowledge(Acknowledgement::Unregistered(answer))
            }
            BridgeToPage::Renewed(renewed) => {
                self.tab.acknowledge(Acknowledgement::Renewal(Ok(renewed)))
            }
            BridgeToPage::RenewalFailed(failure) => {
                self.tab.acknowledge(Acknowledgement::Renewal(Err(failure)))
            }
            message @ (BridgeToPage::QueryAccepted(_)
            | BridgeToPage::QueryProgress(_)
            | BridgeToPage::QueryComplete(_)
            | BridgeToPage::QueryFailure(_)
            | BridgeToPage::QueryCancel(_)) => {
                let _ = self
                    .tab
                    .events
                    .query_messages
                    .send((Instant::now(), message));
            }
            _ => {}
        }
    }

    async fn on_call(&mut self, call: IncomingCall) {
        let request_id = call.id.clone();
        if self.tab.setup.acknowledges {
            self.send(PageToBridge::CallReceived(CallReceived {
                request_id: request_id.clone(),
            }))
            .await;
        }
        match self.tab.on_call(&call) {
            CallStart::Now => self.tab.start(call),
            CallStart::WhenAlive => {
                self.tab.unconfirmed.insert(request_id.clone(), call);
                let request_ids = vec![request_id];
                let check = CallsCheck {
                    check: 1,
                    request_ids,
                };
                self.send(PageToBridge::CallsCheck(check)).await;
            }
            CallStart::Never => {}
        }
    }

    async fn on_handler_action(&mut self, action: HandlerAction) {
        let message = match action {
            HandlerAction::Send(message) => *message,
            HandlerAction::AskClient(requests, responders) => {
                self.tab.await_client(&requests, responders);
                PageToBridge::ClientRequests(requests)
            }
        };
        self.send(message).await;
    }

    async fn on_owner_request(&mut self, request: OwnerRequest) {
        match request {
            OwnerRequest::Register(items) => {
                let registration = self.tab.register(items);
                self.send(registration).await;
            }
            OwnerRequest::Unregister(items) => {
                self.tab.items.retain(|item, _| !items.contains(item));
                self.send(PageToBridge::Unregister(Unregister {
                    registration_id: RegistrationId::from("unregister"),
                    items,
                }))
                .await;
            }
            OwnerRequest::Send(message) => self.send(*message).await,
            OwnerRequest::Pause(paused, resumed) => {
                let _ = paused.send(());
                let _ = resumed.await;
            }
            OwnerRequest::Close(code) => self.wire.close(code).await,
        }
    }

    async fn send(&mut self, message: PageToBridge) {
        self.wire.send(&message.encode()).await;
    }
}

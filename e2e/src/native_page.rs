//! A page without a browser: the page protocol, implemented in Rust.
//!
//! `wire` assembles messages from frames, `tab` is the state of the page that survives its
//! connections, `unacknowledged` stores answers for the next connection, `connection` is the task
//! of one connection, and `setup` has the page's settings and credentials.

mod call;
mod connection;
mod item;
mod setup;
mod tab;
mod unacknowledged;
mod wire;

use std::time::Instant;

use bridge_protocol::{
    Authenticated, AuthenticationFailed, BridgeToPage, CallId, ErrorCode, Item, Kind, Leaving,
    PageState, PageToBridge, Query, QueryCancel, QueryId, Registered, Renew, RenewalFailed,
    Renewed, ResourceUpdated, Unregistered, Visibility,
};
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::task::JoinHandle;

pub use self::call::{CallInput, NativeCall};
use self::connection::Connection;
pub use self::item::{NativeAnswer, NativeFailure, NativeItem, NativeOutcome};
use self::setup::Credentials;
pub use self::setup::NativeSetup;
use self::tab::{Acknowledgement, EventSenders, OwnerRequest, Tab};
use self::wire::Wire;
use crate::{TestBed, with_deadline};

/// A connected page. If it is dropped, its connection breaks as if the machine had crashed.
pub struct NativePage {
    credentials: Credentials,
    authenticated: Box<Authenticated>,
    requests: mpsc::Sender<OwnerRequest>,
    calls: Mutex<mpsc::UnboundedReceiver<CallId>>,
    cancels: Mutex<mpsc::UnboundedReceiver<(CallId, ErrorCode)>>,
    subscription_updates: Mutex<mpsc::UnboundedReceiver<Vec<String>>>,
    acknowledgements: Mutex<mpsc::UnboundedReceiver<Acknowledgement>>,
    query_messages: Mutex<mpsc::UnboundedReceiver<(Instant, BridgeToPage)>>,
    connection: Option<ActiveConnection>,
}

/// The task of the current or last connection.
struct ActiveConnection {
    task: JoinHandle<(Tab, Option<u16>)>,
    cut: oneshot::Sender<()>,
}

/// A page that does nothing until this is dropped.
pub struct PausedPage {
    _resume: oneshot::Sender<()>,
}

impl NativePage {
    /// Connects, authenticates with the test bed's token and registers `items`.
    pub async fn open(bed: &TestBed, session: &str, items: Vec<NativeItem>) -> Self {
        Self::open_with(bed, session, NativeSetup::default(), items).await
    }

    /// Connects with `setup`, authenticates and registers `items`.
    pub async fn open_with(
        bed: &TestBed,
        session: &str,
        setup: NativeSetup,
        items: Vec<NativeItem>,
    ) -> Self {
        let page = Self::try_open(bed, session, setup).await;
        let page =
            page.unwrap_or_else(|failure| panic!("the bridge rejects the page: {failure:?}"));
        let registered = page.register(items).await;
        assert_eq!(registered.errors, [], "every definition is accepted");
        page
    }

    /// Connects and authenticates.
    ///
    /// # Errors
    /// Returns an error when the bridge rejects the page.
    pub async fn try_open(
        bed: &TestBed,
        session: &str,
        setup: NativeSetup,
    ) -> Result<Self, AuthenticationFailed> {
        let credentials = Credentials::new(bed, session, &setup);
        let (wire, authenticated) = credentials.authenticate(bed).await?;
        let (request_sender, requests) = mpsc::channel(16);
        let (call_sender, calls) = mpsc::unbounded_channel();
        let (cancel_sender, cancels) = mpsc::unbounded_channel();
        let (subscription_sender, subscription_updates) = mpsc::unbounded_channel();
        let (acknowledgement_sender, acknowledgements) = mpsc::unbounded_channel();
        let (query_sender, query_messages) = mpsc::unbounded_channel();
        let events = EventSenders {
            calls: call_sender,
            cancels: cancel_sender,
            subscriptions: subscription_sender,
            acknowledgements: acknowledgement_sender,
            query_messages: query_sender,
        };
        let tab = Tab::new(setup, requests, events);
        Ok(Self {
            credentials,
            connection: Some(ActiveConnection::new(tab, wire, authenticated.clone())),
            authenticated,
            requests: request_sender,
            calls: Mutex::new(calls),
            cancels: Mutex::new(cancels),
            subscription_updates: Mutex::new(subscription_updates),
            acknowledgements: Mutex::new(acknowledgements),
            query_messages: Mutex::new(query_messages),
        })
    }

    /// Breaks the connection if it is open, and connects again as the same page: running calls
    /// continue, awaited answers are sent again, and all items are registered again.
    pub async fn reconnect(&mut self, bed: &TestBed) {
        let (tab, _) = self.disconnected().await;
        self.reconnect_tab(tab, bed).await;
    }

    /// Waits until the bridge ends the connection, and connects again as the same page. Returns the
    /// close code, if there was one.
    pub async fn reconnect_after_close(&mut self, bed: &TestBed) -> Option<u16> {
        let (tab, code) = self.wait_ended().await;
        self.reconnect_tab(tab, bed).await;
        code
    }

    async fn reconnect_tab(&mut self, tab: Tab, bed: &TestBed) {
        let has_items = !tab.items.is_empty();
        let result = self.credentials.authenticate(bed).await;
        let (wire, authenticated) =
            result.unwrap_or_else(|failure| panic!("the bridge rejects the page: {failure:?}"));
        self.authenticated = authenticated.clone();
        self.connection = Some(ActiveConnection::new(tab, wire, authenticated));
        if has_items {
            self.recv_registered().await;
        }
    }

    /// Returns the bridge's answer to the last `authenticate`.
    pub fn authenticated(&self) -> &Authenticated {
        &self.authenticated
    }

    /// Registers items and waits for the acknowledgement.
    pub async fn register(&self, items: Vec<NativeItem>) -> Registered {
        self.send_request(OwnerRequest::Register(items)).await;
        self.recv_registered().await
    }

    async fn recv_registered(&self) -> Registered {
        match self.recv_acknowledgement().await {
            Acknowledgement::Registered(answer) => answer,
            other => panic!("not an answer to `register`: {other:?}"),
        }
    }

    /// Removes items, each by its name, URI or URI template, and waits for the acknowledgement.
    pub async fn unregister(&self, items: &[(Kind, &str)]) -> Unregistered {
        let item = |&(kind, name): &(Kind, &str)| Item {
            kind,
            name: name.to_owned(),
        };
        self.send_request(OwnerRequest::Unregister(items.iter().map(item).collect()))
            .await;
        match self.recv_acknowledgement().await {
            Acknowledgement::Unregistered(answer) => answer,
            other => panic!("not an answer to `unregister`: {other:?}"),
        }
    }

    /// Waits for the next call that reaches the page.
    pub async fn next_call(&self) -> CallId {
        let mut calls = self.calls.lock().await;
        with_deadline("a call to reach the page", calls.recv())
            .await
            .expect("the page is connected")
    }

    /// Waits for the next call that the bridge cancels; returns the code, too.
    pub async fn next_cancel(&self) -> (CallId, ErrorCode) {
        let mut cancels = self.cancels.lock().await;
        with_deadline("a call to be cancelled", cancels.recv())
            .await
            .expect("the page is connected")
    }

    /// Waits for the next list of subscribed resources; there is one after each change.
    pub async fn next_subscriptions(&self) -> Vec<String> {
        let mut subscriptions = self.subscription_updates.lock().await;
        with_deadline("the subscriptions to change", subscriptions.recv())
            .await
            .expect("the page is connected")
    }

    /// Reports that the content of a resource has changed.
    pub async fn resource_updated(&self, uri: &str) {
        let uri = uri.to_owned();
        self.send(PageToBridge::ResourceUpdated(ResourceUpdated { uri }))
            .await;
    }

    /// Sends a message without any checks.
    pub async fn send(&self, message: PageToBridge) {
        self.send_request(OwnerRequest::Send(Box::new(message)))
            .await;
    }

    /// Sends a query to the agent.
    pub async fn send_query(&self, query: Query) {
        self.send(PageToBridge::Query(Box::new(query))).await;
    }

    /// Cancels a query.
    pub async fn cancel_query(&self, query: &QueryId) {
        let uuid = query.clone();
        let reason = Some("enough".to_owned());
        self.send(PageToBridge::QueryCancel(QueryCancel { uuid, reason }))
            .await;
    }

    /// Waits for the next message about any of the page's queries, and returns when it arrived.
    pub async fn next_query_message(&self) -> (Instant, BridgeToPage) {
        let mut messages = self.query_messages.lock().await;
        with_deadline("a message about a query", messages.recv())
            .await
            .expect("the page is connected")
    }

    /// Returns the next message about any of the page's queries that has already arrived.
    pub async fn try_next_query_message(&self) -> Option<(Instant, BridgeToPage)> {
        self.query_messages.lock().await.try_recv().ok()
    }

    /// Presents a new token on the open socket, and uses it for later connections.
    ///
    /// # Errors
    /// Returns an error when the bridge rejects it; the previous token remains valid.
    pub async fn renew(&mut self, token: &str) -> Result<Renewed, RenewalFailed> {
        let auth_token = token.to_owned();
        self.send(PageToBridge::Renew(Renew { auth_token })).await;
        self.credentials.token = token.to_owned();
        match self.recv_acknowledgement().await {
            Acknowledgement::Renewal(renewal) => renewal,
            other => panic!("not an answer to `renew`: {other:?}"),
        }
    }

    /// Reports that the browser freezes the page, or that the page runs again.
    pub async fn freeze(&self, frozen: bool) {
        self.send(PageToBridge::PageState(PageState {
            visibility: Visibility::Hidden,
            focused: false,
            frozen,
            page_title: None,
        }))
        .await;
    }

    /// Pauses the page as if its main thread were busy: it neither reads nor sends anything.
    pub async fn pause(&self) -> PausedPage {
        let (paused_sender, paused) = oneshot::channel();
        let (resume, resumed) = oneshot::channel();
        self.send_request(OwnerRequest::Pause(paused_sender, resumed))
            .await;
        with_deadline("the page to pause", paused).await.unwrap();
        PausedPage { _resume: resume }
    }

    /// Sends `leaving`, like a document that is unloaded, but stays connected.
    pub async fn leave(&self) {
        self.leave_handing_over(&[]).await;
    }

    /// Sends `leaving` and hands these calls over. The bridge then closes the connection.
    pub async fn leave_handing_over(&self, calls: &[CallId]) {
        let hands_over = calls.to_vec();
        self.send(PageToBridge::Leaving(Leaving { hands_over }))
            .await;
    }

    /// Closes the socket with `code` and waits until it is closed.
    pub async fn close(mut self, code: u16) {
        self.send_request(OwnerRequest::Close(code)).await;
        self.wait_ended().await;
    }

    /// Ends the TCP connection without a close frame; the bridge sees code 1006.
    pub fn cut(self) {}

    /// Waits until the bridge closes the socket and returns its code, if it sent one.
    pub async fn wait_closed(mut self) -> Option<u16> {
        self.wait_ended().await.1
    }

    async fn wait_ended(&mut self) -> (Tab, Option<u16>) {
        let connection = self.connection.as_mut().expect("the page was connected");
        with_deadline("the page socket to end", &mut connection.task)
            .await
            .expect("the connection does not panic")
    }

    async fn disconnected(&mut self) -> (Tab, Option<u16>) {
        let connection = self.connection.take().expect("the page was connected");
        // The send fails if the connection has already ended.
        let _ = connection.cut.send(());
        with_deadline("the page socket to end", connection.task)
            .await
            .expect("the connection does not panic")
    }

    async fn send_request(&self, request: OwnerRequest) {
        let sent = self.requests.send(request).await;
        assert!(sent.is_ok(), "the page socket is closed");
    }

    async fn recv_acknowledgement(&self) -> Acknowledgement {
        let mut acknowledgements = self.acknowledgements.lock().await;
        with_deadline("an acknowledgement of the bridge", acknowledgements.recv())
            .await
            .expect("the page is connected")
    }
}

impl Drop for NativePage {
    fn drop(&mut self) {
        if let Some(connection) = &self.connection {
            connection.task.abort();
        }
    }
}

impl ActiveConnection {
    fn new(tab: Tab, wire: Wire, authenticated: Box<Authenticated>) -> Self {
        let (cut, cut_receiver) = oneshot::channel();
        let connection = Connection::new(tab, wire);
        Self {
            task: tokio::spawn(connection.run(authenticated, cut_receiver)),
            cut,
        }
    }
}

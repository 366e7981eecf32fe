//! A page without a browser: the page protocol, spoken from Rust.
//!
//! `wire` puts messages together, `tab` is the page as it outlives its connections, `answers` what it
//! keeps for the next one, `connection` the task in between, `setup` how it presents itself.

mod call;
mod connection;
mod item;
mod setup;
mod tab;
mod unacknowledged;
mod wire;

use std::time::Instant;

use bridge_protocol::{
    Authenticated, AuthenticationFailed, BridgeToPage, CallId, ErrorCode, Item, Kind, PageState,
    PageToBridge, Query, QueryCancel, QueryId, Registered, Renew, RenewalFailed, Renewed,
    ResourceUpdated, Unregistered, Visibility,
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

/// A connected page. Dropping it cuts its connection as a crash of the machine would.
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

/// A connection that lasts, or has ended.
struct ActiveConnection {
    task: JoinHandle<(Tab, Option<u16>)>,
    cut: oneshot::Sender<()>,
}

/// A page that does nothing at all. It goes on when this is dropped.
pub struct PausedPage {
    _resume: oneshot::Sender<()>,
}

impl NativePage {
    /// Connects, authenticates with the world's token and registers `items`.
    pub async fn open(world: &TestBed, session: &str, items: Vec<NativeItem>) -> Self {
        Self::open_with(world, session, NativeSetup::default(), items).await
    }

    /// The same with manners of its own.
    pub async fn open_with(
        world: &TestBed,
        session: &str,
        setup: NativeSetup,
        items: Vec<NativeItem>,
    ) -> Self {
        let page = Self::try_open(world, session, setup).await;
        let page = page.unwrap_or_else(|refused| panic!("the bridge refused {refused:?}"));
        let registered = page.register(items).await;
        assert_eq!(registered.errors, [], "every definition is accepted");
        page
    }

    /// Connects and authenticates.
    ///
    /// # Errors
    /// When the bridge refuses the page.
    pub async fn try_open(
        world: &TestBed,
        session: &str,
        setup: NativeSetup,
    ) -> Result<Self, AuthenticationFailed> {
        let credentials = Credentials::new(world, session, &setup);
        let (wire, authenticated) = credentials.authenticate(world).await?;
        let (requests, request) = mpsc::channel(16);
        let (call, calls) = mpsc::unbounded_channel();
        let (cancel, cancels) = mpsc::unbounded_channel();
        let (subscribed, subscriptions) = mpsc::unbounded_channel();
        let (answer, answers) = mpsc::unbounded_channel();
        let (tell, told) = mpsc::unbounded_channel();
        let heard = EventSenders {
            calls: call,
            cancels: cancel,
            subscriptions: subscribed,
            acknowledgements: answer,
            query_messages: tell,
        };
        let tab = Tab::new(setup, request, heard);
        Ok(Self {
            credentials,
            connection: Some(ActiveConnection::new(tab, wire, authenticated.clone())),
            authenticated,
            requests,
            calls: Mutex::new(calls),
            cancels: Mutex::new(cancels),
            subscription_updates: Mutex::new(subscriptions),
            acknowledgements: Mutex::new(answers),
            query_messages: Mutex::new(told),
        })
    }

    /// Cuts the connection, if it lasts, and connects again as the same page: what runs goes on,
    /// what is awaited is sent again, everything is registered again.
    pub async fn reconnect(&mut self, world: &TestBed) {
        let (tab, _) = self.disconnected().await;
        self.reconnect_tab(tab, world).await;
    }

    /// Waits until the bridge ends the connection, connects again as the same page and returns the
    /// close code, if there was one.
    pub async fn reconnect_after_close(&mut self, world: &TestBed) -> Option<u16> {
        let (tab, code) = self.wait_ended().await;
        self.reconnect_tab(tab, world).await;
        code
    }

    async fn reconnect_tab(&mut self, tab: Tab, world: &TestBed) {
        let registers = !tab.items.is_empty();
        let admitted = self.credentials.authenticate(world).await;
        let (wire, authenticated) =
            admitted.unwrap_or_else(|refused| panic!("the bridge refused {refused:?}"));
        self.authenticated = authenticated.clone();
        self.connection = Some(ActiveConnection::new(tab, wire, authenticated));
        if registers {
            self.recv_registered().await;
        }
    }

    /// What the bridge said when it let the page in for the last time.
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

    /// The next call that reached the page.
    pub async fn called(&self) -> CallId {
        let mut calls = self.calls.lock().await;
        with_deadline("a call to reach the page", calls.recv())
            .await
            .expect("the page is connected")
    }

    /// The next call that the bridge cancelled, and why.
    pub async fn next_cancel(&self) -> (CallId, ErrorCode) {
        let mut cancels = self.cancels.lock().await;
        with_deadline("a call to be cancelled", cancels.recv())
            .await
            .expect("the page is connected")
    }

    /// The next list of subscribed resources; there is one after each change.
    pub async fn next_subscriptions(&self) -> Vec<String> {
        let mut subscriptions = self.subscription_updates.lock().await;
        with_deadline("the subscriptions to change", subscriptions.recv())
            .await
            .expect("the page is connected")
    }

    /// Says that the content of a resource changed.
    pub async fn resource_updated(&self, uri: &str) {
        let uri = uri.to_owned();
        self.send(PageToBridge::ResourceUpdated(ResourceUpdated { uri }))
            .await;
    }

    /// Sends a message as it is.
    pub async fn send(&self, message: PageToBridge) {
        self.send_request(OwnerRequest::Send(Box::new(message)))
            .await;
    }

    /// Asks the agent.
    pub async fn ask(&self, query: Query) {
        self.send(PageToBridge::Query(query)).await;
    }

    /// No longer wants to know.
    pub async fn cancel_query(&self, query: &QueryId) {
        let uuid = query.clone();
        let reason = Some("enough".to_owned());
        self.send(PageToBridge::QueryCancel(QueryCancel { uuid, reason }))
            .await;
    }

    /// The next message about any of its queries, and when it came.
    pub async fn told(&self) -> (Instant, BridgeToPage) {
        let mut told = self.query_messages.lock().await;
        with_deadline("word of a query", told.recv())
            .await
            .expect("the page is connected")
    }

    /// A message about any of its queries that has come already.
    pub async fn try_next_query_message(&self) -> Option<(Instant, BridgeToPage)> {
        self.query_messages.lock().await.try_recv().ok()
    }

    /// Presents a fresh token on the open socket, and whenever it connects again.
    ///
    /// # Errors
    /// When the bridge refuses it; the former one counts on.
    pub async fn renew(&mut self, token: &str) -> Result<Renewed, RenewalFailed> {
        let auth_token = token.to_owned();
        self.send(PageToBridge::Renew(Renew { auth_token })).await;
        self.credentials.token = token.to_owned();
        match self.recv_acknowledgement().await {
            Acknowledgement::Renewal(renewal) => renewal,
            other => panic!("not an answer to `renew`: {other:?}"),
        }
    }

    /// Says that the browser freezes the page, or that it goes on.
    pub async fn freeze(&self, frozen: bool) {
        self.send(PageToBridge::PageState(PageState {
            visibility: Visibility::Hidden,
            focused: false,
            frozen,
            page_title: None,
        }))
        .await;
    }

    /// Stands still as a page does whose main thread is busy: it reads and says nothing.
    pub async fn pause(&self) -> PausedPage {
        let (standing, stands) = oneshot::channel();
        let (go_on, goes_on) = oneshot::channel();
        self.send_request(OwnerRequest::Pause(standing, goes_on))
            .await;
        with_deadline("the page to stand still", stands)
            .await
            .unwrap();
        PausedPage { _resume: go_on }
    }

    /// Says `leaving`, as a document does that goes away, and stays connected.
    pub async fn leave(&self) {
        self.send(PageToBridge::Leaving {}).await;
    }

    /// Closes the socket with `code` and waits until it is closed.
    pub async fn close(mut self, code: u16) {
        self.send_request(OwnerRequest::Close(code)).await;
        self.wait_ended().await;
    }

    /// Ends the TCP connection without a close frame: the other side sees 1006.
    pub fn cut(self) {}

    /// Waits until the bridge closes the socket and returns its code, if it sent one.
    pub async fn wait_closed(mut self) -> Option<u16> {
        self.wait_ended().await.1
    }

    async fn wait_ended(&mut self) -> (Tab, Option<u16>) {
        let connection = self.connection.as_mut().expect("it was connected");
        with_deadline("the page socket to end", &mut connection.task)
            .await
            .expect("the connection does not panic")
    }

    async fn disconnected(&mut self) -> (Tab, Option<u16>) {
        let connection = self.connection.take().expect("it was connected");
        // One that has ended cannot be cut any more.
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
        let mut answers = self.acknowledgements.lock().await;
        with_deadline("an acknowledgement of the bridge", answers.recv())
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
        let (cut, is_cut) = oneshot::channel();
        let connection = Connection::new(tab, wire);
        Self {
            task: tokio::spawn(connection.run(authenticated, is_cut)),
            cut,
        }
    }
}

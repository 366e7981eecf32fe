//! A page without a browser: the page protocol, spoken from Rust.

mod call;
mod connection;
mod item;

use bridge_protocol::{
    App, Authenticate, BridgeToPage, CallId, ErrorCode, Item, Kind, PageToBridge, Registered,
    ResourceUpdated, Unregistered,
};
use futures_util::{SinkExt, StreamExt};
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinHandle;
use tokio_tungstenite::connect_async_with_config;
use tokio_tungstenite::tungstenite::Message;

pub use self::call::{NativeCall, Wanted};
use self::connection::{Answer, Connection, Heard, Request};
pub use self::item::{NativeAnswer, NativeFailure, NativeItem, NativeOutcome};
use crate::{World, within};

/// A connected page. Dropping it cuts its connection as a crash of the machine would.
pub struct NativePage {
    requests: mpsc::Sender<Request>,
    calls: Mutex<mpsc::UnboundedReceiver<CallId>>,
    cancels: Mutex<mpsc::UnboundedReceiver<(CallId, ErrorCode)>>,
    subscriptions: Mutex<mpsc::UnboundedReceiver<Vec<String>>>,
    answers: Mutex<mpsc::UnboundedReceiver<Answer>>,
    connection: JoinHandle<Option<u16>>,
}

impl NativePage {
    /// Connects, authenticates with the world's token and registers `items`.
    pub async fn open(world: &World, session: &str, items: Vec<NativeItem>) -> Self {
        let url = world.page_url(session);
        // As browsers do: else each answer waits for the peer's acknowledgement of the receipt.
        let connected = connect_async_with_config(url, None, true);
        let (mut socket, _) = within("the page socket", connected).await.unwrap();
        let hello = PageToBridge::Authenticate(credentials(world, session));
        socket.send(Message::text(hello.encode())).await.unwrap();
        let answer = within("`authenticated`", socket.next()).await;
        let answer = answer.expect("an answer").unwrap().into_text().unwrap();
        let answer = BridgeToPage::decode(&answer).unwrap();
        assert!(
            matches!(answer, BridgeToPage::Authenticated(_)),
            "the bridge answered {answer:?}"
        );

        let (requests, request) = mpsc::channel(16);
        let (call, calls) = mpsc::unbounded_channel();
        let (cancel, cancels) = mpsc::unbounded_channel();
        let (subscribed, subscriptions) = mpsc::unbounded_channel();
        let (answer, answers) = mpsc::unbounded_channel();
        let heard = Heard {
            call,
            cancel,
            subscribed,
            answer,
        };
        let page = Self {
            requests,
            calls: Mutex::new(calls),
            cancels: Mutex::new(cancels),
            subscriptions: Mutex::new(subscriptions),
            answers: Mutex::new(answers),
            connection: tokio::spawn(Connection::new(socket, request, heard).run()),
        };
        let registered = page.register(items).await;
        assert_eq!(registered.errors, [], "every definition is accepted");
        page
    }

    /// Registers items and waits for the acknowledgement.
    pub async fn register(&self, items: Vec<NativeItem>) -> Registered {
        self.request(Request::Register(items)).await;
        match self.answer().await {
            Answer::Registered(answer) => answer,
            Answer::Unregistered(answer) => panic!("not an answer to `register`: {answer:?}"),
        }
    }

    /// Removes items, each by its name, URI or URI template, and waits for the acknowledgement.
    pub async fn unregister(&self, items: &[(Kind, &str)]) -> Unregistered {
        let item = |&(kind, name): &(Kind, &str)| Item {
            kind,
            name: name.to_owned(),
        };
        self.request(Request::Unregister(items.iter().map(item).collect()))
            .await;
        match self.answer().await {
            Answer::Unregistered(answer) => answer,
            Answer::Registered(answer) => panic!("not an answer to `unregister`: {answer:?}"),
        }
    }

    /// The next call that reached the page.
    pub async fn called(&self) -> CallId {
        let mut calls = self.calls.lock().await;
        within("a call to reach the page", calls.recv())
            .await
            .expect("the page is connected")
    }

    /// The next call that the bridge cancelled, and why.
    pub async fn cancelled(&self) -> (CallId, ErrorCode) {
        let mut cancels = self.cancels.lock().await;
        within("a call to be cancelled", cancels.recv())
            .await
            .expect("the page is connected")
    }

    /// The next list of subscribed resources; there is one after each change.
    pub async fn subscriptions(&self) -> Vec<String> {
        let mut subscriptions = self.subscriptions.lock().await;
        within("the subscriptions to change", subscriptions.recv())
            .await
            .expect("the page is connected")
    }

    /// Says that the content of a resource changed.
    pub async fn resource_updated(&self, uri: &str) {
        let uri = uri.to_owned();
        self.say(PageToBridge::ResourceUpdated(ResourceUpdated { uri }))
            .await;
    }

    /// Sends a message as it is.
    pub async fn say(&self, message: PageToBridge) {
        self.request(Request::Say(Box::new(message))).await;
    }

    /// Says `leaving`, as a document does that goes away, and stays connected.
    pub async fn leave(&self) {
        self.say(PageToBridge::Leaving {}).await;
    }

    /// Closes the socket with `code` and waits until it is closed.
    pub async fn close(mut self, code: u16) {
        self.request(Request::Close(code)).await;
        let _ = within("the page socket to close", &mut self.connection).await;
    }

    /// Ends the TCP connection without a close frame: the other side sees 1006.
    pub fn cut(self) {}

    /// Waits until the bridge closes the socket and returns its code, if it sent one.
    pub async fn closed(mut self) -> Option<u16> {
        within("the bridge to close the page socket", &mut self.connection)
            .await
            .expect("the connection does not panic")
    }

    async fn request(&self, request: Request) {
        let sent = self.requests.send(request).await;
        assert!(sent.is_ok(), "the page socket is closed");
    }

    async fn answer(&self) -> Answer {
        let mut answers = self.answers.lock().await;
        within("an acknowledgement of the bridge", answers.recv())
            .await
            .expect("the page is connected")
    }
}

impl Drop for NativePage {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

fn credentials(world: &World, session: &str) -> Authenticate {
    Authenticate {
        protocol: Some(bridge_protocol::PROTOCOL_VERSION),
        auth_token: Some(world.token().to_owned()),
        session_id: Some(session.into()),
        session_name: None,
        origin: None,
        page_title: Some("Native page".to_owned()),
        user_agent: None,
        app: Some(App {
            name: "Native page".to_owned(),
            description: None,
            version: None,
            icon: None,
        }),
        timestamp: None,
    }
}

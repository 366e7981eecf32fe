//! The task of the directory: connections, one after another.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use async_nats::{Client, Subscriber, jetstream};
use futures_util::StreamExt;
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::buckets::Buckets;
use super::connection::{self, Connection};
use super::events::{Events, Problem};
use super::settings::NatsSettings;
use super::shared::{Session, Shared};
use super::watches::{self, Watches};
use crate::directory::DirectoryObserver;
use crate::names::NodeId;

/// The pause before a connection or the buckets are opened again.
const RETRY_PAUSE: Duration = Duration::from_millis(250);

/// How long a request may take that opens a bucket. Servers without a leader do not answer at all, so a
/// longer time would only be lost.
const SETUP_TIMEOUT: Duration = Duration::from_secs(2);

/// The subject on which a node answers, empty, as long as it is connected.
pub(super) fn node_subject(name: &str, node: &NodeId) -> String {
    format!("{name}.node.{node}")
}

/// Keeps a connection open until the future is dropped.
pub(super) async fn run(
    shared: Arc<Shared>,
    settings: NatsSettings,
    own: NodeId,
    observer: Arc<dyn DirectoryObserver>,
) {
    let events = Events::new(observer);
    loop {
        match connection::open(&settings, &own).await {
            Ok(connection) => {
                serve(connection, &shared, &settings, &own, &events).await;
                shared.set_session(None);
                events.away();
            }
            Err(problem) => events.problem(problem),
        }
        sleep(RETRY_PAUSE).await;
    }
}

/// Uses a connection until it is lost.
async fn serve(
    connection: Connection,
    shared: &Shared,
    settings: &NatsSettings,
    own: &NodeId,
    events: &Events,
) {
    let Connection {
        client,
        lost,
        refusals,
    } = connection;
    // Before all requests: when the first of them was answered, the server has the subscription.
    let Ok(requests) = client.subscribe(node_subject(&settings.name, own)).await else {
        return;
    };
    tokio::select! {
        () = lost.cancelled() => {}
        () = answer(&client, requests) => {}
        () = report(refusals, events) => {}
        never = follow(&client, shared, settings, own, events) => match never {},
    }
}

/// Answers those who ask whether this node is connected.
pub(super) async fn answer(client: &Client, mut requests: Subscriber) {
    while let Some(request) = requests.next().await {
        if let Some(reply) = request.reply {
            // A failure ends the connection, and with it this future.
            let _ = client.publish(reply, Default::default()).await;
        }
    }
}

async fn report(mut refusals: mpsc::Receiver<String>, events: &Events) {
    while let Some(text) = refusals.recv().await {
        events.problem(refused_right(&text));
    }
}

/// The problem that NATS has described with this text.
pub(super) fn refused_right(text: &str) -> Problem {
    let text = without_keys(text);
    Problem::Refused(format!(
        "NATS refuses a right of the user or account: {text}"
    ))
}

/// Opens the buckets and follows the nodes and denials, again after each failure.
async fn follow(
    client: &Client,
    shared: &Shared,
    settings: &NatsSettings,
    own: &NodeId,
    events: &Events,
) -> Infallible {
    let mut context = jetstream::new(client.clone());
    context.set_timeout(SETUP_TIMEOUT);
    loop {
        let opened = async {
            let buckets = Buckets::open(&context, settings).await?;
            let watches = Watches::open(&buckets, events).await?;
            Ok::<_, Problem>((buckets, watches))
        };
        match opened.await {
            Ok((buckets, watches)) => {
                shared.set_session(Some(Session {
                    client: client.clone(),
                    nodes: buckets.nodes.clone(),
                    realms: buckets.realms.clone(),
                    denials: buckets.denials.clone(),
                }));
                events.connected();
                watches::follow(watches, &buckets, &context, shared, own, events).await;
                events.away();
            }
            Err(problem) => events.problem(problem),
        }
        sleep(RETRY_PAUSE).await;
    }
}

/// The shortest part of a subject that is a random name and not a word.
const MIN_KEY_CHARS: usize = 20;

/// Shortens the random parts of the subjects in a text: the log does not show keys of realms, and a
/// refusal that differs only in them is not reported again.
fn without_keys(text: &str) -> String {
    let part = |part: &str| {
        let is_key =
            part.len() >= MIN_KEY_CHARS && part.bytes().all(|it| it.is_ascii_alphanumeric());
        if is_key {
            "…".to_owned()
        } else {
            part.to_owned()
        }
    };
    let mut result = String::new();
    for piece in text.split_inclusive(|character: char| !character.is_ascii_alphanumeric()) {
        let word = piece.trim_end_matches(|character: char| !character.is_ascii_alphanumeric());
        result.push_str(&part(word));
        result.push_str(&piece[word.len()..]);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_shown_without_keys() {
        let key = "MFRGGZDFMZTWQ2LKMFRGGZDFMZTWQ2LK";
        let text = format!(r#"Permissions Violation for Publish to "$KV.P-realms.{key}""#);
        let expected = r#"Permissions Violation for Publish to "$KV.P-realms.…""#;
        assert_eq!(without_keys(&text), expected);
    }
}

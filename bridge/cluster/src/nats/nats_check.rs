//! Checks NATS as a node would use it, and changes nothing there.
//!
//! Each right is checked with a request that the server rejects after the check of the right: it names
//! another stream than its subject, or a revision that a record does not have.

use std::fmt::Display;
use std::iter;
use std::time::Duration;

use async_nats::client::RequestErrorKind;
use async_nats::jetstream::kv::{Operation, Store};
use async_nats::jetstream::{self, Context};
use async_nats::{Client, HeaderMap, HeaderValue, header};
use futures_util::TryStreamExt;
use futures_util::future::join_all;
use tokio::time::timeout;

use super::buckets;
use super::connection::{self, Connection};
use super::events::Problem;
use super::session::{answer, node_subject, refused_right};
use super::settings::NatsSettings;
use crate::names::NodeId;

/// How long a server may take to accept a connection, with the look-up of its name.
const OPEN_TIMEOUT: Duration = Duration::from_secs(5);

/// How long the answer to a request may take.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// A configuration of a stream that has another name than all buckets.
const OTHER_STREAM: &str = r#"{"name":"-","stream_name":"-"}"#;

const CONNECTION_LOST: &str = "the connection to NATS was lost";

/// Result of a check of NATS.
#[derive(Debug, Default)]
pub struct NatsCheck {
    /// Errors in the settings of the bridge or of NATS.
    pub errors: Vec<String>,
    /// Faults that may pass, such as a server that does not run.
    pub warnings: Vec<String>,
    /// The version of the server that was checked, if any can be reached.
    pub version: Option<String>,
    /// The records of the nodes that live.
    pub nodes: Vec<(NodeId, String)>,
}

impl NatsCheck {
    /// Connects to each server, checks the rights of a node with this id, which must be a new one, and
    /// reads the records of all nodes. It takes a few seconds at most.
    pub async fn run(settings: &NatsSettings, own: NodeId) -> Self {
        let mut check = Self::default();
        let opened = join_all(settings.servers.iter().map(|server| {
            let of_server = NatsSettings {
                servers: vec![server.clone()],
                ..settings.clone()
            };
            async move {
                let opening = timeout(OPEN_TIMEOUT, connection::open(&of_server, &own)).await;
                let timed_out = |_| Problem::Failed("NATS does not answer in time".to_owned());
                (server, opening.map_err(timed_out).flatten())
            }
        }));
        let mut connections = Vec::new();
        for (server, opened) in opened.await {
            match opened {
                Ok(connection) => connections.push(connection),
                Err(problem) => check.add(problem, Some(server)),
            }
        }
        if let Some(connection) = connections.into_iter().next() {
            check.check_server(connection, settings, own).await;
        }
        check
    }

    async fn check_server(&mut self, connection: Connection, settings: &NatsSettings, own: NodeId) {
        let Connection {
            client,
            mut refusals,
            lost,
        } = connection;
        self.version = Some(client.server_info().version);
        let subject = node_subject(&settings.name, &own);
        let Ok(questions) = client.subscribe(subject).await else {
            return self.add(Problem::Failed(CONNECTION_LOST.to_owned()), None);
        };
        let unanswered = tokio::select! {
            unanswered = unanswered_requests(&client, requests(&settings.name, &own)) => unanswered,
            () = answer(&client, questions) => {
                return self.add(Problem::Failed(CONNECTION_LOST.to_owned()), None);
            }
            () = lost.cancelled() => {
                return self.add(Problem::Failed(CONNECTION_LOST.to_owned()), None);
            }
        };
        if !unanswered.is_empty() {
            // A request without its right has no answer. The refusal comes by itself.
            let first = timeout(ANSWER_TIMEOUT, refusals.recv()).await;
            let first = first.ok().flatten();
            let mut others = iter::from_fn(|| refusals.try_recv().ok());
            match first {
                Some(text) => iter::once(text)
                    .chain(&mut others)
                    .for_each(|text| self.add(refused_right(&text), None)),
                None => unanswered.into_iter().for_each(|subject| {
                    let text = format!("NATS does not answer {subject}");
                    self.add(Problem::Failed(text), None);
                }),
            }
            return;
        }
        let mut context = jetstream::new(client);
        context.set_timeout(ANSWER_TIMEOUT);
        if let Err(problem) = self.read_buckets(&context, settings).await {
            self.add(problem, None);
        }
    }

    /// Reads the records of the nodes one by one: a watch would leave a consumer behind.
    async fn read_buckets(
        &mut self,
        context: &Context,
        settings: &NatsSettings,
    ) -> Result<(), Problem> {
        let failed = |error: &dyn Display| {
            Problem::Failed(format!("the records in NATS cannot be read: {error}"))
        };
        context
            .query_account()
            .await
            .map_err(|error| failed(&error))?;
        let Some(nodes) = buckets::find(context, &buckets::nodes_name(settings)).await? else {
            return Ok(());
        };
        self.compare(&nodes, settings);
        let subjects = nodes.stream.info_with_subjects(">").await;
        let mut subjects = subjects.map_err(|error| failed(&error))?;
        while let Some((subject, _)) = subjects.try_next().await.map_err(|error| failed(&error))? {
            let key = subject.strip_prefix(&nodes.prefix).unwrap_or_default();
            let Ok(id) = key.parse() else {
                continue;
            };
            let entry = nodes.entry(key).await.map_err(|error| failed(&error))?;
            if let Some(entry) = entry.filter(|entry| entry.operation == Operation::Put) {
                let record = String::from_utf8_lossy(&entry.value).into_owned();
                self.nodes.push((id, record));
            }
        }
        Ok(())
    }

    fn compare(&mut self, nodes: &Store, settings: &NatsSettings) {
        let stored = &nodes.stream.cached_info().config;
        if stored.num_replicas != settings.replicas {
            self.warnings.push(format!(
                "`cluster_replicas` is {}, and the records in NATS have {} replicas, which a start \
                 changes: set it alike for all bridges",
                settings.replicas, stored.num_replicas
            ));
        }
    }

    fn add(&mut self, problem: Problem, server: Option<&str>) {
        let (list, text) = match problem {
            Problem::Refused(text) => (&mut self.errors, text),
            Problem::Failed(text) => (&mut self.warnings, text),
        };
        let text = server.map_or(text.clone(), |server| format!("{server}: {text}"));
        if !list.contains(&text) {
            list.push(text);
        }
    }
}

/// A request that changes nothing.
struct CheckRequest {
    subject: String,
    headers: HeaderMap,
    payload: &'static str,
    /// Whether it has no receiver while its bucket does not exist.
    needs_bucket: bool,
}

/// Returns a request for each right that a node needs.
fn requests(name: &str, own: &NodeId) -> Vec<CheckRequest> {
    let request = |subject: String, payload| CheckRequest {
        subject,
        headers: HeaderMap::new(),
        payload,
        needs_bucket: false,
    };
    let mut requests = vec![
        request("$JS.API.INFO".to_owned(), ""),
        request(node_subject(name, own), ""),
    ];
    for bucket_use in buckets::USES {
        let bucket = format!("{name}-{}", bucket_use.name);
        let record = format!("$KV.{bucket}.{own}");
        let api = |operation: &str, rest: &str| format!("$JS.API.{operation}.KV_{bucket}{rest}");
        requests.extend([
            request(api("STREAM.INFO", ""), ""),
            request(api("STREAM.CREATE", ""), OTHER_STREAM),
            request(api("STREAM.UPDATE", ""), OTHER_STREAM),
        ]);
        if bucket_use.is_watched {
            let consumer = format!(".{own}.$KV.{bucket}.>");
            requests.push(request(api("CONSUMER.CREATE", ""), OTHER_STREAM));
            requests.push(request(api("CONSUMER.CREATE", &consumer), OTHER_STREAM));
        }
        let mut of_record = Vec::new();
        if bucket_use.is_read {
            of_record.push(request(api("DIRECT.GET", &format!(".{record}")), ""));
        }
        let mut write = request(record, "");
        // A new node has no record, so none with this revision.
        let revision = HeaderValue::from(1_u64);
        let expected = header::NATS_EXPECTED_LAST_SUBJECT_SEQUENCE;
        write.headers.insert(expected, revision);
        of_record.push(write);
        requests.extend(of_record.into_iter().map(|request| CheckRequest {
            needs_bucket: true,
            ..request
        }));
    }
    requests
}

/// Sends all requests, and returns the subjects of those that were not answered.
async fn unanswered_requests(client: &Client, requests: Vec<CheckRequest>) -> Vec<String> {
    let sent = requests.into_iter().map(async |request| {
        let CheckRequest {
            subject,
            headers,
            payload,
            needs_bucket,
        } = request;
        let answer = client.request_with_headers(subject.clone(), headers, payload.into());
        let is_answered = match timeout(ANSWER_TIMEOUT, answer).await {
            Ok(Ok(_)) => true,
            Ok(Err(error)) => needs_bucket && error.kind() == RequestErrorKind::NoResponders,
            Err(_) => false,
        };
        (!is_answered).then_some(subject)
    });
    join_all(sent).await.into_iter().flatten().collect()
}

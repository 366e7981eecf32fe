//! One request at the bridge, from its POST to its answer.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, watch};

use crate::absence::Absence;
use crate::bridge_http::{BridgeHttp, PROTOCOL_VERSION, Posted};
use crate::events::{Incoming, Messages};
use crate::headers::{Tools, method_header};
use crate::message::{self, Id, Malformed, Message, Request, readdressed};
use crate::opening::stateless_version;
use crate::oversized::Oversized;

/// A request whose headers do not say what its body says. It was not executed.
const HEADER_MISMATCH: i64 = -32020;

/// For taking what has no answer. The next one waits that long for its turn.
const TAKEN_WITHIN: Duration = Duration::from_secs(10);

/// The most pages of a list of tools that are read for the sake of headers.
const MAX_PAGES: usize = 100;

/// Our own id for reading it.
const LIST_ID: &str = "mcp-web-stdio/tools";

/// A longer text is read on a thread of its own: the others have this one.
const READ_HERE_BYTES: usize = 256 * 1024;

/// What comes from a bridge.
#[derive(Debug)]
pub(crate) enum FromBridge {
    Message(Message),
    /// A request will not be answered.
    Failed {
        id: Id,
        absence: Absence,
    },
    /// The link is of no use any more.
    Lost(Absence),
}

/// What the requests of one link have in common.
pub(crate) struct Way {
    pub(crate) http: BridgeHttp,
    pub(crate) tools: Tools,
    /// The protocol version of requests that do not name theirs; `None` for MCP sessions, which
    /// settle on one and know no headers of single requests.
    pub(crate) stateless: Option<String>,
}

impl Way {
    fn headers(&self, request: &Request) -> HeaderMap {
        let Some(version) = &self.stateless else {
            return HeaderMap::new();
        };
        let own = stateless_version(request);
        let version = own.as_deref().unwrap_or(version);
        with_version(self.tools.headers(request), version)
    }

    /// Whether the bridge did not execute a call because arguments want headers that only the list
    /// of tools could have told: a client may know that list from an earlier run.
    fn lacks_headers(&self, request: &Request, posted: &Posted) -> bool {
        #[derive(Deserialize)]
        struct Failed {
            error: Coded,
        }
        #[derive(Deserialize)]
        struct Coded {
            code: i64,
        }
        let Posted::Json(text) = posted else {
            return false;
        };
        let is_call = self.stateless.is_some() && &*request.method == "tools/call";
        is_call
            && serde_json::from_str(text)
                .is_ok_and(|Failed { error }| error.code == HEADER_MISMATCH)
    }

    /// Sends what has no answer.
    pub(crate) async fn tell(&self, message: &Message) -> Result<(), Absence> {
        let headers = match (message, &self.stateless) {
            (Message::Notification { method, .. }, Some(version)) => {
                with_version(method_header(method), version)
            }
            (_, Some(version)) => with_version(HeaderMap::new(), version),
            (_, None) => HeaderMap::new(),
        };
        let posting = self.http.post(message.text(), headers);
        match tokio::time::timeout(TAKEN_WITHIN, posting).await {
            Ok(posted) => posted.map(drop),
            Err(_) => Err(Absence::Interrupted),
        }
    }
}

fn with_version(mut headers: HeaderMap, version: &str) -> HeaderMap {
    if let Ok(version) = HeaderValue::from_str(version) {
        headers.insert(PROTOCOL_VERSION, version);
    }
    headers
}

/// Carries out a request and tells what comes of it. `taken` becomes true when the bridge has
/// certainly read it.
pub(crate) async fn exchange(
    way: Arc<Way>,
    request: Request,
    taken: watch::Sender<bool>,
    said: mpsc::Sender<FromBridge>,
) {
    let asked = ask(&way, &request, &said, || _ = taken.send_replace(true)).await;
    let Err(absence) = asked else { return };
    let outcome = if *taken.borrow() && absence.not_executed() {
        // Found when its stream was to be resumed: it was executed all the same.
        FromBridge::Lost(absence)
    } else {
        let id = request.id;
        FromBridge::Failed { id, absence }
    };
    // A link that is closed does not want to know.
    let _ = said.send(outcome).await;
}

/// Sends a request and passes on all messages up to its answer.
pub(crate) async fn ask(
    way: &Way,
    request: &Request,
    said: &mpsc::Sender<FromBridge>,
    taken: impl FnOnce(),
) -> Result<(), Absence> {
    let mut posted = way.http.post(&request.text, way.headers(request)).await?;
    taken();
    if way.lacks_headers(request, &posted) {
        list_tools(way, request).await?;
        posted = way.http.post(&request.text, way.headers(request)).await?;
    }
    match posted {
        Posted::Json(text) => {
            let answer = answer_in(text, &request.id).await?;
            pass(way, request, answer, said).await;
            Ok(())
        }
        Posted::Events(events) => {
            let mut messages = Messages::of_request(&way.http, *events);
            loop {
                let message = match messages.next().await? {
                    Incoming::Text(text) => parse(text).await?,
                    Incoming::TooLong(oversized) if oversized.method.is_none() => {
                        return Err(too_large(&oversized));
                    }
                    Incoming::TooLong(oversized) => {
                        refuse(way, &oversized).await;
                        continue;
                    }
                };
                let ends = is_answer(&message, &request.id);
                pass(way, request, message, said).await;
                if ends {
                    return Ok(());
                }
            }
        }
        Posted::Accepted => Err(Absence::Unusable("it did not answer a request".to_owned())),
    }
}

/// Learns which arguments want headers, in the name of the request that lacked them.
async fn list_tools(way: &Way, request: &Request) -> Result<(), Absence> {
    #[derive(Deserialize)]
    struct Params {
        #[serde(rename = "_meta")]
        meta: Box<RawValue>,
    }
    #[derive(Deserialize)]
    struct Page {
        #[serde(rename = "nextCursor")]
        next: Option<String>,
    }
    let Some(Params { meta }) = request.params() else {
        return Ok(());
    };
    let mut cursor = String::new();
    for _ in 0..MAX_PAGES {
        let params = format!(r#"{{"_meta":{meta}{cursor}}}"#);
        let list = Request::new(LIST_ID, "tools/list", &params);
        let (said, mut heard) = mpsc::channel(1);
        let answer = async {
            loop {
                match heard.recv().await {
                    Some(FromBridge::Message(message)) if is_answer(&message, &list.id) => {
                        break Some(message);
                    }
                    Some(_) => {}
                    None => break None,
                }
            }
        };
        let asking = async {
            let said = said;
            Box::pin(ask(way, &list, &said, || ())).await
        };
        let (asked, answer) = tokio::join!(asking, answer);
        asked?;
        let result = answer.and_then(|answer| message::result_of(answer.text()));
        let page = result.and_then(|result| serde_json::from_str::<Page>(result.get()).ok());
        let Some(next) = page.and_then(|page| page.next) else {
            return Ok(());
        };
        cursor = format!(r#","cursor":{}"#, serde_json::Value::from(next));
    }
    Ok(())
}

/// The event stream of the MCP session, as long as it lasts.
pub(crate) async fn listen(way: Arc<Way>, said: mpsc::Sender<FromBridge>) {
    let absence = match way.http.get(None).await {
        Ok(events) => pass_all(&way, Messages::of_session(&way.http, events), &said).await,
        Err(Absence::Refused { status, .. }) if (400..500).contains(&status) => {
            tracing::debug!("the bridge has no event stream of the MCP session: HTTP {status}");
            return;
        }
        Err(absence) => absence,
    };
    if absence.concerns_token() {
        // What was asked with the token before it ended is answered all the same.
        tracing::warn!("the bridge refuses the token, and does not say what changes any more");
        return;
    }
    let _ = said.send(FromBridge::Lost(absence)).await;
}

async fn pass_all(
    way: &Way,
    mut messages: Messages<'_>,
    said: &mpsc::Sender<FromBridge>,
) -> Absence {
    loop {
        let said_by_bridge = match messages.next().await {
            Ok(Incoming::Text(text)) => parse(text).await.map(FromBridge::Message),
            Ok(Incoming::TooLong(oversized)) => match (&oversized.id, &oversized.method) {
                (Some(id), None) => Ok(FromBridge::Failed {
                    id: id.clone(),
                    absence: too_large(&oversized),
                }),
                _ => {
                    refuse(way, &oversized).await;
                    continue;
                }
            },
            Err(absence) => Err(absence),
        };
        match said_by_bridge {
            Ok(from_bridge) => _ = said.send(from_bridge).await,
            Err(absence) => return absence,
        }
    }
}

fn too_large(oversized: &Oversized) -> Absence {
    Absence::TooLarge {
        bytes: oversized.bytes,
        limit: oversized.limit,
    }
}

/// Tells the bridge that the client will not hear of a question. Of a notification nobody waits to
/// hear.
async fn refuse(way: &Way, oversized: &Oversized) {
    let malformed = Malformed::TooLong(oversized.clone());
    tracing::warn!("the bridge says what does not pass: {malformed}");
    if oversized.id.is_some()
        && let Err(absence) = way.tell(&malformed.answer()).await
    {
        tracing::debug!("a refusal did not arrive: {absence:?}");
    }
}

async fn pass(way: &Way, request: &Request, message: Message, said: &mpsc::Sender<FromBridge>) {
    let lists_tools = way.stateless.is_some() && &*request.method == "tools/list";
    let message = if lists_tools && is_answer(&message, &request.id) {
        way.tools.listed(message)
    } else {
        message
    };
    let _ = said.send(FromBridge::Message(message)).await;
}

/// A refusal that could not name its request still answers the one it came back on.
async fn answer_in(text: String, request: &Id) -> Result<Message, Absence> {
    match parse(text).await? {
        Message::Answer { id: None, text, .. } => Ok(readdressed(text, request)),
        message => Ok(message),
    }
}

fn is_answer(message: &Message, request: &Id) -> bool {
    matches!(message, Message::Answer { id: Some(id), .. } if id == request)
}

async fn parse(text: String) -> Result<Message, Absence> {
    let parsed = if text.len() > READ_HERE_BYTES {
        let reading = tokio::task::spawn_blocking(|| Message::parse(text));
        // It can only fail while the process ends.
        reading.await.map_err(|_| Absence::Interrupted)?
    } else {
        Message::parse(text)
    };
    parsed.map_err(|_| Absence::Unusable("its answer is not MCP".to_owned()))
}

//! One query in flight: what a page asks an agent.

use std::collections::VecDeque;
use std::time::Instant;

use bridge_protocol::{
    BridgeToPage, Query as Asked, QueryAccepted, QueryId, QueryToolCall, SessionId,
};
use serde_json::value::{RawValue, to_raw_value};

use super::{Answer, Call, Ending, Failure, Request};

/// Progress that waits for the agent's acceptance, or for a page that has lost its connection, in
/// bytes. Of more the oldest is dropped: the newest says most.
const HELD_BYTES: usize = 256 * 1024;

/// Tool calls that the end of a query tells of.
const MAX_TOOL_CALLS: usize = 1024;

/// What a tool call takes beside its texts.
const TOOL_CALL_BYTES: usize = 64;

/// How far the agent is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// It has not accepted yet: what it reports waits.
    Asked,
    /// It is at work.
    Accepted,
}

/// Where the page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Page {
    /// In its session.
    There,
    /// Its document is gone; another one may attach to the query.
    Gone { until: Instant },
}

#[derive(Debug)]
pub(super) struct Query {
    pub(super) session: SessionId,
    pub(super) response_tool: Option<String>,
    /// The only tools that it may call; absent: all of its session.
    allowed: Option<Vec<String>>,
    pub(super) phase: Phase,
    pub(super) page: Page,
    pub(super) held: Held,
    pub(super) tool_calls: ToolCalls,
    /// Whether the agent hears of every end that is not its own, and not only of the page's cancel.
    pub(super) tells_agent: bool,
    expires: Instant,
}

impl Query {
    pub(super) fn new(
        asked: &Asked,
        session: SessionId,
        tells_agent: bool,
        tool_call_bytes: usize,
        expires: Instant,
    ) -> Self {
        let restricted = asked.restrict_tools.unwrap_or_default();
        let named = asked.tools.as_ref().filter(|_| restricted);
        let allowed = named.map(|tools| {
            let tools = tools.iter().chain(&asked.response_tool);
            tools.map(|tool| tool.name.clone()).collect()
        });
        Self {
            session,
            response_tool: asked.response_tool.as_ref().map(|tool| tool.name.clone()),
            allowed,
            phase: Phase::Asked,
            page: Page::There,
            held: Held::default(),
            tool_calls: ToolCalls::new(tool_call_bytes),
            tells_agent,
            expires,
        }
    }

    pub(super) fn deadline(&self) -> Instant {
        match self.page {
            Page::Gone { until } => until.min(self.expires),
            Page::There => self.expires,
        }
    }

    /// From now on the page may hear what the agent reports.
    pub(super) fn accept(&mut self, id: &QueryId) {
        self.phase = Phase::Accepted;
        let accepted = QueryAccepted { uuid: id.clone() };
        self.held.put_first(BridgeToPage::QueryAccepted(accepted));
    }

    /// Whether its time is over, and not only that of its page.
    pub(super) fn has_expired(&self, now: Instant) -> bool {
        self.expires <= now
    }

    pub(super) fn allows(&self, tool: &str) -> bool {
        let allowed = self.allowed.as_ref();
        allowed.is_none_or(|allowed| allowed.iter().any(|name| name == tool))
    }

    /// The tools that it may call, if not all.
    pub(super) fn allowed(&self) -> Option<&[String]> {
        self.allowed.as_deref()
    }

    /// Whether this ending is the answer that the page wants.
    pub(super) fn is_answered_by(&self, call: &Call, ending: &Ending) -> bool {
        let demanded = self.response_tool.as_deref();
        matches!(ending, Ending::Answered(_)) && demanded == Some(call.request.name())
    }
}

/// What the page has not been told, in order.
#[derive(Debug, Default)]
pub(super) struct Held {
    messages: VecDeque<BridgeToPage>,
    bytes: usize,
}

impl Held {
    pub(super) fn push(&mut self, message: BridgeToPage) {
        self.bytes += length(&message);
        self.messages.push_back(message);
        while self.bytes > HELD_BYTES {
            let is_progress = |held: &BridgeToPage| matches!(held, BridgeToPage::QueryProgress(_));
            let oldest = self.messages.iter().position(is_progress);
            let Some(dropped) = oldest.and_then(|oldest| self.messages.remove(oldest)) else {
                return;
            };
            self.bytes -= length(&dropped);
        }
    }

    pub(super) fn put_first(&mut self, message: BridgeToPage) {
        self.messages.push_front(message);
    }

    pub(super) fn take(&mut self) -> VecDeque<BridgeToPage> {
        std::mem::take(self).messages
    }
}

fn length(message: &BridgeToPage) -> usize {
    match message {
        BridgeToPage::QueryProgress(progress) => progress.content.get().len() + TOOL_CALL_BYTES,
        _ => 0,
    }
}

/// How long the last words of a query are, in bytes.
pub(super) fn length_of_end(message: &BridgeToPage) -> usize {
    let raw = |raw: &Option<Box<RawValue>>| raw.as_ref().map_or(0, |raw| raw.get().len());
    match message {
        BridgeToPage::QueryComplete(told) => {
            let call = |it: &QueryToolCall| {
                it.tool.len() + it.arguments.get().len() + raw(&it.result) + TOOL_CALL_BYTES
            };
            raw(&told.result) + told.tool_calls.iter().map(call).sum::<usize>()
        }
        BridgeToPage::QueryFailure(told) => told.error.len(),
        BridgeToPage::QueryCancel(told) => told.reason.as_ref().map_or(0, String::len),
        progress => length(progress),
    }
}

/// The calls that the agent has made, in the order in which they ended.
#[derive(Debug)]
pub(super) struct ToolCalls {
    calls: Vec<QueryToolCall>,
    bytes: usize,
    most: usize,
}

impl ToolCalls {
    fn new(most: usize) -> Self {
        Self {
            calls: Vec::new(),
            bytes: 0,
            most,
        }
    }

    pub(super) fn record(&mut self, request: &Request, ending: &Ending) {
        let Request::Tool { tool, input } = request else {
            return;
        };
        if self.calls.len() == MAX_TOOL_CALLS {
            return;
        }
        let size = ending_bytes(ending);
        let beside = tool.name().len() + TOOL_CALL_BYTES;
        let fits = |bytes: usize| self.bytes + bytes <= self.most;
        let whole = beside + input.get().len() + size;
        let (arguments, result) = if fits(whole) {
            (input.clone(), raw_result(ending))
        } else if fits(beside + input.get().len()) {
            (input.clone(), left_out(size))
        } else {
            (
                RawValue::from_string("{}".to_owned()).unwrap_or_default(),
                left_out(size),
            )
        };
        let kept = result.as_ref().map_or(0, |result| result.get().len());
        self.bytes += beside + arguments.get().len() + kept;
        self.calls.push(QueryToolCall {
            tool: tool.name().to_owned(),
            arguments,
            result,
        });
    }

    pub(super) fn take(&mut self) -> Vec<QueryToolCall> {
        std::mem::take(&mut self.calls)
    }
}

fn left_out(bytes: usize) -> Option<Box<RawValue>> {
    let note = format!("left out: {bytes} bytes, more than `max_query_bytes` has room for");
    to_raw_value(&note).ok()
}

fn ending_bytes(ending: &Ending) -> usize {
    match ending {
        Ending::Answered(answer) => answer.bytes(),
        Ending::Failed(failure) => {
            let data = failure.data.as_ref().map_or(0, |data| data.get().len());
            failure.message.len() + data
        }
    }
}

/// What the page answered, as it wrote it as far as it did.
fn raw_result(ending: &Ending) -> Option<Box<RawValue>> {
    match ending {
        Ending::Answered(Answer::Value(value)) => value.as_ref()?.to_raw(),
        Ending::Answered(Answer::Content {
            content,
            structured,
            meta,
        }) => {
            #[derive(serde::Serialize)]
            #[serde(rename_all = "camelCase")]
            struct Whole<'a> {
                content: &'a RawValue,
                #[serde(skip_serializing_if = "Option::is_none")]
                structured_content: Option<&'a RawValue>,
                #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
                meta: Option<&'a RawValue>,
            }
            let whole = Whole {
                content,
                structured_content: structured.as_deref(),
                meta: meta.as_deref(),
            };
            to_raw_value(&whole).ok()
        }
        Ending::Failed(failure) => raw_failure(failure),
    }
}

/// A page of the first dialect fails with an object of its own, which is the failure's data.
fn raw_failure(failure: &Failure) -> Option<Box<RawValue>> {
    let is_whole = |data: &RawValue| {
        serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(data.get())
            .is_ok_and(|fields| fields.contains_key("error"))
    };
    if let Some(data) = failure.data.as_ref().filter(|data| is_whole(data)) {
        return Some(data.clone());
    }
    let code = failure.code.as_str();
    to_raw_value(&serde_json::json!({ "error": failure.message, "code": code })).ok()
}

/// What is remembered of a query that is over.
#[derive(Debug)]
pub(super) struct Over {
    pub(super) session: SessionId,
    /// What its page has not been told.
    pub(super) untold: VecDeque<BridgeToPage>,
    /// How long that is, in bytes.
    pub(super) untold_bytes: usize,
    /// The agent is being told.
    pub(super) is_stopping: bool,
    /// The page is gone, and whoever asks hears so.
    pub(super) page_gone: bool,
    /// How long that matters to anybody else than the page.
    pub(super) until: Option<Instant>,
}

/// A query's id is part of addresses: letters, digits, `-`, `_` and `.`, with a letter or digit
/// first.
pub(super) fn is_well_formed(id: &QueryId) -> bool {
    let text = id.as_str().as_bytes();
    let fits = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    text.first().is_some_and(u8::is_ascii_alphanumeric) && text.iter().all(fits)
}

/// Whether nobody can guess it: a UUID of version 4 has 122 random bits (RFC 9562 section 5.4).
pub(crate) fn is_secret(id: &QueryId) -> bool {
    let uuid = uuid::Uuid::try_parse(id.as_str());
    let is_random = |uuid: uuid::Uuid| {
        uuid.get_version_num() == 4 && uuid.get_variant() == uuid::Variant::RFC4122
    };
    id.as_str().len() == 36 && uuid.is_ok_and(is_random)
}

//! One query in flight: what a page asks an agent.

mod hearing;

use std::time::{Duration, Instant};

use bridge_protocol::{Query as Asked, QueryId, QueryTool, QueryToolCall, SessionId};
use serde_json::value::{RawValue, to_raw_value};

use super::{Answer, Call, Dialect, Ending, Failure, Now, QueryLimits, Request};

pub(super) use hearing::Hearing;

/// Tool calls that the end of a query tells of.
const MAX_TOOL_CALLS: usize = 1024;

/// What a tool call takes beside its texts.
const TOOL_CALL_BYTES: usize = 64;

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asker {
    /// A page, which hears the answer on its socket.
    Page(Dialect),
    /// A frontend, which hears the answer from its agent: its page's socket says nothing of it.
    Frontend,
}

/// Where the page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Page {
    /// In its session.
    There,
    /// Another document has attached, and has registered nothing yet: its tools come.
    Arriving,
    /// Its document is gone; another one may attach to the query.
    Gone { until: Instant },
}

/// What a query may call and must call, and how long it may take.
#[derive(Debug)]
pub(crate) struct Terms {
    response_tool: Option<String>,
    /// The only tools that it may call; absent: all of its session.
    allowed: Option<Vec<String>>,
    timeout: Option<Duration>,
}

impl Terms {
    /// From the fields of these names in a [`bridge_protocol::Query`].
    pub(crate) fn new(
        response_tool: Option<&QueryTool>,
        tools: Option<&[QueryTool]>,
        restrict_tools: Option<bool>,
        timeout: Option<u64>,
    ) -> Self {
        let restricted = restrict_tools.unwrap_or_default();
        let allowed = tools.filter(|_| restricted).map(|tools| {
            let tools = tools.iter().chain(response_tool);
            tools.map(|tool| tool.name.clone()).collect()
        });
        Self {
            response_tool: response_tool.map(|tool| tool.name.clone()),
            allowed,
            timeout: timeout.map(Duration::from_millis),
        }
    }

    pub(in crate::realm) fn of(asked: &Asked) -> Self {
        Self::new(
            asked.response_tool.as_ref(),
            asked.tools.as_deref(),
            asked.restrict_tools,
            asked.timeout,
        )
    }

    /// The time that it has, of what the bridge gives at most.
    pub(super) fn time(&self, most: Duration) -> Duration {
        self.timeout.map_or(most, |own| own.min(most))
    }
}

#[derive(Debug)]
pub(super) struct Query {
    pub(super) session: SessionId,
    pub(super) asker: Asker,
    terms: Terms,
    pub(super) page: Page,
    pub(super) hearing: Hearing,
    pub(super) tool_calls: ToolCalls,
    /// Whether the agent hears of every end that is not its own, and not only of the page's cancel.
    pub(super) tells_agent: bool,
    expires: Instant,
    /// Its agent answers with a stream of events.
    pub(super) streams: bool,
    /// Its response tool was called: what is left is to hear the agent out.
    pub(super) is_answered: bool,
}

impl Query {
    pub(super) fn new(
        terms: Terms,
        session: SessionId,
        asker: Asker,
        limits: &QueryLimits,
        now: Now,
    ) -> Self {
        let is_ours = asker == Asker::Page(Dialect::V2);
        Self {
            session,
            asker,
            page: Page::There,
            hearing: Hearing::new(is_ours && !limits.attach_within.is_zero()),
            tool_calls: ToolCalls::new(limits.tool_call_bytes),
            tells_agent: asker != Asker::Page(Dialect::V1),
            expires: now.instant + terms.time(limits.timeout),
            terms,
            streams: false,
            is_answered: false,
        }
    }

    /// The answer is there; the agent may say until then what it has said before.
    pub(super) fn answered(&mut self, until: Instant) {
        self.is_answered = true;
        self.expires = self.expires.min(until);
    }

    pub(super) fn deadline(&self) -> Instant {
        match self.page {
            Page::Gone { until } => until.min(self.expires),
            Page::There | Page::Arriving => self.expires,
        }
    }

    /// Whether its time is over, and not only that of its page.
    pub(super) fn has_expired(&self, now: Instant) -> bool {
        self.expires <= now
    }

    /// Whether that time is less than the bridge gives.
    pub(super) fn is_in_a_hurry(&self, most: Duration) -> bool {
        self.terms.timeout.is_some_and(|own| own < most)
    }

    /// The tool that the answer must come by.
    pub(super) fn response_tool(&self) -> Option<&str> {
        self.terms.response_tool.as_deref()
    }

    pub(super) fn allows(&self, tool: &str) -> bool {
        let allowed = self.allowed();
        allowed.is_none_or(|allowed| allowed.iter().any(|name| name == tool))
    }

    /// The tools that it may call, if not all.
    pub(super) fn allowed(&self) -> Option<&[String]> {
        self.terms.allowed.as_deref()
    }

    /// Whether this ending is the answer that the page wants.
    pub(super) fn is_answered_by(&self, call: &Call, ending: &Ending) -> bool {
        let demanded = self.response_tool();
        matches!(ending, Ending::Answered(_)) && demanded == Some(call.request.name())
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
    /// What its page has not been told, and what another document may want to hear.
    pub(super) hearing: Hearing,
    /// The document that asked is gone: the next one hears of it when it attaches.
    pub(super) must_attach: bool,
    /// How long it may.
    pub(super) kept_until: Option<Instant>,
    /// The agent is being told.
    pub(super) is_stopping: bool,
    /// The page is gone, and whoever asks hears so.
    pub(super) page_gone: bool,
    /// How long that matters to anybody else than the page.
    pub(super) until: Option<Instant>,
}

impl Over {
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.until.into_iter().chain(self.kept_until).min()
    }
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

//! A model that says what is written down, and keeps what it heard.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::model::{Call, CallResult, Event, Message, Model, ModelTurn, Request, Usage};

/// What it says in one turn. One that says nothing more hangs.
pub(super) type TurnEvents = Vec<Result<Event, Failure>>;

#[derive(Debug)]
pub(super) struct FakeModel {
    turns: Mutex<VecDeque<TurnEvents>>,
    requests: Mutex<Vec<Request>>,
    open_streams: Arc<()>,
}

impl FakeModel {
    pub(super) fn new(turns: impl IntoIterator<Item = TurnEvents>) -> Self {
        Self {
            turns: Mutex::new(turns.into_iter().collect()),
            requests: Mutex::default(),
            open_streams: Arc::default(),
        }
    }

    pub(super) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// The results that it heard before its last turn.
    pub(super) fn last_results(&self) -> Vec<CallResult> {
        let last = self.requests().pop().expect("it was asked");
        match last.history.into_iter().last() {
            Some(Message::Results(results)) => results,
            other => panic!("no results but {other:?}"),
        }
    }

    /// Streams that somebody still holds.
    pub(super) fn open_streams(&self) -> usize {
        Arc::strong_count(&self.open_streams) - 1
    }
}

impl Model for FakeModel {
    fn label(&self) -> &str {
        "script"
    }

    fn turn(&self, request: Request) -> BoxStream<'static, Result<Event, Failure>> {
        self.requests.lock().unwrap().push(request);
        let said = self.turns.lock().unwrap().pop_front();
        let said = said.expect("no more turns are written down");
        let ends = matches!(said.last(), Some(Err(_) | Ok(Event::End { .. })));
        let rest = match ends {
            true => stream::empty().left_stream(),
            false => stream::pending().right_stream(),
        };
        let open = Arc::clone(&self.open_streams);
        let said = stream::iter(said).chain(rest);
        said.map(move |event| {
            let _held = &open;
            event
        })
        .boxed()
    }
}

/// A turn that says a text, and no more.
pub(super) fn text_turn(text: &str) -> TurnEvents {
    text_and_call_turn(text, &[])
}

/// A turn of calls, with the ids `a`, `b` …
pub(super) fn call_turn(wanted: &[(&str, Value)]) -> TurnEvents {
    text_and_call_turn("", wanted)
}

pub(super) fn text_and_call_turn(text: &str, wanted: &[(&str, Value)]) -> TurnEvents {
    let calls = wanted
        .iter()
        .zip('a'..)
        .map(|((tool, arguments), id)| Call {
            id: id.to_string(),
            tool: (*tool).to_owned(),
            arguments: arguments.as_object().unwrap().clone(),
        });
    let turn = ModelTurn {
        text: text.to_owned(),
        calls: calls.collect(),
        ..ModelTurn::default()
    };
    let usage = Usage::default();
    let said = (!text.is_empty()).then(|| Ok(Event::Text(text.to_owned())));
    said.into_iter()
        .chain([Ok(Event::End { turn, usage })])
        .collect()
}

/// A tool's definition, as a page registers it.
pub(super) fn tool_definition(name: &str) -> Value {
    json!({ "name": name, "description": format!("Does {name}"), "inputSchema": {
        "type": "object", "properties": { "n": { "type": "integer" } } } })
}

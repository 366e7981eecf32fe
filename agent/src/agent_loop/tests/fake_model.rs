//! A fake model, which replays the turns of a test and records its requests.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use agent_tools::AgentFailure;
use bridge_protocol::TokenUsage;
use chrono::NaiveDate;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use serde_json::{Value, json};

use crate::model::{
    CallResult, Model, ModelCall, ModelEvent, ModelMessage, ModelTurn, Price, TurnRequest,
};

/// The events of one turn. A turn without a final event hangs.
pub(crate) type TurnEvents = Vec<Result<ModelEvent, AgentFailure>>;

/// A model that replays given turns.
#[derive(Debug)]
pub(crate) struct FakeModel {
    turns: Mutex<VecDeque<TurnEvents>>,
    requests: Mutex<Vec<TurnRequest>>,
    open_streams: Arc<()>,
    price: Option<Price>,
}

impl FakeModel {
    pub(crate) fn new(turns: impl IntoIterator<Item = TurnEvents>) -> Self {
        Self {
            turns: Mutex::new(turns.into_iter().collect()),
            requests: Mutex::default(),
            open_streams: Arc::default(),
            price: None,
        }
    }

    /// Sets the prices: of input, cached input, output and cache writes.
    pub(crate) fn with_price(self, price: [f64; 4]) -> Self {
        let price = Price::from_numbers(&price);
        Self { price, ..self }
    }

    pub(super) fn requests(&self) -> Vec<TurnRequest> {
        self.requests.lock().unwrap().clone()
    }

    /// Returns the results of calls in the last request.
    pub(super) fn last_results(&self) -> Vec<CallResult> {
        let last = self.requests().pop().expect("there was no request");
        match last.history.into_iter().last() {
            Some(ModelMessage::Results(results)) => results,
            other => panic!("no results but {other:?}"),
        }
    }

    /// Returns the number of streams that have not been dropped.
    pub(super) fn open_streams(&self) -> usize {
        Arc::strong_count(&self.open_streams) - 1
    }
}

impl Model for FakeModel {
    fn label(&self) -> &str {
        "script"
    }

    fn name(&self) -> &str {
        "script"
    }

    fn price(&self, _: NaiveDate) -> Option<Price> {
        self.price
    }

    fn reads_media(&self, mime_type: &str) -> bool {
        mime_type == "image/png"
    }

    fn turn(&self, request: TurnRequest) -> BoxStream<'static, Result<ModelEvent, AgentFailure>> {
        self.requests.lock().unwrap().push(request);
        let events = self.turns.lock().unwrap().pop_front();
        let events = events.expect("no turn is left");
        let has_end = matches!(events.last(), Some(Err(_) | Ok(ModelEvent::End { .. })));
        let rest = if has_end {
            stream::empty().left_stream()
        } else {
            stream::pending().right_stream()
        };
        let open_streams = Arc::clone(&self.open_streams);
        let events = stream::iter(events).chain(rest);
        events
            .map(move |event| {
                let _guard = &open_streams;
                event
            })
            .boxed()
    }
}

/// Creates a turn with a text and no calls.
pub(super) fn text_turn(text: &str) -> TurnEvents {
    text_and_call_turn(text, &[])
}

/// Creates a turn with calls, whose ids are `a`, `b` …
pub(super) fn call_turn(calls: &[(&str, Value)]) -> TurnEvents {
    text_and_call_turn("", calls)
}

/// Creates a turn with a text, unless it is empty, and calls with the ids `a`, `b` …
pub(super) fn text_and_call_turn(text: &str, calls: &[(&str, Value)]) -> TurnEvents {
    let calls = calls
        .iter()
        .zip('a'..)
        .map(|((tool, arguments), id)| ModelCall {
            id: id.to_string(),
            tool: (*tool).to_owned(),
            arguments: arguments.as_object().unwrap().clone(),
            unreadable: None,
        });
    let turn = ModelTurn {
        text: text.to_owned(),
        calls: calls.collect(),
        ..ModelTurn::default()
    };
    let usage = TokenUsage::default();
    let text = (!text.is_empty()).then(|| Ok(ModelEvent::Text(text.to_owned())));
    text.into_iter()
        .chain([Ok(ModelEvent::End { turn, usage })])
        .collect()
}

/// Returns the definition of a tool, as a page registers it.
pub(super) fn tool_definition(name: &str) -> Value {
    json!({ "name": name, "description": format!("Does {name}"), "inputSchema": {
        "type": "object", "properties": { "n": { "type": "integer" } } } })
}

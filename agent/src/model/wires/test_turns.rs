//! Turns and their parts, for the tests of each wire.

use serde_json::Value;

use super::{WireChoice, WireTurn};
use crate::model::api::Api;
use crate::model::rules::{self, ModelQuery, ModelRules};
use crate::model::{Media, ModelCall, ModelMessage, Provider};

/// Returns the rules of a model.
pub(super) fn rules_of(provider: Provider, api: Api, is_official: bool, model: &str) -> ModelRules {
    let query = ModelQuery {
        provider,
        api,
        is_official,
        model,
    };
    rules::find(query, None).unwrap().0
}

/// Returns a turn with nothing in it.
pub(super) fn empty_turn<'a>(api: Api, model: &'a str, rules: &'a ModelRules) -> WireTurn<'a> {
    WireTurn {
        api,
        model,
        rules,
        is_official: false,
        system: "",
        history: &[],
        cache_group: "query-1",
        tools: &[],
        choice: WireChoice::Auto,
        answer: None,
        with_thoughts: true,
        max_output_tokens: 100,
        temperature: None,
        stop_sequences: &[],
    }
}

pub(super) fn picture() -> Media {
    Media {
        name: None,
        mime_type: "image/png".to_owned(),
        data: "AAAA".into(),
    }
}

pub(super) fn user(text: &str) -> ModelMessage {
    ModelMessage::from_text(text.to_owned())
}

pub(super) fn call(id: &str, tool: &str, arguments: Value) -> ModelCall {
    let Value::Object(arguments) = arguments else {
        panic!("the arguments must be an object");
    };
    ModelCall {
        id: id.to_owned(),
        tool: tool.to_owned(),
        arguments,
        unreadable: None,
    }
}

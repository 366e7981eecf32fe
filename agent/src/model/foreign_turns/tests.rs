//! Tests of whom a kept turn must come from, and after what.

use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::model::api::Api;
use crate::model::{CallResult, KeptTurn, ModelCall, ModelTurn, UserMessage};

#[test]
fn a_turn_goes_back_to_its_server_model_and_account_as_far_as_the_api_needs_them() {
    let own = "https://own.example/v1/";
    let (path, port) = ("https://own.example/eu/v1/", "https://own.example:1/v1/");
    let (k, other) = (Some("k"), Some("other"));
    for (api, is_official, url, model, key, is_accepted) in [
        (Api::Messages, true, own, "m", k, true),
        // Anthropic's models read each other's thoughts, or ignore them.
        (Api::Messages, true, own, "other", k, true),
        (Api::Messages, true, own, "m", other, false),
        (Api::Messages, true, own, "m", None, false),
        (Api::Messages, true, path, "m", k, false),
        (Api::Messages, false, own, "other", k, false),
        (Api::Responses, true, own, "m", k, true),
        (Api::Responses, true, own, "other", k, false),
        (Api::Responses, true, own, "m", other, false),
        (Api::Responses, false, path, "m", k, false),
        (Api::ChatCompletions, false, own, "m", other, true),
        (Api::ChatCompletions, false, own, "other", k, false),
        (Api::ChatCompletions, false, port, "m", k, false),
        (Api::Gemini, true, own, "m", other, true),
        (Api::Gemini, true, own, "other", k, false),
    ] {
        let from = Issuer::new(api, is_official, own, "m", k);
        let to = Issuer::new(api, is_official, url, model, key);
        let kept = kept_turn(drop_foreign_turns(&mut [], &from, None), "thought");
        let mut history = [kept];
        drop_foreign_turns(&mut history, &to, None);
        let case = format!("{api:?} {is_official} {url} {model} {key:?}");
        assert_eq!(kept_of(&history), [is_accepted], "{case}");
    }
    let other_api = Issuer::new(Api::Responses, true, own, "m", k);
    let messages = Issuer::new(Api::Messages, true, own, "m", k);
    assert_ne!(other_api, messages);
    let shown = serde_json::to_string(&Issuer::new(Api::Gemini, true, own, "m", k));
    assert_eq!(shown.unwrap().len(), 34, "a digest, and nothing of the key");
}

fn kept_turn(origin: TurnOrigin, thought: &str) -> ModelMessage {
    ModelMessage::Model(ModelTurn {
        text: "I look.".to_owned(),
        calls: vec![call()],
        kept: Some(Arc::new(KeptTurn {
            api: Api::Messages,
            origin,
            blocks: vec![json!({ "type": "thinking", "thinking": thought })],
        })),
    })
}

fn call() -> ModelCall {
    ModelCall {
        id: "c".to_owned(),
        tool: "find".to_owned(),
        arguments: Default::default(),
        unreadable: None,
    }
}

/// Returns which turns of a history are sent back as they came.
fn kept_of(history: &[ModelMessage]) -> Vec<bool> {
    let turns = history.iter().filter_map(|message| match message {
        ModelMessage::Model(turn) => Some(turn.kept.is_some()),
        ModelMessage::User(_) | ModelMessage::Results(_) => None,
    });
    turns.collect()
}

fn tool(name: &str) -> WireTool {
    WireTool {
        sent_name: name.to_owned(),
        own_name: name.to_owned(),
        description: "Finds it".to_owned(),
        schema: json!({ "type": "object" }),
    }
}

fn prefix() -> TurnPrefix {
    TurnPrefix::new("You help.", &[tool("find")], true)
}

/// Three turns with kept blocks: of earlier queries, and of this one.
fn conversation(issuer: &Issuer) -> Vec<ModelMessage> {
    let picture = Media {
        name: None,
        mime_type: "image/png".to_owned(),
        data: "AAAA".into(),
    };
    let mut history = Vec::new();
    for number in ["1", "2", "3"] {
        history.push(ModelMessage::User(UserMessage {
            text: number.to_owned(),
            media: vec![picture.clone()],
        }));
        let origin = drop_foreign_turns(&mut history, issuer, Some(prefix()));
        history.push(kept_turn(origin, number));
        let mut result = CallResult::new(&call(), number.to_owned(), false);
        result.media.push(picture.clone());
        history.push(ModelMessage::Results(vec![result]));
    }
    history
}

/// Changes a message of some kinds. Returns whether it was one of them.
type Change = fn(&mut ModelMessage) -> bool;

/// Each way in which a message can change.
const CHANGES: [(&str, Change); 9] = [
    ("text of the person", |message| {
        change_user(message, |user| user.text.push('!'))
    }),
    ("picture of the person", |message| {
        change_user(message, |user| user.media[0].data = "BBBB".into())
    }),
    ("dropped pictures", ModelMessage::drop_media),
    ("dropped thoughts", ModelMessage::drop_kept),
    ("text instead of thoughts", |message| {
        change_turn(message, |turn| turn.text.clear())
    }),
    ("call instead of thoughts", |message| {
        change_turn(message, |turn| turn.calls[0].id.push('!'))
    }),
    ("text of a result", |message| {
        change_result(message, |result| result.text.clear())
    }),
    ("error of a result", |message| {
        change_result(message, |result| result.is_error = true)
    }),
    ("picture of a result", |message| {
        change_result(message, |result| {
            result.media[0].mime_type = "image/webp".to_owned();
        })
    }),
];

fn change_user(message: &mut ModelMessage, change: fn(&mut UserMessage)) -> bool {
    let ModelMessage::User(user) = message else {
        return false;
    };
    change(user);
    true
}

fn change_turn(message: &mut ModelMessage, change: fn(&mut ModelTurn)) -> bool {
    message.drop_kept();
    let ModelMessage::Model(turn) = message else {
        return false;
    };
    change(turn);
    true
}

fn change_result(message: &mut ModelMessage, change: fn(&mut CallResult)) -> bool {
    let ModelMessage::Results(results) = message else {
        return false;
    };
    change(&mut results[0]);
    true
}

#[test]
fn what_follows_a_changed_message_is_rebuilt_if_the_model_binds_thoughts() {
    let issuer = Issuer::new(Api::Messages, true, "https://own.example/", "m", None);
    let whole = conversation(&issuer);
    for (what, change) in CHANGES {
        let mut has_changed = false;
        for index in 0..whole.len() {
            let mut changed = whole.clone();
            if !change(&mut changed[index]) {
                continue;
            }
            has_changed = true;
            let turns_before = index.div_ceil(3);
            let mut bound = changed.clone();
            drop_foreign_turns(&mut bound, &issuer, Some(prefix()));
            let expected: Vec<_> = (0..3)
                .map(|turn| turn < turns_before && kept_of(&changed)[turn])
                .collect();
            assert_eq!(kept_of(&bound), expected, "{what} in message {index}");
            let mut unbound = changed.clone();
            drop_foreign_turns(&mut unbound, &issuer, None);
            assert_eq!(kept_of(&unbound), kept_of(&changed), "{what} in {index}");
        }
        assert!(has_changed, "{what}");
    }
}

#[test]
fn a_conversation_without_its_beginning_or_with_other_tools_is_rebuilt() {
    let issuer = Issuer::default();
    let check = |mut history: Vec<ModelMessage>, prefix| {
        drop_foreign_turns(&mut history, &issuer, Some(prefix));
        kept_of(&history)
    };
    let whole = || conversation(&issuer);
    assert_eq!(check(whole(), prefix()), [true; 3]);
    assert_eq!(check(whole().split_off(3), prefix()), [false; 2]);
    let tools = [tool("find"), tool("add")];
    for prefix in [
        TurnPrefix::new("Other.", &tools[..1], true),
        TurnPrefix::new("You help.", &tools, true),
        TurnPrefix::new("You help.", &[], true),
        TurnPrefix::new("You help.", &tools[..1], false),
    ] {
        assert_eq!(check(whole(), prefix), [false; 3]);
    }
}

#[test]
fn a_turn_that_is_written_the_same_without_its_blocks_is_the_same_prefix() {
    let issuer = Issuer::default();
    let text = json!({ "type": "text", "text": "I look." });
    let tool_use = json!({ "type": "tool_use", "id": "c", "name": "find", "input": {} });
    let first = ModelMessage::Model(ModelTurn {
        text: "I look.".to_owned(),
        calls: vec![call()],
        kept: Some(Arc::new(KeptTurn {
            api: Api::Messages,
            origin: drop_foreign_turns(&mut [], &issuer, Some(prefix())),
            blocks: vec![text, tool_use],
        })),
    });
    let mut history = vec![first];
    let origin = drop_foreign_turns(&mut history, &issuer, Some(prefix()));
    history.push(kept_turn(origin, "thought"));
    drop_foreign_turns(&mut history, &issuer, Some(prefix()));
    assert_eq!(kept_of(&history), [true, true]);
    history[0].drop_kept();
    drop_foreign_turns(&mut history, &issuer, Some(prefix()));
    assert_eq!(kept_of(&history), [false, true]);
}

#[test]
fn the_turns_of_a_model_that_binds_no_thoughts_go_to_one_that_does() {
    let issuer = Issuer::default();
    let mut history = vec![kept_turn(drop_foreign_turns(&mut [], &issuer, None), "1")];
    drop_foreign_turns(&mut history, &issuer, Some(prefix()));
    assert_eq!(kept_of(&history), [true]);
}

use std::sync::Arc;

use super::*;
use crate::model::Turn;

fn asking(provider: Provider, model: &str, thinking: Thinking) -> Asking {
    Asking {
        provider,
        model: model.to_owned(),
        is_own: true,
        thinking,
        headers: None,
    }
}

fn request() -> Request {
    Request {
        query: "ä".repeat(100).into(),
        prompt: "p".into(),
        system: String::new(),
        history: vec![
            Message::User("p".to_owned()),
            Message::Model(Turn::default()),
        ],
        tools: Arc::new([Tool {
            name: "web_search".to_owned(),
            description: None,
            input_schema: Value::Null,
        }]),
        choice: Choice::Auto,
        max_output_tokens: 100,
    }
}

#[test]
fn openai_itself_is_given_a_cache_key_and_told_not_to_think_if_it_knows_how() {
    for (model, expected) in [
        ("gpt-5.4-mini", "zero"),
        ("gpt-5.1", "zero"),
        ("gpt-6-astra", "zero"),
        ("gpt-5-mini", "budget"),
        ("gpt-4o", "budget"),
        ("o3", "budget"),
    ] {
        let (_, options) = asking(Provider::Openai, model, Thinking::Off).ask(&request());
        let effort = options.reasoning_effort.unwrap();
        assert_eq!(effort.variant_name(), expected, "{model}");
        let key = options.prompt_cache_key.unwrap();
        assert_eq!(key.chars().count(), CACHE_KEY_CHARS);
    }
}

#[test]
fn gemini_thinks_as_little_as_it_can() {
    for (model, expected) in [
        ("gemini-3.8-flash", "low"),
        ("gemini-2.5-flash-lite", "budget"),
        ("gemini-2.5-pro", "zero"),
    ] {
        let (_, options) = asking(Provider::Gemini, model, Thinking::Off).ask(&request());
        let effort = options.reasoning_effort.unwrap();
        assert_eq!(effort.variant_name(), expected, "{model}");
        assert_eq!(options.capture_reasoning_content, Some(false));
    }
}

#[test]
fn only_gpt_oss_has_levels_of_thinking_at_ollama() {
    for (model, thinking, expected) in [
        ("gpt-oss:20b", Thinking::High, "high"),
        ("qwen3", Thinking::High, "budget"),
        ("qwen3", Thinking::Off, "zero"),
    ] {
        let (_, options) = asking(Provider::Ollama, model, thinking).ask(&request());
        let effort = options.reasoning_effort.unwrap();
        assert_eq!(effort.variant_name(), expected, "{model}");
    }
}

#[test]
fn a_tool_goes_under_a_name_of_its_own_with_an_object_as_its_schema() {
    let (chat, _) = asking(Provider::Anthropic, "claude", Thinking::Off).ask(&request());
    let tools = chat.tools.unwrap();
    assert_eq!(tools[0].name.as_str(), "page_web_search");
    let empty = json!({"type": "object", "properties": {}});
    assert_eq!(tools[0].schema, Some(empty));
}

#[test]
fn a_turn_in_which_nothing_was_said_is_left_out() {
    for provider in [Provider::Anthropic, Provider::Openai, Provider::Gemini] {
        let (chat, _) = asking(provider, "m", Thinking::Off).ask(&request());
        assert_eq!(chat.messages.len(), 1, "{provider}");
    }
}

#[test]
fn at_anthropic_person_and_model_take_turns() {
    let result = CallResult {
        id: "1".to_owned(),
        tool: "add".to_owned(),
        text: "done".to_owned(),
        is_error: false,
    };
    let said = Turn {
        text: "I add it.".to_owned(),
        ..Turn::default()
    };
    let request = Request {
        history: vec![
            Message::User("Add it".to_owned()),
            Message::Model(said),
            Message::Results(vec![result]),
            Message::Model(Turn::default()),
            Message::User("Now call the other tool".to_owned()),
        ],
        ..request()
    };
    let (chat, _) = asking(Provider::Anthropic, "claude", Thinking::Off).ask(&request);
    let roles: Vec<_> = chat.messages.iter().map(|message| &message.role).collect();
    assert_eq!(
        roles,
        [&ChatRole::User, &ChatRole::Assistant, &ChatRole::User]
    );
    let parts = chat.messages[2].content.parts();
    assert!(matches!(
        &parts[..],
        [ContentPart::ToolResponse(_), ContentPart::Text(_)]
    ));
}

//! Tests of the requests for each provider.

use std::sync::Arc;

use super::*;
use crate::model::ModelTurn;

fn builder(provider: Provider, model: &str, thinking: Thinking) -> RequestBuilder {
    RequestBuilder {
        provider,
        model: model.to_owned(),
        is_official_api: true,
        thinking,
        reads_pictures: true,
        temperature: None,
        stop_sequences: Vec::new(),
        headers: None,
    }
}

fn request() -> TurnRequest {
    TurnRequest {
        query: "ä".repeat(100).into(),
        prompt: "p".into(),
        system: String::new(),
        history: vec![
            ModelMessage::from_text("p".to_owned()),
            ModelMessage::Model(ModelTurn::default()),
        ],
        earlier_messages: 0,
        tools: Arc::new([ModelTool {
            name: "web_search".to_owned(),
            description: None,
            input_schema: Value::Null,
        }]),
        tool_selection: ToolSelection::Auto,
        max_output_tokens: 100,
    }
}

#[test]
fn a_tool_without_a_description_is_described_by_its_name() {
    for provider in [Provider::Anthropic, Provider::Openai, Provider::Gemini] {
        let (chat, _) = builder(provider, "m", Thinking::Off).build(&request());
        let tools = chat.tools.unwrap();
        let description = tools[0].description.as_deref();
        assert_eq!(description, Some("web_search"), "{provider}");
    }
}

#[test]
fn openai_gets_a_cache_key_and_the_lowest_supported_effort() {
    for (model, expected) in [
        ("gpt-5.4-mini", "zero"),
        ("gpt-5.1", "zero"),
        ("gpt-6-astra", "zero"),
        ("gpt-5-mini", "budget"),
        ("gpt-4o", "budget"),
        ("o3", "budget"),
    ] {
        let (_, options) = builder(Provider::Openai, model, Thinking::Off).build(&request());
        let effort = options.reasoning_effort.unwrap();
        assert_eq!(effort.variant_name(), expected, "{model}");
        let key = options.prompt_cache_key.unwrap();
        assert_eq!(key.chars().count(), MAX_CACHE_KEY_CHARS);
    }
}

#[test]
fn gemini_gets_the_lowest_supported_effort() {
    for (model, expected) in [
        ("gemini-3.8-flash", "low"),
        ("gemini-2.5-flash-lite", "budget"),
        ("gemini-2.5-pro", "zero"),
    ] {
        let (_, options) = builder(Provider::Gemini, model, Thinking::Off).build(&request());
        let effort = options.reasoning_effort.unwrap();
        assert_eq!(effort.variant_name(), expected, "{model}");
        assert_eq!(options.capture_reasoning_content, Some(false));
    }
}

#[test]
fn only_gpt_oss_has_thinking_levels_at_ollama() {
    for (model, thinking, expected) in [
        ("gpt-oss:20b", Thinking::High, "high"),
        ("qwen3", Thinking::High, "budget"),
        ("qwen3", Thinking::Off, "zero"),
    ] {
        let (_, options) = builder(Provider::Ollama, model, thinking).build(&request());
        let effort = options.reasoning_effort.unwrap();
        assert_eq!(effort.variant_name(), expected, "{model}");
    }
}

#[test]
fn a_reserved_tool_name_is_prefixed_and_its_schema_is_an_object() {
    let (chat, _) = builder(Provider::Anthropic, "claude", Thinking::Off).build(&request());
    let tools = chat.tools.unwrap();
    assert_eq!(tools[0].name.as_str(), "page_web_search");
    let empty = json!({"type": "object", "properties": {}});
    assert_eq!(tools[0].schema, Some(empty));
}

#[test]
fn an_empty_turn_is_left_out() {
    for provider in [Provider::Anthropic, Provider::Openai, Provider::Gemini] {
        let (chat, _) = builder(provider, "m", Thinking::Off).build(&request());
        assert_eq!(chat.messages.len(), 1, "{provider}");
    }
}

#[test]
fn anthropic_messages_alternate_between_roles() {
    let result = CallResult {
        id: "1".to_owned(),
        tool: "add".to_owned(),
        text: "done".to_owned(),
        is_error: false,
        media: Vec::new(),
    };
    let text_turn = ModelTurn {
        text: "I add it.".to_owned(),
        ..ModelTurn::default()
    };
    let request = TurnRequest {
        history: vec![
            ModelMessage::from_text("Add it".to_owned()),
            ModelMessage::Model(text_turn),
            ModelMessage::Results(vec![result]),
            ModelMessage::Model(ModelTurn::default()),
            ModelMessage::from_text("Now call the other tool".to_owned()),
        ],
        ..request()
    };
    let (chat, _) = builder(Provider::Anthropic, "claude", Thinking::Off).build(&request);
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

#[test]
fn pictures_are_in_results_at_anthropic_and_in_a_message_after_them_elsewhere() {
    let picture = Media {
        name: None,
        mime_type: "image/png".to_owned(),
        data: "AAAA".into(),
    };
    let result = CallResult {
        id: "1".to_owned(),
        tool: "draw".to_owned(),
        text: "drawn".to_owned(),
        is_error: false,
        media: vec![picture.clone()],
    };
    let asked = UserMessage {
        text: "Draw it".to_owned(),
        media: vec![picture],
    };
    let request = TurnRequest {
        history: vec![
            ModelMessage::User(asked),
            ModelMessage::Results(vec![result]),
        ],
        ..request()
    };
    let is_picture = |part: &ContentPart| matches!(part, ContentPart::Binary(binary) if binary.content_type == "image/png");
    for provider in [
        Provider::Anthropic,
        Provider::Openai,
        Provider::Gemini,
        Provider::Ollama,
    ] {
        let (chat, _) = builder(provider, "m", Thinking::Off).build(&request);
        let messages = chat.messages.iter().map(|message| message.content.parts());
        let messages: Vec<_> = messages.collect();
        assert!(is_picture(&messages[0][0]), "{provider}");
        if provider == Provider::Anthropic {
            let ContentPart::Custom(custom) = &messages[0][2] else {
                panic!("{:?}", messages[0]);
            };
            let expected = json!([{ "type": "text", "text": "drawn" }, { "type": "image",
                "source": { "type": "base64", "media_type": "image/png", "data": "AAAA" } }]);
            assert_eq!(custom.data["content"], expected);
        } else {
            assert_eq!(messages.len(), 3, "{provider}");
            assert!(is_picture(&messages[2][1]), "{provider}");
        }
    }
}

#[test]
fn a_model_reads_pictures_and_at_its_own_api_pdf_files() {
    let reads = |provider, is_official_api, reads_pictures, mime_type| {
        let builder = RequestBuilder {
            is_official_api,
            reads_pictures,
            ..builder(provider, "m", Thinking::Off)
        };
        builder.reads_media(mime_type)
    };
    assert!(reads(Provider::Openai, false, true, "image/webp"));
    assert!(!reads(Provider::Openai, true, false, "image/webp"));
    assert!(!reads(Provider::Openai, true, true, "image/tiff"));
    assert!(reads(Provider::Gemini, true, true, "application/pdf"));
    assert!(!reads(Provider::Gemini, false, true, "application/pdf"));
    assert!(!reads(Provider::Ollama, true, true, "application/pdf"));
}

#[test]
fn only_a_providers_own_server_gets_the_name_of_a_forced_tool() {
    let mut forced = request();
    let mut tools = forced.tools.to_vec();
    tools.push(ModelTool {
        name: "other".to_owned(),
        ..tools[0].clone()
    });
    forced.tools = tools.into();
    forced.tool_selection = ToolSelection::Only("other".to_owned());
    for provider in [Provider::Anthropic, Provider::Gemini, Provider::Openai] {
        for is_official in [true, false] {
            let mut builder = builder(provider, "a-model", Thinking::Off);
            builder.is_official_api = is_official;
            let (chat, options) = builder.build(&forced);
            let offered = chat.tools.unwrap().len();
            assert_eq!(offered, if is_official { 2 } else { 1 }, "{provider:?}");
            let choice = format!("{:?}", options.tool_choice);
            assert_eq!(choice.contains("other"), is_official, "{choice}");
        }
    }
}

//! The parts that errors of servers refuse, and words in them that refuse nothing.

mod bodies;

use serde_json::json;

use super::*;
use bodies::{anthropic, gemini, openai, refusals};

/// All that one request can use. A request with tools has no format alone, and a tool that is forced
/// is not forbidden.
const USED: [Capability; 10] = [
    Capability::ThinkingSummary,
    Capability::FormerThoughts,
    Capability::Thinking,
    Capability::ForcedTools,
    Capability::FormatWithTools,
    Capability::Temperature,
    Capability::StopSequences,
    Capability::Cache,
    Capability::MediaInResults,
    Capability::StreamUsage,
];

/// Returns the one refusal of an error, if it has any.
fn refusal_of(body: &Value, used: &[Capability]) -> Option<Refusal> {
    let mut refusals = refusals_of(body, used);
    assert!(refusals.len() <= 1, "{body}: {refusals:?}");
    refusals.pop()
}

fn refusals_of(body: &Value, used: &[Capability]) -> Vec<Refusal> {
    let mut request = json!({ "model": "kimi-k2-thinking" });
    for capability in used {
        match capability {
            Capability::ThinkingSummary => request["reasoning"] = json!({ "summary": "auto" }),
            Capability::Thinking => request["output_config"]["effort"] = json!("low"),
            Capability::FormatWithTools => request["output_config"]["format"] = json!({}),
            Capability::Temperature => request["temperature"] = json!(0.5),
            Capability::StopSequences => request["stop"] = json!(["END"]),
            Capability::StreamUsage => request["stream_options"] = json!({ "include_usage": true }),
            Capability::MaxTokensName => request["max_tokens"] = json!(100),
            _ => {}
        }
    }
    let uses = |capability| used.contains(&capability);
    let used = UsedCapabilities {
        thinking: uses(Capability::Thinking),
        binding: uses(Capability::Binding),
        earlier_thoughts: uses(Capability::EarlierThoughts),
        former_thoughts: uses(Capability::FormerThoughts),
        tools: !uses(Capability::Format),
        format: uses(Capability::Format) || uses(Capability::FormatWithTools),
        forced_tool: uses(Capability::ForcedTools),
        forbidden_tools: uses(Capability::ToolChoiceNone),
        cache_marks: uses(Capability::Cache),
        media_in_results: uses(Capability::MediaInResults),
    };
    Refusal::find(&body.to_string(), request.as_object().unwrap(), used)
}

#[test]
fn a_refusal_has_the_capability_that_it_names_and_its_scope() {
    for (capability, scope, body) in refusals() {
        let mut used = USED.to_vec();
        if capability == Capability::ToolChoiceNone {
            used.retain(|it| *it != Capability::ForcedTools);
        }
        used.push(capability);
        let expected = Some(Refusal { capability, scope });
        assert_eq!(refusal_of(&body, &used), expected, "{body}");
        if capability == Capability::FormatWithTools {
            used.retain(|it| ![capability, Capability::ForcedTools].contains(it));
            let capability = Capability::Format;
            used.push(capability);
            let expected = Some(Refusal { capability, scope });
            assert_eq!(refusal_of(&body, &used), expected, "{body}");
        }
    }
}

#[test]
fn thoughts_of_earlier_queries_are_left_out_before_those_of_the_query() {
    let rows = refusals().into_iter();
    for (_, _, body) in rows.filter(|(it, ..)| *it == Capability::FormerThoughts) {
        let used = [&USED[..], &[Capability::EarlierThoughts]].concat();
        let refusal = refusal_of(&body, &used).unwrap();
        assert_eq!(refusal.capability, Capability::EarlierThoughts, "{body}");
        assert_eq!(refusal.scope, Scope::Query);
    }
}

#[test]
fn a_refusal_of_what_the_request_does_not_use_switches_nothing_off() {
    let choice = openai(
        "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set",
        None,
        None,
    );
    let bodies = refusals().into_iter().map(|(_, _, body)| body);
    for body in bodies.chain([choice]) {
        assert_eq!(refusal_of(&body, &[]), None, "{body}");
    }
}

fn openrouter(raw: &str) -> Value {
    json!({ "error": { "message": "Provider returned error", "code": 400,
        "metadata": { "raw": raw, "provider_name": "Acme" } } })
}

#[test]
fn the_error_of_a_server_behind_a_router_refuses_a_part_for_its_query_alone() {
    for (capability, _, body) in refusals() {
        // Only the message is read.
        if body.pointer("/error/message").is_none() || capability == Capability::ToolChoiceNone {
            continue;
        }
        let used = [&USED[..], &[capability]].concat();
        let refusal = refusal_of(&openrouter(&body.to_string()), &used);
        let scope = Scope::Query;
        let names_place = !body["error"]["param"].is_null() || !body["error"]["code"].is_null();
        if refusal.is_some() || !names_place {
            assert_eq!(refusal, Some(Refusal { capability, scope }), "{body}");
        }
    }
}

#[test]
fn a_field_around_others_refuses_those_that_the_request_has() {
    use Capability::{FormatWithTools, StopSequences, Thinking};
    for (used, scope, message) in [
        (
            &[FormatWithTools, Thinking][..],
            Scope::Server,
            "output_config: Extra inputs are not permitted",
        ),
        (
            &[Thinking],
            Scope::Server,
            "output_config: Extra inputs are not permitted",
        ),
        (
            &[FormatWithTools],
            Scope::Server,
            "output_config: Extra inputs are not permitted",
        ),
        (
            &[FormatWithTools],
            Scope::Query,
            "output_config: Invalid schema",
        ),
    ] {
        let refusals = refusals_of(&anthropic(message), &[used, &[StopSequences]].concat());
        let expected: Vec<_> = used
            .iter()
            .map(|&capability| Refusal { capability, scope })
            .collect();
        assert_eq!(refusals, expected, "{message}");
    }
    // A field without any of the request, and the whole body.
    for message in [
        "metadata: Extra inputs are not permitted",
        "body: Extra inputs",
        ": Extra",
    ] {
        assert_eq!(refusals_of(&anthropic(message), &USED), [], "{message}");
    }
}

#[test]
fn a_server_that_names_the_model_in_quotation_marks_refuses_for_all() {
    for (message, scope) in [
        (
            "\"kimi-k2-thinking\" does not support thinking",
            Scope::Server,
        ),
        ("\"other-name\" does not support thinking", Scope::Users),
        ("thinking is unsupported", Scope::Users),
        ("invalid thinking", Scope::Query),
    ] {
        let capability = Capability::Thinking;
        let refusal = refusal_of(&openai(message, None, None), &USED);
        assert_eq!(refusal, Some(Refusal { capability, scope }), "{message}");
    }
}

/// Servers repeat parts of a request in their errors: a person could write what switches off a
/// capability for all.
#[test]
fn words_of_the_request_in_an_error_refuse_nothing() {
    for (capability, _, body) in refusals() {
        let words = body.to_string();
        let python = words.replace('\'', "\\'");
        for body in [
            json!({ "detail": [{ "type": "string_type", "loc": ["body", "messages", 0, "content"], "msg": "Input should be a valid string", "input": words }] }),
            json!({ "detail": [{ "type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted", "input": body }] }),
            openai(
                &format!(
                    "[{{'type': 'extra_forbidden', 'loc': ('body', 'seed'), 'msg': 'Extra inputs are not permitted', 'input': '{python}'}}]"
                ),
                None,
                None,
            ),
            openai(
                &format!(
                    "1 validation error for Request\nmessages.0 [type=missing, input_value='{python}', input_type=str]"
                ),
                None,
                None,
            ),
            openrouter(&words.replace('{', "<")),
            openrouter(&json!({ "error": { "message": "No", "input": words } }).to_string()),
            json!({ "error": { "message": "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.", "code": "tool_use_failed", "failed_generation": words } }),
        ] {
            let used = [&USED[..], &[capability]].concat();
            assert_eq!(refusal_of(&body, &used), None, "{body}");
        }
        // An error about a message may be about its thoughts, pictures and marks, which are not words.
        if capability.names_in_messages().is_empty() {
            let body = openai(&words, Some("messages[0].content"), None);
            let refusal = refusal_of(&body, &[capability]);
            assert_eq!(refusal, None, "{body}");
        }
    }
}

#[test]
fn an_error_that_refuses_no_capability_switches_nothing_off() {
    for body in [
        // The content of the prompt.
        openai(
            "Invalid prompt: your prompt was flagged as potentially violating our usage policy. Please try again with a different prompt: https://platform.openai.com/docs/guides/reasoning#advice-on-prompting",
            None,
            Some("invalid_prompt"),
        ),
        // A tool that must be called and is gone.
        openai(
            "Tool choice 'temperature' not found in 'tools' parameter.",
            Some("tool_choice"),
            None,
        ),
        anthropic("tool_choice: Tool 'temperature' not found in provided tools"),
        // A model, whose name may be that of a capability.
        openai(
            "The requested model 'kimi-k2-thinking' does not exist.",
            Some("model"),
            Some("model_not_found"),
        ),
        json!({ "code": "Client specified an invalid argument", "error": "Model kimi-k2-thinking does not support parameter presencePenalty." }),
        // The content of a message, and the schema or the call of a tool, whose name may be that of a capability.
        openai(
            "Invalid schema for function 'set_temperature': In context=('properties', 'a'), reference '$ref' is not permitted.",
            Some("tools[0].parameters"),
            Some("invalid_function_parameters"),
        ),
        anthropic(
            "tools.0.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12).",
        ),
        gemini(
            "Invalid JSON payload received. Unknown name \"$ref\" at 'tools[0].function_declarations[0].parameters.properties[0].value': Cannot find field.",
        ),
        gemini(
            "GenerateContentRequest.tools[0].function_declarations[0].parameters.properties[thinking].items: field predicate failed: == Type.ARRAY",
        ),
        gemini("A FunctionDeclaration in the request exceeds the maximum allowed nesting depth."),
        gemini("Function calling config is set without function_declarations"),
        json!({ "error": { "message": "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.", "type": "invalid_request_error", "code": "tool_use_failed", "failed_generation": "<function=set>{\"temperature\": 20}" } }),
        // The length of the input or the output.
        anthropic("prompt is too long: 250000 tokens > 200000 maximum"),
        anthropic(
            "max_tokens: 128001 > 128000, which is the maximum allowed number of output tokens",
        ),
        openai(
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens. Please reduce the length of the messages.",
            Some("messages"),
            Some("context_length_exceeded"),
        ),
        openai(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
            Some("max_tokens"),
            Some("unsupported_parameter"),
        ),
        gemini(
            "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)",
        ),
        json!({ "error": { "code": 400, "message": "the request exceeds the available context size", "type": "exceed_context_size_error", "n_prompt_tokens": 9000, "n_ctx": 4096 } }),
        // The order of messages, calls and results.
        anthropic("messages: text content blocks must be non-empty"),
        anthropic(
            "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1",
        ),
        anthropic(
            "This model does not support assistant message prefill. The conversation must end with a user message.",
        ),
        openai(
            "No tool call found for function call output with call_id call_1.",
            Some("input"),
            None,
        ),
        openai(
            "No tool output found for function call call_1.",
            Some("input"),
            None,
        ),
        openai(
            "Tool call id was call_1234 but must be a-z, A-Z, 0-9, with a length of 9.",
            None,
            None,
        ),
        openai(
            "The `reasoning_content` in the thinking mode must be passed back to the API.",
            None,
            None,
        ),
        openai(
            "Gemini models require OpenRouter reasoning details to be preserved in each request. Function call is missing a thought_signature",
            None,
            None,
        ),
        gemini(
            "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
        ),
        gemini(
            "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
        ),
        gemini("Requests ending with a model turn are not supported."),
        // The account, the content, and nothing at all.
        anthropic("Your credit balance is too low to access the Anthropic API."),
        gemini("API key not valid. Please pass a valid API key."),
        openai(
            "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
            Some("prompt"),
            Some("content_filter"),
        ),
        gemini("Request contains an invalid argument."),
        json!("<html>Bad Request</html>"),
        json!({}),
    ] {
        assert_eq!(refusal_of(&body, &USED), None, "{body}");
    }
}

#[test]
fn a_schema_of_a_tool_refuses_no_format_and_nothing_that_its_words_name() {
    let mut used = USED.to_vec();
    used.retain(|it| !it.is_format());
    let rows = refusals().into_iter();
    for (_, _, body) in rows.filter(|(it, ..)| it.is_format()) {
        let refusal = refusal_of(&body, &used);
        // Gemini names the forced call beside the format.
        let names_call = body.to_string().contains("unction calling");
        assert!(refusal.is_none() || names_call, "{body}: {refusal:?}");
    }
}

//! Bodies of errors of the servers, with what they refuse.

use serde_json::{Value, json};

use crate::model::capabilities::Capability;
use crate::model::refusals::Scope;

pub(super) fn anthropic(message: &str) -> Value {
    let error = json!({ "type": "invalid_request_error", "message": message });
    json!({ "type": "error", "error": error, "request_id": "req_1" })
}

pub(super) fn openai(message: &str, param: Option<&str>, code: Option<&str>) -> Value {
    let kind = "invalid_request_error";
    json!({ "error": { "message": message, "type": kind, "param": param, "code": code } })
}

pub(super) fn gemini(message: &str) -> Value {
    json!({ "error": { "code": 400, "message": message, "status": "INVALID_ARGUMENT" } })
}

fn llama_cpp(message: &str) -> Value {
    json!({ "error": { "code": 400, "message": message, "type": "invalid_request_error" } })
}

/// Refusals in the words of the servers, as documents, SDKs and reports of users quote them.
pub(super) fn refusals() -> Vec<(Capability, Scope, Value)> {
    use Capability as C;
    use Scope::{Query, Server, Users};
    let unsupported = Some("unsupported_value");
    vec![
        (
            C::Thinking,
            Server,
            anthropic(
                "\"thinking.type.disabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior.",
            ),
        ),
        (
            C::Thinking,
            Server,
            anthropic(
                "\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior.",
            ),
        ),
        (
            C::Thinking,
            Server,
            anthropic("adaptive thinking is not supported on this model"),
        ),
        (
            C::Binding,
            Server,
            anthropic("thinking.adaptive.block_binding: Extra inputs are not permitted"),
        ),
        (
            C::Binding,
            Server,
            anthropic(
                "Unexpected value(s) `thinking-binding-controls-2026-08-01` for the `anthropic-beta` header. Please consult our documentation at docs.anthropic.com or try again without the header.",
            ),
        ),
        (
            C::Binding,
            Server,
            json!({ "message": "invalid beta flag" }),
        ),
        (
            C::ThinkingSummary,
            Server,
            anthropic("thinking.adaptive.display: Extra inputs are not permitted"),
        ),
        (
            C::Thinking,
            Server,
            anthropic("This model does not support the effort parameter."),
        ),
        (
            C::Thinking,
            Server,
            openai(
                "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model. Supported values are: 'none', 'low', 'medium', 'high', 'xhigh'.",
                Some("reasoning_effort"),
                unsupported,
            ),
        ),
        (
            C::Thinking,
            Server,
            openai(
                "Function tools with reasoning_effort are not supported for gpt-5.6-sol in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.",
                Some("reasoning_effort"),
                None,
            ),
        ),
        (
            C::Thinking,
            Query,
            openai("invalid reasoning value", None, None),
        ),
        (
            C::Thinking,
            Server,
            gemini(
                "Thinking level MINIMAL is not supported for this model. Please retry with other thinking level.",
            ),
        ),
        (
            C::Thinking,
            Server,
            gemini("thinking_level is not supported by this model"),
        ),
        (
            C::Thinking,
            Query,
            gemini("You can only set only one of thinking budget and thinking level."),
        ),
        (
            C::Thinking,
            Query,
            gemini("The thinking budget (52428) is invalid."),
        ),
        (
            C::Thinking,
            Query,
            gemini("Budget 0 is invalid. This model only works in thinking mode."),
        ),
        (
            C::Thinking,
            Server,
            gemini("Thinking is not enabled for this model"),
        ),
        (
            C::ThinkingSummary,
            Server,
            openai(
                "Your organization must be verified to generate reasoning summaries.",
                Some("reasoning.summary"),
                unsupported,
            ),
        ),
        (
            C::FormerThoughts,
            Query,
            anthropic("messages.1.content.0: Invalid `signature` in `thinking` block"),
        ),
        (
            C::FormerThoughts,
            Query,
            anthropic(
                "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\".",
            ),
        ),
        (
            C::FormerThoughts,
            Query,
            anthropic(
                "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.",
            ),
        ),
        (
            C::FormerThoughts,
            Query,
            openai(
                "The encrypted content gAAA could not be verified. Reason: Encrypted content could not be decrypted or parsed.",
                None,
                Some("invalid_encrypted_content"),
            ),
        ),
        (
            C::FormerThoughts,
            Query,
            openai(
                "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
                Some("input"),
                None,
            ),
        ),
        (
            C::FormerThoughts,
            Query,
            openai(
                "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.",
                Some("input"),
                None,
            ),
        ),
        (
            C::FormerThoughts,
            Query,
            openai("Encrypted content is not supported.", None, None),
        ),
        (
            C::FormerThoughts,
            Query,
            gemini(
                "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:add`, position 2.",
            ),
        ),
        (
            C::FormerThoughts,
            Query,
            gemini("Corrupted thought signature."),
        ),
        (
            C::FormerThoughts,
            Query,
            gemini("Invalid thought signature."),
        ),
        (
            C::ForcedTools,
            Server,
            anthropic("tool_choice: type \"tool\" and \"any\" are not supported for this model."),
        ),
        (
            C::ForcedTools,
            Query,
            anthropic("Thinking may not be enabled when tool_choice forces tool use."),
        ),
        (
            C::ForcedTools,
            Users,
            openai(
                "Thinking mode does not support this tool_choice",
                None,
                None,
            ),
        ),
        (
            C::ForcedTools,
            Server,
            openai(
                "Tool choices other than 'auto' are not supported with model 'gpt-5-mini' and the following tool types: 'code_interpreter', 'file_search'.",
                Some("tool_choice"),
                None,
            ),
        ),
        (C::ForcedTools, Query, llama_cpp("Invalid tool_choice")),
        (C::ToolChoiceNone, Query, llama_cpp("Invalid tool_choice")),
        (
            C::FormatWithTools,
            Query,
            anthropic("Schema is too complex for compilation."),
        ),
        (
            C::FormatWithTools,
            Query,
            anthropic(
                "output_config.format.schema: Invalid schema: The compiled grammar is too large",
            ),
        ),
        (
            C::FormatWithTools,
            Query,
            openai(
                "Invalid schema for response_format 'set_temperature': In context=(), 'default' is not permitted.",
                Some("text.format.schema"),
                Some("invalid_json_schema"),
            ),
        ),
        (
            C::FormatWithTools,
            Query,
            openai(
                "This model does not support response format `json_schema`",
                None,
                None,
            ),
        ),
        (
            C::FormatWithTools,
            Query,
            gemini("Function calling with a response mime type: 'application/json' is unsupported"),
        ),
        (
            C::FormatWithTools,
            Query,
            gemini(
                "Forced function calling (ANY mode) with a response mime type: 'application/json' is unsupported",
            ),
        ),
        (
            C::FormatWithTools,
            Query,
            gemini(
                "The specified schema produces a constraint that has too many states for serving.",
            ),
        ),
        (
            C::FormatWithTools,
            Query,
            llama_cpp("Cannot use custom grammar constraints with tools."),
        ),
        (
            C::Temperature,
            Server,
            anthropic("temperature is deprecated for this model."),
        ),
        (
            C::Temperature,
            Server,
            openai(
                "Unsupported parameter: 'temperature' is not supported with this model.",
                Some("temperature"),
                None,
            ),
        ),
        (
            C::Temperature,
            Server,
            openai(
                "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.",
                Some("temperature"),
                unsupported,
            ),
        ),
        (
            C::StopSequences,
            Server,
            openai(
                "Unsupported parameter: 'stop' is not supported with this model.",
                Some("stop"),
                Some("unsupported_parameter"),
            ),
        ),
        (
            C::StopSequences,
            Server,
            json!({ "code": "Client specified an invalid argument", "error": "Model grok-4.6 does not support parameter stop." }),
        ),
        (
            C::Cache,
            Query,
            anthropic("A maximum of 4 blocks with cache_control may be provided. Found 5."),
        ),
        (
            C::StreamUsage,
            Server,
            json!({ "detail": [{ "type": "extra_forbidden", "loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted" }] }),
        ),
        (
            C::StreamUsage,
            Server,
            json!({ "object": "error", "message": { "detail": [{ "type": "extra_forbidden", "loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted", "input": { "include_usage": true } }] }, "type": "invalid_request_error", "param": null, "code": null }),
        ),
        (
            C::StreamUsage,
            Server,
            anthropic("body.stream_options: Extra inputs are not permitted"),
        ),
        (
            C::MaxTokensName,
            Server,
            openai(
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
                Some("max_tokens"),
                Some("unsupported_parameter"),
            ),
        ),
        (
            C::Thinking,
            Query,
            anthropic("`max_tokens` must be greater than `thinking.budget_tokens`."),
        ),
        (
            C::Thinking,
            Query,
            anthropic(
                "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block.",
            ),
        ),
        (
            C::Cache,
            Query,
            anthropic("messages.0.content.0.text.cache_control: Extra inputs are not permitted"),
        ),
        (
            C::FormatWithTools,
            Query,
            gemini(
                "A schema in GenerationConfig in the request exceeds the maximum allowed nesting depth.",
            ),
        ),
        (
            C::FormatWithTools,
            Query,
            openai(
                "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
                Some("response_format"),
                Some("unsupported_parameter"),
            ),
        ),
        (
            C::FormatWithTools,
            Query,
            llama_cpp(
                "Unable to generate parser for this template. Automatic parser generation failed: JSON schema error at #/properties/temperature: unsupported $ref #, only references into the same document are supported",
            ),
        ),
        (
            C::FormatWithTools,
            Query,
            llama_cpp(
                "JSON schema conversion failed:\nUnrecognized schema: {\"type\":\"thinking\"}",
            ),
        ),
    ]
}

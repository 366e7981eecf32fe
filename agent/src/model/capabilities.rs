//! The parts of a request that a server may refuse, and those that are left out because it has.

use std::sync::atomic::{AtomicU16, Ordering};

use http::HeaderMap;
use serde_json::{Map, Value};

use super::rules::{ForcedTools, MaxTokensField, ModelRules, StructuredOutput};

/// A part of a request that a server may refuse, and without which a turn is still possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Capability {
    /// A summary of the thoughts, which some accounts do not get.
    ThinkingSummary,
    /// Encrypted thoughts (`include` of Responses).
    EncryptedThoughts,
    /// Thoughts of the queries before. They may be of another model, account or prefix.
    EarlierThoughts,
    /// Thoughts of all former turns, those of the query included.
    FormerThoughts,
    /// The controls of the check that nothing before a signed thought has changed: a beta header, and
    /// the field that needs it.
    Binding,
    /// The fields of `thinking`.
    Thinking,
    /// A turn that must call a tool.
    ForcedTools,
    /// Tools that are listed though none may be called.
    ToolChoiceNone,
    /// A format of the text in a request with tools.
    FormatWithTools,
    /// A format of the text in a request without tools.
    Format,
    Temperature,
    StopSequences,
    /// Marks and keys for the cache.
    Cache,
    MediaInResults,
    /// The tokens of a stream (`stream_options` of chat completions).
    StreamUsage,
    /// The old name of the maximum output (`max_tokens` of chat completions).
    MaxTokensName,
}

impl Capability {
    /// All, in the order in which a refusal is searched for them: specific ones first.
    pub(super) const ALL: [Self; 16] = [
        Self::Binding,
        Self::ThinkingSummary,
        Self::EncryptedThoughts,
        Self::EarlierThoughts,
        Self::FormerThoughts,
        Self::FormatWithTools,
        Self::Format,
        Self::ToolChoiceNone,
        Self::ForcedTools,
        Self::Temperature,
        Self::StopSequences,
        Self::Cache,
        Self::StreamUsage,
        Self::MaxTokensName,
        Self::MediaInResults,
        Self::Thinking,
    ];

    const fn bit(self) -> u16 {
        1 << self as u16
    }

    /// Returns the fields of a request that are the capability, in lower case, at any server.
    pub(super) fn fields(self) -> &'static [&'static str] {
        match self {
            Self::ThinkingSummary => &["reasoning.summary", "thinking.display"],
            Self::EncryptedThoughts => &["include"],
            Self::Binding => &["thinking.block_binding"],
            Self::Thinking => &[
                "thinking",
                "reasoning",
                "reasoning_effort",
                "output_config.effort",
                "generation_config.thinking_config",
            ],
            Self::ForcedTools | Self::ToolChoiceNone => &["tool_choice", "tool_config"],
            Self::FormatWithTools | Self::Format => &[
                "output_config.format",
                "output_format",
                "response_format",
                "text.format",
                "generation_config.response_json_schema",
                "generation_config.response_mime_type",
            ],
            Self::Temperature => &["temperature", "generation_config.temperature"],
            Self::StopSequences => &["stop", "stop_sequences", "generation_config.stop_sequences"],
            Self::Cache => &["prompt_cache_key", "prompt_cache_options"],
            Self::StreamUsage => &["stream_options"],
            // They are within the messages. A limit may also be refused for its value.
            Self::EarlierThoughts
            | Self::FormerThoughts
            | Self::MediaInResults
            | Self::MaxTokensName => &[],
        }
    }

    /// Returns texts by which an error names the capability, in lower case.
    pub(super) fn names(self) -> &'static [&'static str] {
        match self {
            Self::ThinkingSummary => &[
                "reasoning.summary",
                "reasoning summaries",
                "thinking.display",
            ],
            Self::EncryptedThoughts => &[
                "'include'",
                "reasoning.encrypted_content",
                "encrypted content is not supported with",
            ],
            Self::Binding => &[
                BINDING_BETA,
                "block_binding",
                // Bedrock and Vertex
                "anthropic-beta",
                "anthropic_beta",
                "beta flag",
            ],
            Self::Thinking => &["thinking", "reasoning", "effort", "think value"],
            Self::ForcedTools | Self::ToolChoiceNone => &[
                "tool_choice",
                "tool choice",
                "function calling config",
                "forced function calling",
                "any mode",
            ],
            Self::FormatWithTools | Self::Format => &[
                "output_config.format",
                "output_format",
                "response_format",
                "response format",
                "text.format",
                "json_schema",
                "json schema",
                "response mime type",
                "response_schema",
                "responsejsonschema",
                "schema in generationconfig",
                "structured output",
                "grammar",
                "too many states",
                "too complex for compilation",
            ],
            Self::Temperature => &["temperature"],
            Self::StopSequences => &[
                "'stop'",
                "\"stop\"",
                "parameter stop",
                "stop_sequences",
                "stopsequences",
            ],
            Self::Cache => &["cache_control", "prompt_cache"],
            Self::StreamUsage => &["stream_options", "include_usage"],
            Self::MaxTokensName => &["max_completion_tokens"],
            Self::EarlierThoughts | Self::FormerThoughts | Self::MediaInResults => {
                self.names_in_messages()
            }
        }
    }

    /// Returns texts by which an error about the messages or tools names the capability, in lower case.
    pub(super) fn names_in_messages(self) -> &'static [&'static str] {
        match self {
            Self::EarlierThoughts | Self::FormerThoughts => &[
                // Anthropic
                "`signature` in `thinking`",
                "redacted_thinking` blocks",
                // Gemini
                "thought_signature",
                "thought signature",
                // OpenAI
                "encrypted content",
                "encrypted_content",
                "of type 'reasoning'",
                "required 'reasoning' item",
                "reasoning_content",
                "reasoning_details",
            ],
            // Anthropic, about a turn of another model
            Self::Thinking => &["expected `thinking`"],
            Self::Cache => &["cache_control"],
            Self::MediaInResults => &["function_response.parts", "multimodal function response"],
            _ => &[],
        }
    }

    /// Whether no query decides about a refusal: a header has no words of one.
    pub(super) fn is_of_server(self) -> bool {
        self == Self::Binding
    }

    /// Whether a refusal applies to one query alone: another one has another schema and history.
    pub(super) fn depends_on_query(self) -> bool {
        self.is_format() || matches!(self, Self::EarlierThoughts | Self::FormerThoughts)
    }

    /// Whether the capability is a format of the text.
    pub(super) fn is_format(self) -> bool {
        matches!(self, Self::FormatWithTools | Self::Format)
    }

    /// Whether a request uses the capability.
    pub(super) fn is_used(self, body: &Map<String, Value>, used: UsedCapabilities) -> bool {
        let has = |paths: &[&str]| paths.iter().any(|path| field(body, path).is_some());
        match self {
            Self::ThinkingSummary => has(&["reasoning.summary", "thinking.display"]),
            Self::EncryptedThoughts => has(&["include"]),
            Self::EarlierThoughts => used.earlier_thoughts,
            Self::FormerThoughts => used.former_thoughts,
            Self::Binding => used.binding,
            Self::Thinking => used.thinking,
            Self::ForcedTools => used.forced_tool,
            Self::ToolChoiceNone => used.forbidden_tools,
            Self::FormatWithTools => used.format && used.tools,
            Self::Format => used.format && !used.tools,
            Self::Temperature => has(&["temperature", "generationConfig.temperature"]),
            Self::StopSequences => {
                has(&["stop", "stop_sequences", "generationConfig.stopSequences"])
            }
            Self::Cache => used.cache_marks,
            Self::MediaInResults => used.media_in_results,
            Self::StreamUsage => has(&["stream_options"]),
            Self::MaxTokensName => has(&["max_tokens"]),
        }
    }
}

/// Capabilities that a request uses, besides those that its fields show.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is one capability")]
pub(super) struct UsedCapabilities {
    pub(super) thinking: bool,
    pub(super) binding: bool,
    pub(super) earlier_thoughts: bool,
    pub(super) former_thoughts: bool,
    pub(super) tools: bool,
    pub(super) format: bool,
    pub(super) forced_tool: bool,
    pub(super) forbidden_tools: bool,
    pub(super) cache_marks: bool,
    pub(super) media_in_results: bool,
}

/// The beginning of the beta value for the controls of the check of prefixes.
const BINDING_BETA: &str = "thinking-binding-controls-";

/// The header for beta values.
const BETA_HEADER: &str = "anthropic-beta";

/// Whether headers have the beta value for the controls of the check of prefixes.
pub(super) fn has_binding(headers: &HeaderMap) -> bool {
    let beta = headers.get(BETA_HEADER).and_then(|beta| beta.to_str().ok());
    beta.is_some_and(|beta| beta.contains(BINDING_BETA))
}

/// Removes the beta value for the controls of the check of prefixes.
fn remove_binding(headers: &mut HeaderMap) {
    if !has_binding(headers) {
        return;
    }
    // An operator may have added others.
    let beta = headers.remove(BETA_HEADER);
    let beta = beta.as_ref().and_then(|beta| beta.to_str().ok());
    let values = beta.unwrap_or_default().split(',').map(str::trim);
    let rest: Vec<_> = values.filter(|it| !it.starts_with(BINDING_BETA)).collect();
    if let (false, Ok(rest)) = (rest.is_empty(), rest.join(",").parse()) {
        headers.insert(BETA_HEADER, rest);
    }
}

fn field<'a>(body: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    let mut names = path.split('.');
    let first = body.get(names.next()?)?;
    names.try_fold(first, |value, name| value.get(name))
}

/// The capabilities that are switched off: those of one query, or those of a model for all.
#[derive(Debug, Default)]
pub(crate) struct SwitchedOff(AtomicU16);

impl SwitchedOff {
    /// Switches a capability off. Returns whether it was on.
    pub(super) fn add(&self, capability: Capability) -> bool {
        let before = self.0.fetch_or(capability.bit(), Ordering::Relaxed);
        before & capability.bit() == 0
    }

    /// Whether a capability is switched off.
    pub(super) fn contains(&self, capability: Capability) -> bool {
        self.0.load(Ordering::Relaxed) & capability.bit() != 0
    }

    /// Returns what is switched off here or there.
    pub(super) fn union(&self, other: &Self) -> Self {
        let [own, other] = [self, other].map(|off| off.0.load(Ordering::Relaxed));
        Self(AtomicU16::new(own | other))
    }

    /// Returns the rules of the model without what is switched off.
    pub(super) fn without(&self, rules: &ModelRules) -> ModelRules {
        let is_off = |capability| self.contains(capability);
        let mut rules = rules.clone();
        if is_off(Capability::ForcedTools) {
            rules.forced_tools = ForcedTools::No;
        }
        if is_off(Capability::Format) {
            rules.structured_output = StructuredOutput::No;
        } else if is_off(Capability::FormatWithTools)
            && rules.structured_output == StructuredOutput::WithTools
        {
            rules.structured_output = StructuredOutput::Alone;
        }
        // Without its field, the header has no use.
        if is_off(Capability::Binding) || is_off(Capability::Thinking) {
            remove_binding(&mut rules.headers);
        }
        rules.encrypted_thoughts &= !is_off(Capability::EncryptedThoughts);
        rules.tool_choice_none &= !is_off(Capability::ToolChoiceNone);
        rules.temperature &= !is_off(Capability::Temperature);
        rules.stop_sequences &= !is_off(Capability::StopSequences);
        rules.cache_marks &= !is_off(Capability::Cache);
        rules.media_in_results &= !is_off(Capability::MediaInResults);
        rules.stream_usage &= !is_off(Capability::StreamUsage);
        if is_off(Capability::MaxTokensName) {
            rules.max_tokens_field = MaxTokensField::MaxCompletionTokens;
        }
        rules
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Provider;
    use crate::model::api::Api;
    use crate::model::rules::{self, ModelQuery};

    #[test]
    fn what_is_switched_off_is_missing_from_the_rules() {
        let query = ModelQuery {
            provider: Provider::Anthropic,
            api: Api::Messages,
            is_official: true,
            model: "claude-haiku-5-5",
        };
        let (rules, _) = rules::find(query, None).unwrap();
        let rules = ModelRules {
            temperature: true,
            ..rules
        };
        let off = SwitchedOff::default();
        assert_eq!(off.without(&rules), rules);
        assert!(off.add(Capability::FormatWithTools));
        assert!(!off.add(Capability::FormatWithTools));
        let alone = StructuredOutput::Alone;
        assert_eq!(off.without(&rules).structured_output, alone);
        assert!(!off.contains(Capability::Format));
        for capability in Capability::ALL {
            off.add(capability);
            assert!(off.contains(capability), "{capability:?}");
        }
        let mut expected = ModelRules {
            forced_tools: ForcedTools::No,
            structured_output: StructuredOutput::No,
            encrypted_thoughts: false,
            tool_choice_none: false,
            temperature: false,
            stop_sequences: false,
            cache_marks: false,
            media_in_results: false,
            stream_usage: false,
            max_tokens_field: MaxTokensField::MaxCompletionTokens,
            ..rules.clone()
        };
        assert!(has_binding(&rules.headers));
        expected.headers.clear();
        assert_eq!(off.without(&rules), expected);
    }

    #[test]
    fn a_beta_value_is_removed_and_others_of_the_operator_stay() {
        for (values, expected) in [
            ("thinking-binding-controls-2026-08-01", None),
            ("a, thinking-binding-controls-2026-08-01,b", Some("a,b")),
            ("a, b", Some("a, b")),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(BETA_HEADER, values.parse().unwrap());
            remove_binding(&mut headers);
            let rest = headers.get(BETA_HEADER).map(|it| it.to_str().unwrap());
            assert_eq!(rest, expected, "{values}");
        }
    }

    #[test]
    fn what_is_switched_off_for_a_query_or_for_all_is_off_in_its_requests() {
        let (all, query) = (SwitchedOff::default(), SwitchedOff::default());
        all.add(Capability::Temperature);
        query.add(Capability::Format);
        let union = all.union(&query);
        for capability in Capability::ALL {
            let is_off = [Capability::Temperature, Capability::Format].contains(&capability);
            assert_eq!(union.contains(capability), is_off, "{capability:?}");
        }
        assert!(!all.contains(Capability::Format));
        assert!(!query.contains(Capability::Temperature));
    }
}

//! The parts that each model accepts, and how a request says them: the rows of `rules.toml`, and those of the
//! operator over them.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::Path;

use agent_tools::AgentFailure;
use bridge_protocol::ErrorCode;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde::{Deserialize, Deserializer, de};
use serde_json::{Map, Value};
use toml::Table;

use super::api::Api;
use super::price::Prices;
use super::{Provider, Thinking};

/// The rows that this service has. Their order matters: the first that matches is used.
const OWN_ROWS: &str = include_str!("rules.toml");

/// The tokens for the thoughts of a model that decides itself how much it thinks. OpenAI advises at least as
/// many (<https://developers.openai.com/api/docs/guides/reasoning>): thoughts can use up the output before
/// there is any text.
const MIN_RESERVE: u32 = 25_000;

/// The parts of a request that one model accepts.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ModelRules {
    /// The APIs of the row. None means all.
    #[serde(default)]
    pub(super) apis: Vec<Api>,
    /// The names of the models: see [`matches_pattern`].
    pub(super) models: Vec<String>,
    /// Whether the row is for the server of the provider or for others. None means both.
    #[serde(default)]
    pub(super) official: Option<bool>,
    /// Whether the row is for Ollama or for other servers. None means both.
    #[serde(default)]
    pub(super) ollama: Option<bool>,
    /// The headers of each request.
    #[serde(default, deserialize_with = "headers")]
    pub(super) headers: HeaderMap,
    /// The fields of a request by the setting `thinking`.
    #[serde(default)]
    pub(super) thinking: ThinkingFields,
    /// Whether the API offers tools to the model. Without them, the agent does not start.
    #[serde(default = "enabled")]
    pub(super) tools: bool,
    /// How a turn is made to call one tool.
    pub(super) forced_tools: ForcedTools,
    /// Where the text can have the format of a schema.
    pub(super) structured_output: StructuredOutput,
    /// Whether the model skips calls that it needs if its text has a format and it does not think. Then
    /// the text has a format only in a turn that can have no other call.
    #[serde(default)]
    pub(super) structured_output_alone: bool,
    /// Whether a request may list tools and forbid to call them.
    #[serde(default)]
    pub(super) tool_choice_none: bool,
    /// Whether a temperature is accepted.
    #[serde(default)]
    pub(super) temperature: bool,
    /// Whether texts at which the model stops are accepted.
    #[serde(default)]
    pub(super) stop_sequences: bool,
    /// Whether results of tools can contain pictures.
    #[serde(default)]
    pub(super) media_in_results: bool,
    /// Whether parts of the request are marked for the cache of the provider.
    #[serde(default)]
    pub(super) cache_marks: bool,
    /// Whether a call without a signature needs a placeholder for it.
    #[serde(default)]
    pub(super) signature_placeholder: bool,
    /// Whether a stream is asked for its tokens (`stream_options` of chat completions).
    #[serde(default = "enabled")]
    pub(super) stream_usage: bool,
    /// Whether a model that thinks is asked for its encrypted thoughts (`include` of Responses).
    #[serde(default = "enabled")]
    pub(super) encrypted_thoughts: bool,
    /// Whether each message with calls must have thoughts (`reasoning_content` of chat completions).
    #[serde(default)]
    pub(super) thoughts_with_calls: bool,
    /// Whether the model accepts signed thoughts only after the same instructions, tools and messages.
    #[serde(default)]
    pub(super) bound_thoughts: bool,
    /// The field for the maximum output.
    #[serde(default)]
    pub(super) max_tokens_field: MaxTokensField,
    /// The maximum output in tokens that the model accepts.
    #[serde(default)]
    pub(super) max_output_tokens: Option<u32>,
    /// Where the rules are from: a document, or a file of the provider's SDK.
    pub(super) source: String,
    /// The day of the source, and whether the model itself has been asked.
    pub(super) date: String,
}

const fn enabled() -> bool {
    true
}

fn headers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<HeaderMap, D::Error> {
    let headers = BTreeMap::<String, String>::deserialize(deserializer)?;
    let parse = |(name, value): (String, String)| {
        let invalid = |cause: &dyn Display| de::Error::custom(format!("header `{name}`: {cause}"));
        let parsed = name
            .parse::<HeaderName>()
            .map_err(|error| invalid(&error))?;
        let value: HeaderValue = value.parse().map_err(|error| invalid(&error))?;
        Ok((parsed, value))
    };
    headers.into_iter().map(parse).collect()
}

/// The fields of a request by the setting `thinking`, and the tokens for thoughts in addition to the
/// maximum output.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ThinkingFields {
    off: Map<String, Value>,
    low: Map<String, Value>,
    medium: Map<String, Value>,
    high: Map<String, Value>,
    /// Whether the model thinks although the setting is `off`. Only then it gets tokens for thoughts that
    /// no setting asks for: those of a model that is not known could exceed a small context.
    pub(super) always: bool,
}

/// How a turn is made to call one tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ForcedTools {
    /// By its name.
    ByName,
    /// By its name, in a turn without thinking.
    WithoutThinking,
    /// By offering no other tool, and requiring a call.
    Required,
    /// The server accepts no choice, or does not obey it.
    No,
}

/// Where the text of a turn can have the format of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum StructuredOutput {
    WithTools,
    /// In a request without tools.
    Alone,
    No,
}

/// The field of chat completions for the maximum output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum MaxTokensField {
    #[default]
    MaxTokens,
    MaxCompletionTokens,
}

/// Further facts about a model: its prices and its end.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ModelFacts {
    pub(super) prices: Option<Prices>,
    /// The day on which the provider ends the model, as `2026-12-11`.
    pub(super) ends: Option<String>,
}

impl ModelRules {
    /// Returns the most tokens that a turn may produce, thoughts included, if this many are for its
    /// answer.
    pub(super) fn max_output_tokens(&self, thinking: Thinking, of_answer: u32) -> u32 {
        let tokens = of_answer.saturating_add(self.thinking.reserve(thinking));
        self.max_output_tokens.map_or(tokens, |max| tokens.min(max))
    }

    /// Whether a request whose text has a format can list tools that must not be called.
    pub(super) fn lists_tools_beside_format(&self) -> bool {
        self.tool_choice_none && self.structured_output == StructuredOutput::WithTools
    }
}

impl ThinkingFields {
    /// Returns the fields for a setting.
    pub(super) fn fields(&self, setting: Thinking) -> &Map<String, Value> {
        match setting {
            Thinking::Off => &self.off,
            Thinking::Low => &self.low,
            Thinking::Medium => &self.medium,
            Thinking::High => &self.high,
        }
    }

    /// Whether a setting sends no other fields than `off`, so that the model does not think more.
    pub(super) fn is_same_as_off(&self, setting: Thinking) -> bool {
        *self.fields(setting) == self.off
    }

    /// Returns the tokens for thoughts in addition to the maximum output: they count as output. A server
    /// that refuses the fields changes nothing about them.
    pub(super) fn reserve(&self, setting: Thinking) -> u32 {
        let asked = match setting {
            _ if self.is_same_as_off(setting) => 0,
            Thinking::Off => 0,
            Thinking::Low => 4_000,
            Thinking::Medium => 12_000,
            Thinking::High => 32_000,
        };
        if self.always {
            asked.max(MIN_RESERVE)
        } else {
            asked
        }
    }
}

/// The model whose rules are looked up.
#[derive(Clone, Copy, Debug)]
pub(super) struct ModelQuery<'a> {
    pub(super) provider: Provider,
    pub(super) api: Api,
    pub(super) is_official: bool,
    pub(super) model: &'a str,
}

/// The rows of a file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RulesFile {
    #[serde(default)]
    models: Vec<Table>,
    /// By the name of the model, with names as in a row. The longest that matches is used, and that of
    /// the operator before those of this service.
    #[serde(default)]
    prices: BTreeMap<String, Prices>,
    #[serde(default)]
    ends: BTreeMap<String, String>,
}

/// The part of a row by which it is found.
#[derive(Deserialize)]
struct RowKey {
    #[serde(default)]
    apis: Vec<Api>,
    models: Vec<String>,
    official: Option<bool>,
    ollama: Option<bool>,
}

impl RowKey {
    fn matches(&self, query: ModelQuery<'_>) -> bool {
        (self.apis.is_empty() || self.apis.contains(&query.api))
            && self.official.is_none_or(|it| it == query.is_official)
            && (self.ollama).is_none_or(|it| it == (query.provider == Provider::Ollama))
            && (self.models.iter()).any(|pattern| matches_model(pattern, query.model))
    }
}

fn matches_model(pattern: &str, model: &str) -> bool {
    // A server for models of many providers names the provider first.
    let short = model.rsplit('/').next().unwrap_or(model);
    matches_pattern(pattern, model) || matches_pattern(pattern, short)
}

/// Returns whether a name in a row is that of a model, or of the model of a snapshot with a day:
/// `NAME-20251101`, `NAME@20251101` or `NAME-2025-11-01`. `*` at the end stands for any characters.
fn matches_pattern(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name.strip_prefix(pattern).is_some_and(|rest| {
            let day = rest.strip_prefix(['-', '@']);
            rest.is_empty() || day.is_some_and(is_day)
        }),
    }
}

fn is_day(text: &str) -> bool {
    let lengths: Vec<_> = text.split('-').map(str::len).collect();
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    digits == 8 && matches!(lengths[..], [8] | [4, 2, 2])
}

/// Looks up the rules of a model and what else is known about it. The fields of the operator's rows
/// replace those of this service's row; of two rows of the operator for one model, the first wins.
///
/// # Errors
///
/// When the operator's file cannot be read, or contains something else.
pub(super) fn find(
    query: ModelQuery<'_>,
    operator_file: Option<&Path>,
) -> Result<(ModelRules, ModelFacts), AgentFailure> {
    let mut file: RulesFile = toml::from_str(OWN_ROWS).expect("`rules.toml` is valid");
    let matches = |row: &Table| key(row).is_ok_and(|key| key.matches(query));
    let mut row = std::mem::take(&mut file.models)
        .into_iter()
        .find(matches)
        .expect("the last rows of `rules.toml` match any model");
    let rules = row.clone().try_into::<ModelRules>();
    let mut rules = rules.expect("`rules.toml` is valid");
    let Some(path) = operator_file else {
        return Ok((rules, facts(query.model, &[file])));
    };
    let invalid = |cause: &dyn Display| {
        let message = format!("{} cannot be used: {cause}", path.display());
        AgentFailure::new(ErrorCode::ModelRequestRefused, message)
            .with_remedy("write it as docs/agent.md says, or remove `model_rules`")
    };
    let text = std::fs::read_to_string(path).map_err(|error| invalid(&error))?;
    let mut overlay: RulesFile = toml::from_str(&text).map_err(|error| invalid(&error))?;
    for changes in std::mem::take(&mut overlay.models).into_iter().rev() {
        let key = key(&changes).map_err(|error| invalid(&error))?;
        let mut changed = row.clone();
        merge(&mut changed, changes);
        // A row of another model is checked as well: a mistake in it would show only much later.
        let checked = changed.clone().try_into::<ModelRules>();
        let in_row =
            |error: toml::de::Error| invalid(&format!("the row of {:?}: {error}", key.models));
        let checked = checked.map_err(in_row)?;
        if key.matches(query) {
            (row, rules) = (changed, checked);
        }
    }
    Ok((rules, facts(query.model, &[overlay, file])))
}

/// Returns what the first of these files that names the model says about it.
fn facts(model: &str, files: &[RulesFile]) -> ModelFacts {
    let prices = files
        .iter()
        .find_map(|file| longest_match(&file.prices, model));
    let ends = files
        .iter()
        .find_map(|file| longest_match(&file.ends, model));
    ModelFacts {
        prices: prices.cloned(),
        ends: ends.cloned(),
    }
}

fn longest_match<'a, T>(values: &'a BTreeMap<String, T>, model: &str) -> Option<&'a T> {
    let matching = values
        .iter()
        .filter(|(pattern, _)| matches_model(pattern, model));
    // A name without `*` is longer than any pattern for it.
    let longest = matching.max_by_key(|(pattern, _)| match pattern.strip_suffix('*') {
        Some(prefix) => (prefix.len(), false),
        None => (pattern.len(), true),
    });
    longest.map(|(_, value)| value)
}

fn key(row: &Table) -> Result<RowKey, toml::de::Error> {
    row.clone().try_into()
}

/// Replaces fields by those of another row. Those of `thinking` are replaced one by one.
fn merge(row: &mut Table, changes: Table) {
    for (name, value) in changes {
        match (row.get_mut(&name), value) {
            (Some(toml::Value::Table(own)), toml::Value::Table(changes)) if name == "thinking" => {
                own.extend(changes);
            }
            (_, value) => {
                row.insert(name, value);
            }
        }
    }
}

#[cfg(test)]
mod own_rows;
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_the_price_of_its_longest_pattern_and_first_that_of_the_operator() {
        let prices = |text: &str| toml::from_str::<RulesFile>(text).unwrap();
        let operator = prices("prices = { \"m*\" = [1, 1, 1] }");
        let own = prices(
            "prices = { \"m-1*\" = [2, 2, 2], \"n*\" = [3, 3, 3], \"n-1*\" = [4, 4, 4], n-1 = [5, 5, 5] }",
        );
        let files = [operator, own];
        for (model, price) in [
            ("m-1-mini", Some("[1, 1, 1]")),
            ("n-2", Some("[3, 3, 3]")),
            ("n-1-mini", Some("[4, 4, 4]")),
            ("n-1", Some("[5, 5, 5]")),
            ("vendor/n-1", Some("[5, 5, 5]")),
            ("o", None),
        ] {
            let expected = price.map(|price| {
                let file = prices(&format!("prices = {{ x = {price} }}"));
                file.prices["x"].clone()
            });
            assert_eq!(facts(model, &files).prices, expected, "{model}");
        }
    }

    #[test]
    fn an_operator_changes_fields_of_a_row() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("models.toml");
        let query = ModelQuery {
            provider: Provider::Openai,
            api: Api::ChatCompletions,
            is_official: false,
            model: "local",
        };
        let find = |text: &str| {
            std::fs::write(&path, text).unwrap();
            super::find(query, Some(&path))
        };
        let (own, _) = super::find(query, None).unwrap();
        let (changed, facts) = find(
            "prices = { local = [1, 0, 2] }\n\
             [[models]]\nmodels = [\"loc*\"]\nforced_tools = \"no\"\n\
             thinking.off = { think = false }\n\
             [[models]]\nmodels = [\"other\"]\ntemperature = true\n",
        )
        .unwrap();
        assert!(facts.prices.is_some());
        assert_eq!(changed.forced_tools, ForcedTools::No);
        assert_eq!(changed.thinking.fields(Thinking::Off)["think"], false);
        let high = Thinking::High;
        assert_eq!(changed.thinking.fields(high), own.thinking.fields(high));
        for (text, part) in [
            (
                "[[models]]\nmodels = [\"local\"]\nforced = true\n",
                "forced",
            ),
            ("[[model]]\n", "model"),
            ("[[models]]\n", "models"),
            // The row is for another model.
            ("[[models]]\nmodels = [\"other\"]\nforced = true\n", "other"),
            (
                "[[models]]\nmodels = [\"other\"]\nheaders = { \"two words\" = \"a\" }\n",
                "two words",
            ),
            (
                "[[models]]\nmodels = [\"local\"]\nheaders.x-beta = \"a\\nb\"\n",
                "`x-beta`",
            ),
        ] {
            let failure = find(text).unwrap_err();
            assert!(failure.message.contains(part), "{failure}");
        }
    }
}

//! The rules of the providers, from `table.toml`.

use std::sync::OnceLock;

use serde::Deserialize;

/// Everything in `table.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rules {
    rule: Vec<Rule>,
    effect: Vec<Effect>,
    anthropic: Vec<AnthropicModel>,
    openai: Vec<OpenAiModel>,
    gemini: Vec<GeminiModel>,
}

/// A reason for which a request is refused.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    id: String,
    #[serde(default = "bad_request")]
    status: u16,
    #[serde(default = "invalid_request")]
    kind: String,
    code: Option<String>,
    message: String,
    source: String,
    date: String,
    words: String,
}

/// An act of a provider that its answer does not mention.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Effect {
    id: String,
    what: String,
    source: String,
    date: String,
}

/// Capabilities of a model of Anthropic.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AnthropicModel {
    name: String,
    pub(crate) thinking: Vec<String>,
    /// Types of thinking that are refused at the efforts `xhigh` and `max`.
    pub(crate) limited_to_high: Vec<String>,
    /// Whether it thinks if the request says nothing about it.
    pub(crate) thinks: bool,
    pub(crate) forced: String,
    pub(crate) efforts: Vec<String>,
    pub(crate) sampling: bool,
    pub(crate) prefill: bool,
    pub(crate) prefix_check: bool,
    pub(crate) system_role: bool,
    /// Whether thinking is shown without being asked for.
    pub(crate) summarized: bool,
    pub(crate) max_tokens: u64,
    pub(crate) retired: bool,
    source: String,
    date: String,
}

/// Capabilities of a model of OpenAI.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct OpenAiModel {
    pub(crate) name: String,
    pub(crate) efforts: Vec<String>,
    pub(crate) default_effort: String,
    pub(crate) reasoning: bool,
    pub(crate) sampling: String,
    /// Whether it is served by chat completions.
    #[serde(default = "yes")]
    pub(crate) chat: bool,
    pub(crate) chat_tools: String,
    pub(crate) breakpoints: bool,
    pub(crate) drops_after_edit: bool,
    pub(crate) max_output: u64,
    pub(crate) retired: bool,
    source: String,
    date: String,
}

/// Capabilities of a model of Gemini.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct GeminiModel {
    pub(crate) name: String,
    pub(crate) levels: Vec<String>,
    pub(crate) budget: Option<[i64; 2]>,
    pub(crate) budget_zero: bool,
    pub(crate) signatures: bool,
    pub(crate) prefill: bool,
    pub(crate) json_with_tools: bool,
    pub(crate) media_in_results: bool,
    pub(crate) sampling_ignored: bool,
    pub(crate) retired: bool,
    source: String,
    date: String,
}

/// Where a rule comes from.
#[derive(Clone, Copy, Debug)]
pub struct RuleSource {
    /// Id of the rule or effect, or name of the model.
    pub id: &'static str,
    /// The document, or the SDK with its version and file.
    pub source: &'static str,
    /// The date of the document or of the SDK.
    pub date: &'static str,
    /// Of a rule: who published the words of its message. Of an effect: what it is.
    pub words: &'static str,
}

/// The name of the row for models that the provider of an API does not have.
const OTHER_SERVER: &str = "other server";

/// Whether a name is one of OpenAI's. Only servers that have the same API can have another model.
pub(crate) fn is_of_openai(model: &str) -> bool {
    let families = ["gpt-", "chatgpt-", "o1", "o3", "o4", "codex-"];
    families.iter().any(|family| model.starts_with(family))
}

/// Why a request was refused.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub(crate) rule: &'static str,
    pub(crate) status: u16,
    pub(crate) kind: &'static str,
    pub(crate) code: Option<&'static str>,
    pub(crate) param: Option<String>,
    pub(crate) message: String,
}

/// The result of a check.
pub(crate) type Check<T = ()> = Result<T, Refusal>;

/// Creates the refusal of a rule.
pub(crate) fn refuse(id: &str, values: &[(&str, &str)]) -> Refusal {
    Rules::get().refuse(id, values)
}

impl Rules {
    /// Returns the rules.
    pub(crate) fn get() -> &'static Self {
        static RULES: OnceLock<Rules> = OnceLock::new();
        let parse = || toml::from_str(include_str!("table.toml")).expect("table.toml is valid");
        RULES.get_or_init(parse)
    }

    /// Creates the refusal of a rule. The value of `param` is also the field `param` of the answer.
    pub(crate) fn refuse(&'static self, id: &str, values: &[(&str, &str)]) -> Refusal {
        let rule = self.rule.iter().find(|rule| rule.id == id);
        let rule = rule.unwrap_or_else(|| panic!("table.toml has no rule {id}"));
        let mut message = rule.message.clone();
        for (name, value) in values {
            message = message.replace(&format!("{{{name}}}"), value);
        }
        let param = values.iter().find(|(name, _)| *name == "param");
        Refusal {
            rule: &rule.id,
            status: rule.status,
            kind: &rule.kind,
            code: rule.code.as_deref(),
            param: param.map(|(_, value)| (*value).to_owned()),
            message,
        }
    }

    /// Returns the id of an effect, which `table.toml` must have.
    pub(crate) fn effect(&'static self, id: &str) -> &'static str {
        let effect = self.effect.iter().find(|effect| effect.id == id);
        &effect
            .unwrap_or_else(|| panic!("table.toml has no effect {id}"))
            .id
    }

    /// Returns the rules of a model of Anthropic, or those of other servers that have its API.
    pub(crate) fn anthropic(&self, model: &str) -> &AnthropicModel {
        let model = if model.starts_with("claude") {
            model
        } else {
            OTHER_SERVER
        };
        row(&self.anthropic, model, |row| &row.name)
    }

    pub(crate) fn openai(&self, model: &str) -> &OpenAiModel {
        row(&self.openai, model, |row| &row.name)
    }

    pub(crate) fn gemini(&self, model: &str) -> &GeminiModel {
        row(&self.gemini, model, |row| &row.name)
    }
}

/// Returns the row with the longest name that `model` begins with, else that of unknown models.
fn row<'a, T>(rows: &'a [T], model: &str, name: impl Fn(&T) -> &String) -> &'a T {
    let known = rows.iter().filter(|row| is_version_of(model, name(row)));
    let unknown = || rows.iter().find(|row| name(row) == "*");
    let longest = known.max_by_key(|row| name(row).len());
    longest
        .or_else(unknown)
        .expect("there is a row for unknown models")
}

/// Returns whether `model` is this model, one of its snapshots or one of its variants. A further
/// number makes it another version, without a document.
fn is_version_of(model: &str, name: &str) -> bool {
    model.strip_prefix(name).is_some_and(|rest| {
        let variant = rest.strip_prefix('-').or_else(|| rest.strip_prefix('@'));
        let is_version = |text: &str| {
            let digits = text.split(|char: char| !char.is_ascii_digit()).next();
            digits.is_some_and(|digits| (1..=2).contains(&digits.len()))
        };
        rest.is_empty() || variant.is_some_and(|variant| !is_version(variant))
    })
}

/// Returns the documents of all rules, effects and models.
pub fn rule_sources() -> Vec<RuleSource> {
    let rules = Rules::get();
    let source =
        |id: &'static str, source: &'static str, date: &'static str, words: &'static str| {
            RuleSource {
                id,
                source,
                date,
                words,
            }
        };
    let own = rules.rule.iter();
    let own = own.map(|row| source(&row.id, &row.source, &row.date, &row.words));
    let effects = rules.effect.iter();
    let effects = effects.map(|row| source(&row.id, &row.source, &row.date, &row.what));
    let anthropic = rules.anthropic.iter();
    let anthropic = anthropic.map(|row| source(&row.name, &row.source, &row.date, ""));
    let openai = rules.openai.iter();
    let openai = openai.map(|row| source(&row.name, &row.source, &row.date, ""));
    let gemini = rules.gemini.iter();
    let gemini = gemini.map(|row| source(&row.name, &row.source, &row.date, ""));
    let models = anthropic.chain(openai).chain(gemini);
    own.chain(effects).chain(models).collect()
}

fn bad_request() -> u16 {
    400
}

fn invalid_request() -> String {
    "invalid_request_error".to_owned()
}

fn yes() -> bool {
    true
}

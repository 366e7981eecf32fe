//! The settings of the model that answers.
//!
//! Of the model's files, only this one may use `clap`, so the type of a setting that derives
//! `ValueEnum` belongs here. The rule is in `e2e/xtask/src/lint/imports/foreign_crates.rs`.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use super::api::Api;
use bridge_settings::values::{parse_duration, parse_visible_ascii};
use clap::{Args, ValueEnum};
use reqwest::Url;

/// The settings of the model that answers.
///
/// Keys have no flag: they come from `ANTHROPIC_API_KEY`, `OPENAI_API_KEY` and `GEMINI_API_KEY`, or
/// from a file.
#[derive(Clone, Debug, PartialEq, Args)]
#[command(next_help_heading = "Model")]
pub struct ModelSettings {
    /// Provider of the model. Default: `openai` if there is a base URL, else the provider whose key
    /// is in the environment.
    #[arg(long, env = "MCP_WEB_AGENT_PROVIDER", value_name = "NAME", value_enum)]
    pub provider: Option<Provider>,

    /// Name of the model at the provider. Default: one of the provider's that calls tools well.
    #[arg(long, env = "MCP_WEB_AGENT_MODEL", value_name = "NAME", value_parser = parse_visible_ascii)]
    pub model: Option<String>,

    /// URL of the provider's API, with its version: `http://127.0.0.1:8000/v1`. With `openai` it
    /// may be any compatible server, which needs no key.
    #[arg(long, env = "MCP_WEB_AGENT_BASE_URL", value_name = "URL", value_parser = base_url)]
    pub base_url: Option<Url>,

    /// API of OpenAI that the server has. Default: `responses` for OpenAI itself, `chat-completions` for
    /// every other server.
    #[arg(
        long,
        env = "MCP_WEB_AGENT_OPENAI_API",
        value_name = "NAME",
        value_enum
    )]
    pub openai_api: Option<OpenaiApi>,

    /// File with rules and prices of models, in TOML. Its fields replace those that the agent has.
    #[arg(long, env = "MCP_WEB_AGENT_MODEL_RULES", value_name = "PATH")]
    pub model_rules: Option<PathBuf>,

    /// File with the provider's key. Default: `ANTHROPIC_API_KEY`, `OPENAI_API_KEY` or
    /// `GEMINI_API_KEY` from the environment.
    #[arg(long, env = "MCP_WEB_AGENT_API_KEY_FILE", value_name = "PATH")]
    pub api_key_file: Option<PathBuf>,

    /// How much the model thinks before it answers, if it can. Thoughts cost tokens in addition to
    /// the maximum output of a turn.
    #[arg(
        long,
        env = "MCP_WEB_AGENT_THINKING",
        value_name = "HOW MUCH",
        value_enum,
        default_value_t = Thinking::Off
    )]
    pub thinking: Thinking,

    /// How much the model varies its answers: 0 for as little as possible, 1 is most providers' own
    /// default. It is not sent to models that accept none, or none while they think.
    #[arg(long, env = "MCP_WEB_AGENT_TEMPERATURE", value_name = "0 TO 2", value_parser = temperature)]
    pub temperature: Option<f64>,

    /// Texts at which the model stops its answer.
    #[arg(
        long,
        env = "MCP_WEB_AGENT_STOP_SEQUENCES",
        value_name = "TEXT,…",
        value_delimiter = ',',
        value_parser = clap::builder::NonEmptyStringValueParser::new()
    )]
    pub stop_sequences: Vec<String>,

    /// Whether the model gets the pictures that tools return and that a person attaches, and PDF
    /// files at Anthropic, OpenAI and Gemini. `auto` is `on` for the APIs of Anthropic, OpenAI and
    /// Gemini and `off` for every other server, because it refuses pictures if its model reads none.
    #[arg(long, env = "MCP_WEB_AGENT_PICTURES", value_name = "WHETHER", value_enum, default_value_t = Pictures::Auto)]
    pub pictures: Pictures,

    /// How often a provider that is busy, broken or unreachable is retried, as long as it has not
    /// produced any output.
    #[arg(long, env = "MCP_WEB_AGENT_RETRIES", value_name = "N", default_value_t = 2,
        value_parser = clap::value_parser!(u32).range(0..=MAX_RETRIES))]
    pub retries: u32,

    /// Time in which the model must begin to answer. Default: `5m` for a model that always thinks,
    /// `200s` for an answer with a schema at Anthropic, which compiles it first, and else `60s`.
    #[arg(long, env = "MCP_WEB_AGENT_FIRST_TOKEN_WITHIN", value_name = "TIME", value_parser = parse_duration)]
    pub first_token_within: Option<Duration>,

    /// Time after which a provider that sends nothing in the middle of an answer is given up.
    #[arg(long, env = "MCP_WEB_AGENT_PROVIDER_SILENCE", value_name = "TIME", default_value = "60s", value_parser = parse_duration)]
    pub provider_silence: Duration,
}

/// The largest temperature that a provider accepts.
const MAX_TEMPERATURE: f64 = 2.0;

/// More retries would only add to the load of a provider in trouble.
const MAX_RETRIES: i64 = 10;

impl Default for ModelSettings {
    /// Returns the defaults, independent of the environment.
    fn default() -> Self {
        Self {
            provider: None,
            model: None,
            base_url: None,
            openai_api: None,
            model_rules: None,
            api_key_file: None,
            thinking: Thinking::Off,
            temperature: None,
            stop_sequences: Vec::new(),
            pictures: Pictures::Auto,
            retries: 2,
            first_token_within: None,
            provider_silence: Duration::from_secs(60),
        }
    }
}

impl ModelSettings {
    /// Returns the API by which a model of this provider is reached.
    pub(super) fn api(&self, provider: Provider, is_official: bool) -> Api {
        match (provider, self.openai_api) {
            (Provider::Anthropic, _) => Api::Messages,
            (Provider::Gemini, _) => Api::Gemini,
            (Provider::Openai, Some(OpenaiApi::Responses)) => Api::Responses,
            (Provider::Openai, None) if is_official => Api::Responses,
            (Provider::Openai | Provider::Ollama | Provider::Commands, _) => Api::ChatCompletions,
        }
    }
}

/// One of the two APIs of OpenAI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OpenaiApi {
    /// Responses, in which OpenAI's models think between calls.
    Responses,
    /// Chat completions, which most other servers have.
    ChatCompletions,
}

/// Whether a model gets pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Pictures {
    /// If the requests go to Anthropic, OpenAI or Gemini.
    Auto,
    /// Always.
    On,
    /// Never: the model reads their types and sizes.
    Off,
}

/// The provider of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Provider {
    /// Claude.
    Anthropic,
    /// OpenAI, and every compatible server.
    Openai,
    /// Google's Gemini API.
    Gemini,
    /// Models on this machine, served by Ollama.
    Ollama,
    /// No language model: runs the `/tool {json}` lines of a prompt.
    Commands,
}

impl Provider {
    /// Returns the environment variable with the key.
    pub(crate) fn key_variable(self) -> Option<&'static str> {
        match self {
            Self::Anthropic => Some("ANTHROPIC_API_KEY"),
            Self::Openai => Some("OPENAI_API_KEY"),
            Self::Gemini => Some("GEMINI_API_KEY"),
            Self::Ollama | Self::Commands => None,
        }
    }

    /// Returns the model that is used if none is named: one that calls tools well at a moderate price.
    pub(crate) fn default_model(self) -> &'static str {
        match self {
            Self::Anthropic => "claude-sonnet-5-5",
            Self::Openai => "gpt-6.1-terra",
            Self::Gemini => "gemini-3.8-flash",
            Self::Ollama => "qwen3",
            Self::Commands => "",
        }
    }

    /// Returns the name of the provider in settings and labels.
    pub fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::Openai => "openai",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
            Self::Commands => "commands",
        }
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How much a model thinks before it answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Thinking {
    /// As little as the model allows.
    #[default]
    Off,
    /// A little.
    Low,
    /// More.
    Medium,
    /// Much.
    High,
}

fn temperature(text: &str) -> Result<f64, String> {
    let number = text.parse().ok();
    let number = number.filter(|it| (0.0..=MAX_TEMPERATURE).contains(it));
    number.ok_or_else(|| format!("allowed are numbers from 0 to {MAX_TEMPERATURE}"))
}

/// Parses a base URL, and makes its path end with a slash.
fn base_url(text: &str) -> Result<Url, String> {
    let invalid = || {
        "allowed are http:// and https:// URLs such as http://127.0.0.1:8000/v1, without user, \
         password, query and fragment; the key comes from the environment or from a file"
            .to_owned()
    };
    let mut url: Url = text.parse().map_err(|_| invalid())?;
    let is_plain = url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    if !is_plain || !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(invalid());
    }
    // Without it, `Url::join` would replace the last segment.
    if !url.path().ends_with('/') {
        let path = format!("{}/", url.path());
        url.set_path(&path);
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Program {
        #[command(flatten)]
        model: ModelSettings,
    }

    #[test]
    fn the_defaults_of_the_flags_are_the_defaults_of_the_library() {
        let program = Program::parse_from(["agent"]);
        assert_eq!(program.model, ModelSettings::default());
    }

    #[test]
    fn a_base_url_ends_with_a_slash_and_has_no_credential() {
        let url = base_url("http://127.0.0.1:8000/v1").unwrap();
        assert_eq!(url.as_str(), "http://127.0.0.1:8000/v1/");
        assert_eq!(base_url("https://a.example").unwrap().path(), "/");
        for invalid in [
            "127.0.0.1:8000",
            "ftp://a.example/",
            "http://user:secret@a.example/v1",
            "http://a.example/v1?key=secret",
        ] {
            let error = base_url(invalid).unwrap_err();
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn a_temperature_is_between_0_and_2_and_a_stop_sequence_is_not_empty() {
        let parse = |flag, value| Program::try_parse_from(["agent", flag, value]);
        let program = parse("--temperature", "0.2").unwrap();
        assert_eq!(program.model.temperature, Some(0.2));
        for invalid in ["2.1", "nan", "hot"] {
            let error = parse("--temperature", invalid).unwrap_err().to_string();
            assert!(error.contains("numbers from 0 to 2"), "{error}");
        }
        let program = parse("--stop-sequences", "END,\n\n").unwrap();
        assert_eq!(program.model.stop_sequences, ["END", "\n\n"]);
        assert!(parse("--stop-sequences", "END,").is_err());
    }

    #[test]
    fn more_than_ten_retries_are_refused() {
        assert!(Program::try_parse_from(["agent", "--retries", "10"]).is_ok());
        assert!(Program::try_parse_from(["agent", "--retries", "11"]).is_err());
    }
}

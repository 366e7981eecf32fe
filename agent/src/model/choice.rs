//! From settings to a model.

use std::sync::Arc;

use bridge_protocol::ErrorCode;

use super::commands::Commands;
use super::{Model, ModelSettings, Provider};
use crate::config::Secret;
use crate::failure::Failure;

/// What reads a variable of the environment.
type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The model that these settings ask for, with its key from a file or from the environment.
pub(crate) fn choose(settings: &ModelSettings) -> Result<Arc<dyn Model>, Failure> {
    choose_from(settings, &|name| std::env::var(name).ok())
}

fn choose_from(
    settings: &ModelSettings,
    variables: Variables<'_>,
) -> Result<Arc<dyn Model>, Failure> {
    let provider = provider(settings, variables);
    if provider == Provider::Commands {
        return Ok(Arc::new(Commands));
    }
    let key = key(settings, provider, variables)?;
    let model = model_name(settings, provider)?;
    let _ = (key, model);
    Err(Failure::new(
        ErrorCode::AgentFailed,
        format!("{provider} is not there yet"),
    ))
}

/// A base URL stands for a server that speaks OpenAI's chat completions: nearly all do.
fn provider(settings: &ModelSettings, variables: Variables<'_>) -> Provider {
    if let Some(provider) = settings.provider {
        return provider;
    }
    if settings.base_url.is_some() {
        return Provider::Openai;
    }
    [Provider::Anthropic, Provider::Openai, Provider::Gemini]
        .into_iter()
        .find(|provider| written_key(*provider, variables).is_some())
        .unwrap_or(Provider::Commands)
}

/// The variable with a provider's key.
fn key_variable(provider: Provider) -> Option<&'static str> {
    match provider {
        Provider::Anthropic => Some("ANTHROPIC_API_KEY"),
        Provider::Openai => Some("OPENAI_API_KEY"),
        Provider::Gemini => Some("GEMINI_API_KEY"),
        Provider::Ollama | Provider::Commands => None,
    }
}

fn written_key(provider: Provider, variables: Variables<'_>) -> Option<String> {
    variables(key_variable(provider)?).filter(|key| !key.trim().is_empty())
}

/// The key: a file wins over the environment.
fn key(
    settings: &ModelSettings,
    provider: Provider,
    variables: Variables<'_>,
) -> Result<Option<Secret>, Failure> {
    let unusable = |why: String| Failure::new(ErrorCode::ModelUnauthorized, why);
    if let Some(path) = &settings.api_key_file {
        let text = std::fs::read_to_string(path)
            .map_err(|error| unusable(format!("{} cannot be read: {error}", path.display())))?;
        let key = text.trim().parse();
        return key.map(Some).map_err(|_| {
            unusable(format!("{} holds no key", path.display()))
                .with_remedy("write the key alone into the file, on one line")
        });
    }
    if let Some(key) = written_key(provider, variables) {
        let key = key.trim().parse();
        return key.map(Some).map_err(|_| {
            let variable = key_variable(provider).unwrap_or_default();
            unusable(format!(
                "{variable} holds no key: a key has no spaces in it"
            ))
        });
    }
    let needs_none =
        provider == Provider::Ollama || provider == Provider::Openai && settings.base_url.is_some();
    match key_variable(provider) {
        Some(variable) if !needs_none => Err(unusable(format!("{provider} needs a key"))
            .with_remedy(format!(
                "set {variable}, or name a file with --api-key-file"
            ))),
        _ => Ok(None),
    }
}

/// Models that call tools well at a moderate price.
fn model_name(settings: &ModelSettings, provider: Provider) -> Result<String, Failure> {
    if let Some(model) = &settings.model {
        return Ok(model.clone());
    }
    let default = match provider {
        Provider::Anthropic => "claude-sonnet-5",
        // A compatible server knows none of OpenAI's names.
        Provider::Openai if settings.base_url.is_some() => {
            return Err(Failure::new(
                ErrorCode::ModelRequestRefused,
                "there is a base URL, but no model that its server should use",
            )
            .with_remedy("name it with --model"));
        }
        Provider::Openai => "gpt-5.4-mini",
        Provider::Gemini => "gemini-3.8-flash",
        Provider::Ollama => "qwen3",
        Provider::Commands => "",
    };
    Ok(default.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(keys: &'static [(&str, &str)]) -> impl Fn(&str) -> Option<String> {
        move |name| {
            let found = keys.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        }
    }

    fn base_url() -> ModelSettings {
        ModelSettings {
            base_url: Some("http://127.0.0.1:8000/v1/".parse().unwrap()),
            ..ModelSettings::default()
        }
    }

    #[test]
    fn a_key_in_the_environment_chooses_its_provider_and_without_one_commands_run() {
        let default = ModelSettings::default();
        assert_eq!(provider(&default, &with(&[])), Provider::Commands);
        let keys = with(&[("ANTHROPIC_API_KEY", " "), ("GEMINI_API_KEY", "k")]);
        assert_eq!(provider(&default, &keys), Provider::Gemini);
        let keys = with(&[("OPENAI_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k")]);
        assert_eq!(provider(&default, &keys), Provider::Anthropic);
        assert_eq!(provider(&base_url(), &keys), Provider::Openai);
        let model = choose_from(&default, &with(&[])).unwrap();
        assert_eq!(model.label(), "commands (no language model)");
    }

    #[test]
    fn only_a_server_of_ones_own_is_asked_without_a_key() {
        let none = with(&[]);
        assert_eq!(key(&base_url(), Provider::Openai, &none), Ok(None));
        let default = ModelSettings::default();
        assert_eq!(key(&default, Provider::Ollama, &none), Ok(None));
        for provider in [Provider::Anthropic, Provider::Openai, Provider::Gemini] {
            let failure = key(&default, provider, &none).unwrap_err();
            assert_eq!(failure.code, ErrorCode::ModelUnauthorized);
            assert!(failure.remedy.unwrap().contains("_API_KEY"));
        }
    }

    #[test]
    fn a_file_with_a_key_wins_and_a_bad_one_is_not_shown() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, "from-file\n").unwrap();
        let settings = ModelSettings {
            api_key_file: Some(path.clone()),
            ..ModelSettings::default()
        };
        let keys = with(&[("ANTHROPIC_API_KEY", "from-environment")]);
        let found = key(&settings, Provider::Anthropic, &keys).unwrap();
        assert_eq!(found.unwrap().text(), "from-file");
        std::fs::write(&path, "two words").unwrap();
        let failure = key(&settings, Provider::Anthropic, &keys).unwrap_err();
        assert!(!failure.to_string().contains("two words"), "{failure}");
    }

    #[test]
    fn a_compatible_server_has_no_default_model() {
        let failure = model_name(&base_url(), Provider::Openai).unwrap_err();
        assert_eq!(failure.remedy.as_deref(), Some("name it with --model"));
        let named = ModelSettings {
            model: Some("local".to_owned()),
            ..base_url()
        };
        assert_eq!(model_name(&named, Provider::Openai).as_deref(), Ok("local"));
    }
}

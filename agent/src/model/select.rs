//! Creates the model that the settings select.

use std::sync::Arc;

use agent_tools::AgentFailure;
use bridge_protocol::ErrorCode;
use bridge_settings::Secret;
use bridge_settings::parse_credential;

use super::hosted::{HostedModel, ProviderAccess};
use super::provider_key::{KeyFileError, load_key};
use super::{Model, ModelSettings, Provider};
use crate::model::retry::RetryingModel;
use crate::model::scripted::ScriptedModel;

/// A function that returns the value of an environment variable.
type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Creates the model that the settings select, with its key from a file or from the environment.
pub(crate) fn from_settings(settings: &ModelSettings) -> Result<Arc<dyn Model>, AgentFailure> {
    from_settings_and_variables(settings, &|name| std::env::var(name).ok())
}

fn from_settings_and_variables(
    settings: &ModelSettings,
    variables: Variables<'_>,
) -> Result<Arc<dyn Model>, AgentFailure> {
    let provider = provider(settings, variables)?;
    if provider == Provider::Commands {
        return Ok(Arc::new(ScriptedModel));
    }
    let access = ProviderAccess {
        provider,
        model: model_name(settings, provider)?,
        key: key(settings, provider, variables)?,
    };
    let hosted = HostedModel::new(access, settings)?;
    Ok(Arc::new(RetryingModel::new(hosted, settings.retries)))
}

/// Selects the provider. A base URL without a provider means a server that is compatible with
/// OpenAI's chat completions, as nearly all are.
fn provider(settings: &ModelSettings, variables: Variables<'_>) -> Result<Provider, AgentFailure> {
    if let Some(provider) = settings.provider {
        return Ok(provider);
    }
    if settings.base_url.is_some() {
        return Ok(Provider::Openai);
    }
    [Provider::Anthropic, Provider::Openai, Provider::Gemini]
        .into_iter()
        .find(|provider| key_in_environment(*provider, variables).is_some())
        .ok_or_else(no_model)
}

/// Creates the failure for settings that select no model. A fallback to `commands` would look like
/// a broken model.
fn no_model() -> AgentFailure {
    AgentFailure::new(ErrorCode::ModelUnauthorized, "no model is configured").with_remedy(
        "set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or choose a server of your own \
         with `--provider ollama` or `--base-url http://127.0.0.1:8000/v1 --model NAME` (anything \
         that speaks OpenAI's chat completions), or try it without a model: `--provider commands`",
    )
}

fn key_in_environment(provider: Provider, variables: Variables<'_>) -> Option<String> {
    variables(provider.key_variable()?).filter(|key| !key.trim().is_empty())
}

/// Loads the key of the provider. A file takes precedence over the environment.
fn key(
    settings: &ModelSettings,
    provider: Provider,
    variables: Variables<'_>,
) -> Result<Option<Secret>, AgentFailure> {
    let unusable = |message: String| AgentFailure::new(ErrorCode::ModelUnauthorized, message);
    if let Some(path) = &settings.api_key_file {
        let key = load_key(path).map_err(|error| {
            let failure = unusable(error.to_string());
            match error {
                KeyFileError::Unreadable(..) => failure,
                KeyFileError::NoKey(_) => {
                    failure.with_remedy("write the key alone into the file, on one line")
                }
            }
        })?;
        return Ok(Some(key));
    }
    if let Some(key) = key_in_environment(provider, variables) {
        let key = parse_credential(key.trim());
        return key.map(Some).map_err(|_| {
            let variable = provider.key_variable().unwrap_or_default();
            unusable(format!(
                "{variable} holds no key: a key has no spaces in it"
            ))
        });
    }
    let needs_none =
        provider == Provider::Ollama || provider == Provider::Openai && settings.base_url.is_some();
    match provider.key_variable() {
        Some(variable) if !needs_none => Err(unusable(format!("{provider} needs a key"))
            .with_remedy(format!(
                "set {variable}, or name a file with --api-key-file"
            ))),
        _ => Ok(None),
    }
}

/// Returns the name of the model.
fn model_name(settings: &ModelSettings, provider: Provider) -> Result<String, AgentFailure> {
    if let Some(model) = &settings.model {
        return Ok(model.clone());
    }
    // A compatible server has none of OpenAI's models.
    if provider == Provider::Openai && settings.base_url.is_some() {
        return Err(AgentFailure::new(
            ErrorCode::ModelRequestRefused,
            "there is a base URL, but no model that its server should use",
        )
        .with_remedy("name it with --model"));
    }
    Ok(provider.default_model().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(keys: &'static [(&str, &str)]) -> impl Fn(&str) -> Option<String> {
        move |name| {
            let variable = keys.iter().find(|(key, _)| *key == name);
            variable.map(|(_, value)| (*value).to_owned())
        }
    }

    fn base_url() -> ModelSettings {
        ModelSettings {
            base_url: Some("http://127.0.0.1:8000/v1/".parse().unwrap()),
            ..ModelSettings::default()
        }
    }

    fn settings_for(provider: Provider) -> ModelSettings {
        ModelSettings {
            provider: Some(provider),
            ..ModelSettings::default()
        }
    }

    #[test]
    fn a_key_in_the_environment_selects_its_provider() {
        let default = ModelSettings::default();
        let keys = environment(&[("ANTHROPIC_API_KEY", " "), ("GEMINI_API_KEY", "k")]);
        assert_eq!(provider(&default, &keys), Ok(Provider::Gemini));
        let keys = environment(&[("OPENAI_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k")]);
        assert_eq!(provider(&default, &keys), Ok(Provider::Anthropic));
        assert_eq!(provider(&base_url(), &keys), Ok(Provider::Openai));
        assert_eq!(
            provider(&settings_for(Provider::Ollama), &keys),
            Ok(Provider::Ollama)
        );
    }

    #[test]
    fn no_provider_and_no_key_is_an_error() {
        let failure =
            from_settings_and_variables(&ModelSettings::default(), &environment(&[])).unwrap_err();
        let remedy = failure.remedy.unwrap();
        for option in ["OPENAI_API_KEY", "--base-url", "--provider commands"] {
            assert!(remedy.contains(option), "{remedy}");
        }
    }

    #[test]
    fn labels_name_provider_model_and_a_foreign_server() {
        let keys = environment(&[("ANTHROPIC_API_KEY", "k")]);
        let label = |settings: &ModelSettings| {
            let model = from_settings_and_variables(settings, &keys).unwrap();
            model.label().to_owned()
        };
        assert_eq!(
            label(&settings_for(Provider::Commands)),
            "commands (no language model)"
        );
        assert_eq!(
            label(&ModelSettings::default()),
            "anthropic claude-sonnet-5-5"
        );
        let local = ModelSettings {
            model: Some("qwen".to_owned()),
            ..base_url()
        };
        assert_eq!(label(&local), "openai qwen at http://127.0.0.1:8000");
    }

    #[test]
    fn only_ollama_and_compatible_servers_need_no_key() {
        let none = environment(&[]);
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
    fn a_key_file_wins_and_an_invalid_key_is_not_shown() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, "from-file\n").unwrap();
        let settings = ModelSettings {
            api_key_file: Some(path.clone()),
            ..ModelSettings::default()
        };
        let keys = environment(&[("ANTHROPIC_API_KEY", "from-environment")]);
        let from_file = key(&settings, Provider::Anthropic, &keys).unwrap();
        assert_eq!(from_file.unwrap().expose(), "from-file");
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

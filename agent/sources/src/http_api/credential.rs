//! The credential of an API in the settings of a source.

use std::path::Path;
use std::sync::Arc;

use agent_secrets::{SecretStore, SecretText, SecretsError};
use bridge_settings::parse_credential;
use bridge_settings::{Secret, warning_if_open_to_all};
use serde::Deserialize;

/// A credential that is written in settings. No error and no `Debug` shows it.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Credential(Secret);

impl TryFrom<String> for Credential {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        parse_credential(text.trim()).map(Self)
    }
}

/// Loads a credential from the setting of this name, or from the file of the one with the suffix
/// `_file`. The errors do not contain it.
pub(crate) fn load_credential(
    name: &str,
    value: Option<&Credential>,
    file: Option<&Path>,
) -> Result<Option<Secret>, String> {
    let path = match (value, file) {
        (Some(_), Some(_)) => return Err(format!("both `{name}` and `{name}_file` are set")),
        (value, None) => return Ok(value.map(|Credential(secret)| secret.clone())),
        (None, Some(path)) => path,
    };
    let problem = |problem| format!("`{name}_file` {}: {problem}", path.display());
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| problem(format!("it cannot be read: {error}")))?;
    if let Some(warning) = warning_if_open_to_all(path) {
        tracing::warn!("{warning}");
    }
    parse_credential(text.trim()).map(Some).map_err(problem)
}

/// A token that is a stored secret.
#[derive(Debug)]
pub(crate) struct StoredToken {
    name: String,
    secrets: Arc<SecretStore>,
}

impl StoredToken {
    /// Finds the secret that the setting with the suffix `_secret` names, if it does.
    pub(crate) fn find(
        setting: &str,
        name: Option<&str>,
        secrets: Option<&Arc<SecretStore>>,
    ) -> Result<Option<Self>, String> {
        let Some(name) = name else {
            return Ok(None);
        };
        let secrets = secrets.ok_or_else(|| {
            format!("`{setting}_secret` needs stored secrets: set `secrets_file` of the agent")
        })?;
        Ok(Some(Self {
            name: name.to_owned(),
            secrets: Arc::clone(secrets),
        }))
    }

    /// Returns the token of a user, or the one that all share.
    pub(crate) fn for_user(&self, user: &str) -> Option<SecretText> {
        self.log_error(self.secrets.get_or_shared(&self.name, user))
    }

    /// Returns the token that all share.
    pub(crate) fn shared(&self) -> Option<SecretText> {
        self.log_error(self.secrets.get(&self.name, None))
    }

    fn log_error(&self, secret: Result<Option<SecretText>, SecretsError>) -> Option<SecretText> {
        let secret = secret.inspect_err(|error| {
            tracing::error!(secret = self.name, %error, "a stored secret cannot be used");
        });
        secret.ok().flatten()
    }
}

//! The password of the role with which the agent connects.

use std::path::Path;
use std::sync::Arc;

use agent_secrets::SecretStore;
use bridge_settings::{Secret, warning_if_open_to_all};

use super::error::DatabaseError;
use super::settings::DatabaseSettings;
use crate::http_api::credential::StoredToken;

/// A password, or none. No error and no `Debug` shows it.
#[derive(Debug)]
pub(super) enum Password {
    None,
    Configured(Secret),
    /// A stored secret, which may be replaced while the agent runs.
    Stored(StoredToken),
}

impl Password {
    /// Loads the password of the settings.
    pub(super) fn load(
        settings: &DatabaseSettings,
        secrets: Option<&Arc<SecretStore>>,
    ) -> Result<Self, String> {
        let name = settings.password_secret.as_deref();
        let stored = StoredToken::find("password", name, secrets)?;
        match (&settings.password, &settings.password_file, stored) {
            (None, None, None) => Ok(Self::None),
            (Some(password), None, None) => Ok(Self::Configured(password.clone())),
            (None, Some(path), None) => read_file(path).map(Self::Configured),
            (None, None, Some(stored)) if stored.shared().is_none() => {
                Err("the secret of `password_secret` is not stored".to_owned())
            }
            (None, None, Some(stored)) => Ok(Self::Stored(stored)),
            _ => Err(
                "more than one of `password`, `password_file` and `password_secret` is set: remove \
                 all but one"
                    .to_owned(),
            ),
        }
    }

    /// Shows the password to code that sends it, if there is one.
    pub(super) fn expose(&self, send: impl FnOnce(&str)) -> Result<(), DatabaseError> {
        match self {
            Self::None => {}
            Self::Configured(password) => send(password.expose()),
            Self::Stored(stored) => {
                let password = stored.shared().ok_or_else(|| {
                    tracing::error!("the secret of `password_secret` is not stored any more");
                    DatabaseError::Unavailable
                })?;
                send(password.expose());
            }
        }
        Ok(())
    }
}

fn read_file(path: &Path) -> Result<Secret, String> {
    let problem = |problem: &str| format!("`password_file` {} {problem}", path.display());
    let text = std::fs::read_to_string(path)
        .map_err(|error| problem(&format!("cannot be read: {error}")))?;
    if let Some(warning) = warning_if_open_to_all(path) {
        tracing::warn!("{warning}");
    }
    match text.trim_end_matches(['\r', '\n']) {
        "" => Err(problem("is empty")),
        password => Ok(Secret::from_trusted(password.to_owned())),
    }
}

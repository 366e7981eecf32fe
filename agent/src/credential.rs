//! The service credentials, one of which a bridge must present: no other client can have queries
//! answered for its pages.

use std::path::{Path, PathBuf};

use bridge_edge::credential_file::{CredentialFileError, load_credentials};
use bridge_edge::shared_credential::{self, SharedCredentialError, parse_long_credential};
use bridge_protocol::limits::MIN_TOKEN_CHARS;
use bridge_settings::{Secret, warning_if_open_to_all};

/// Why the credentials of a bridge cannot be used. The messages never contain a credential.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// The file of `token_file`, or of `credential_file` of a bridge, cannot be used.
    #[error("`{0}` {1}")]
    File(&'static str, CredentialFileError),
    /// The value of `token`, or of `credential` of a bridge, is too short or not visible ASCII.
    #[error(
        "the credential in `{0}` is too short or has spaces in it: it must have at least \
         {MIN_TOKEN_CHARS} visible ASCII characters"
    )]
    Malformed(&'static str),
    /// The operator has not set a credential, and the file that bridge and agent share cannot be
    /// used.
    #[error(
        "{0}; or set `token` (MCP_WEB_AGENT_TOKEN) of the agent and `agent_token` of the bridge"
    )]
    Shared(#[from] SharedCredentialError),
    /// Two bridges have the same credential.
    #[error(
        "the bridges `{0}` and `{1}` have the same credential, so that the agent cannot distinguish \
         them: give each another one"
    )]
    Ambiguous(String, String),
    /// A credential is also `metrics_token`.
    #[error(
        "`metrics_token` is also the credential of the bridge `{0}`: choose another one for metrics"
    )]
    MetricsToken(String),
}

/// The place of the credentials of one bridge.
#[derive(Clone, Debug)]
pub(crate) enum CredentialSource {
    /// The value of a setting, with the name of the setting.
    Setting(&'static str, Secret),
    /// A file, with the name of its setting.
    File(&'static str, PathBuf),
    /// The file that bridge and agent of one user share.
    Shared,
}

impl CredentialSource {
    /// Loads the credentials, at least one.
    pub(crate) fn load(&self) -> Result<Vec<Secret>, CredentialError> {
        match self {
            Self::Setting(name, secret) => {
                let secret = parse_long_credential(secret.expose());
                let secret = secret.ok_or(CredentialError::Malformed(name))?;
                Ok(vec![secret])
            }
            Self::File(name, path) => {
                load_credentials(path).map_err(|error| CredentialError::File(name, error))
            }
            Self::Shared => Ok(vec![shared_credential::load_or_create()?]),
        }
    }

    /// Returns the file, if an operator has named one. It can be changed while the agent runs.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Self::File(_, path) => Some(path),
            Self::Setting(..) | Self::Shared => None,
        }
    }

    /// Logs a warning if any user of the machine can read or write the file.
    pub(crate) fn warn_if_open_to_all(&self) {
        if let Some(warning) = self.file().and_then(warning_if_open_to_all) {
            tracing::warn!("{warning}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_malformed_credential_is_refused_and_not_shown() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let short = Secret::from_trusted("hush-hush".to_owned());
        let error = CredentialSource::Setting("token", short).load();
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains("16") && !error.contains("hush") && error.contains("`token`"),
            "{error}"
        );
        let file = CredentialSource::File("token_file", path.clone());
        let missing = file.load().unwrap_err();
        assert!(missing.to_string().contains("`token_file`"), "{missing}");
        std::fs::write(&path, "hush hush hush hush hush").unwrap();
        let error = file.load().unwrap_err().to_string();
        assert!(
            error.contains("spaces") && !error.contains("hush"),
            "{error}"
        );
        std::fs::write(&path, "a-secret-of-many-letters\n").unwrap();
        let tokens = file.load().unwrap();
        assert_eq!(tokens[0].expose(), "a-secret-of-many-letters");
    }
}

//! The service credential, which a bridge must present: no other client can have queries answered.

use std::io;
use std::path::{Path, PathBuf};

use bridge_edge::shared_credential::{self, SharedCredentialError, parse_long_credential};
use bridge_protocol::limits::MIN_TOKEN_CHARS;
use bridge_settings::{Secret, warning_if_open_to_all};

/// Why the credential cannot be loaded. The messages never contain a credential.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// `token_file` cannot be read.
    #[error("`token_file` {path} cannot be read: {error}", path = .0.display(), error = .1)]
    Unreadable(PathBuf, io::Error),
    /// The value of `token`, or the content of `token_file`, is too short or not visible ASCII. The
    /// field names the source.
    #[error(
        "the credential in {0} is too short or has spaces in it: it must have at least \
         {MIN_TOKEN_CHARS} visible ASCII characters"
    )]
    Malformed(String),
    /// The operator has not set a credential, and the file that bridge and agent share cannot be
    /// used.
    #[error(
        "{0}; or set `token` (MCP_WEB_AGENT_TOKEN) of the agent and `agent_token` of the bridge"
    )]
    Shared(#[from] SharedCredentialError),
}

/// Loads the credential from the configuration, or from the file that bridge and agent of one user
/// share.
pub(crate) fn load(
    token: Option<&Secret>,
    token_file: Option<&Path>,
) -> Result<Secret, CredentialError> {
    match (token, token_file) {
        (Some(token), _) => parse_long_credential(token.expose())
            .ok_or_else(|| CredentialError::Malformed("`token`".to_owned())),
        (None, Some(path)) => {
            let text = std::fs::read_to_string(path)
                .map_err(|error| CredentialError::Unreadable(path.to_owned(), error))?;
            if let Some(warning) = warning_if_open_to_all(path) {
                tracing::warn!("{warning}");
            }
            parse_long_credential(text.trim())
                .ok_or_else(|| CredentialError::Malformed(path.display().to_string()))
        }
        (None, None) => Ok(shared_credential::load_or_create()?),
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
        let error = load(Some(&short), None).unwrap_err().to_string();
        assert!(
            error.contains("16") && !error.contains("hush") && error.contains("`token`"),
            "{error}"
        );
        std::fs::write(&path, "hush hush hush hush hush").unwrap();
        let error = load(None, Some(&path)).unwrap_err().to_string();
        assert!(
            error.contains("spaces") && !error.contains("hush"),
            "{error}"
        );
        std::fs::write(&path, "a-secret-of-many-letters\n").unwrap();
        let token = load(None, Some(&path)).unwrap();
        assert_eq!(token.expose(), "a-secret-of-many-letters");
        let missing = load(None, Some(&folder.path().join("none"))).unwrap_err();
        assert!(missing.to_string().contains("`token_file`"), "{missing}");
    }
}

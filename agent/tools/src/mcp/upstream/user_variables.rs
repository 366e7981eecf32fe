//! The values of variables for the connection of a user.

use std::path::Path;
use std::sync::Arc;

use agent_secrets::SecretStore;

use crate::servers_file::Variables;

/// Placeholder of a secret while only the other variables are checked.
const PLACEHOLDER: &str = "a-secret";

/// The values of variables, with the secrets of a user.
#[derive(Debug)]
pub(super) struct UserVariables<'a> {
    pub(super) variables: &'a dyn Variables,
    pub(super) secrets: Option<&'a Arc<SecretStore>>,
    pub(super) user: SecretUser<'a>,
}

/// The user whose secrets are used.
#[derive(Clone, Copy, Debug)]
pub(super) enum SecretUser<'a> {
    /// Those that all share.
    Shared,
    /// Those of a user, and the shared ones where the user has none.
    User(&'a str),
    /// None: only the other variables are checked.
    Unchecked,
}

impl Variables for UserVariables<'_> {
    fn variable(&self, name: &str) -> Option<String> {
        self.variables.variable(name)
    }

    fn file(&self, path: &Path) -> Result<String, String> {
        self.variables.file(path)
    }

    fn secret(&self, name: &str) -> Result<Option<String>, String> {
        let Some(secrets) = self.secrets else {
            return Err("the agent has no `secrets_file`".to_owned());
        };
        let secret = match self.user {
            SecretUser::Shared => secrets.get(name, None),
            SecretUser::User(user) => secrets.get_or_shared(name, user),
            SecretUser::Unchecked => return Ok(Some(PLACEHOLDER.to_owned())),
        };
        let secret = secret.map_err(|error| error.to_string())?;
        Ok(secret.map(|secret| secret.expose().to_owned()))
    }
}

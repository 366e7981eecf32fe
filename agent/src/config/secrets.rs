//! Where secrets are stored.

use std::path::PathBuf;
use std::sync::Arc;

use agent_secrets::{MASTER_KEY_VARIABLE, MasterKey, SecretStore};
use clap::Args;

/// Where the secrets for tools of the agent are stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Secrets")]
pub struct SecretSettings {
    /// File with the encrypted secrets for tools of the agent, which `mcp-web agent secrets` writes.
    #[arg(
        long,
        env = "MCP_WEB_AGENT_SECRETS_FILE",
        value_name = "PATH",
        global = true
    )]
    pub secrets_file: Option<PathBuf>,

    /// File with the key that decrypts them, if it is not in the variable MCP_WEB_AGENT_MASTER_KEY.
    #[arg(
        long,
        env = "MCP_WEB_AGENT_MASTER_KEY_FILE",
        value_name = "PATH",
        global = true
    )]
    pub master_key_file: Option<PathBuf>,
}

impl SecretSettings {
    /// Opens the secrets, if there is a file for them.
    pub(crate) fn open_if_set(&self) -> Result<Option<Arc<SecretStore>>, String> {
        let Some(path) = &self.secrets_file else {
            return Ok(None);
        };
        let variable = std::env::var(MASTER_KEY_VARIABLE).ok();
        let key = MasterKey::load(variable.as_deref(), self.master_key_file.as_deref());
        let key = key.map_err(|error| error.to_string())?;
        let store = SecretStore::open(path, key).map_err(|error| error.to_string())?;
        Ok(Some(Arc::new(store)))
    }
}

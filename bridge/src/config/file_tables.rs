//! The tables of the configuration file of a bridge: of AI clients, and of issuers of tokens.

use bridge_settings::LoadedSettings;

use super::client_tables::{ClientTables, profiles_toml};
use super::issuer_tables::IssuerTables;

/// All tables of a file.
pub(crate) type BridgeFileTables = (ClientTables, IssuerTables);

/// Formats the settings and the tables as TOML. Secrets are replaced by a comment.
pub(crate) fn to_toml(loaded: &LoadedSettings<BridgeFileTables>) -> String {
    let tables = loaded.tables();
    let profiles = tables.map(|(clients, _)| clients.profiles());
    let issuers = tables.map(|(_, issuers)| issuers.to_toml());
    format!(
        "{}{}{}",
        loaded.to_toml(),
        issuers.unwrap_or_default(),
        profiles_toml(&profiles.unwrap_or_default())
    )
}

//! Printing of the effective configuration, as a file with the same settings.

use std::fmt::Write;

use bridge_settings::LoadedSettings;
use toml::Value;

use super::clients::ClientTables;
use super::profiles::{ClientProfile, Profiles};

/// Formats the settings and the client profiles as TOML. Secrets are replaced by a comment.
pub(crate) fn to_toml(loaded: &LoadedSettings<ClientTables>) -> String {
    let profiles = profiles(loaded);
    format!("{}{}", loaded.to_toml(), profiles_toml(&profiles))
}

/// Returns the limits of each AI client.
pub(crate) fn profiles(loaded: &LoadedSettings<ClientTables>) -> Profiles {
    let clients = loaded.tables().map(|tables| tables.0.clone());
    Profiles::new(clients.unwrap_or_default())
}

/// The client profiles of the operator, and as comments the built-in ones that follow them.
fn profiles_toml(profiles: &Profiles) -> String {
    let mut text = String::from("\n# Clients: the first that fits counts\n");
    for client in profiles.configured() {
        let _ = write!(text, "\n{}", profile_table(client));
    }
    for client in Profiles::built_in() {
        let commented: String = profile_table(&client)
            .lines()
            .map(|line| format!("# {line}\n"))
            .collect();
        let _ = write!(text, "\n# built in:\n{commented}");
    }
    text
}

fn profile_table(client: &ClientProfile) -> String {
    let ClientProfile { name, profile } = client;
    let mut text = format!("[[clients]]\nname = {}\n", Value::String(name.clone()));
    if let Some(bytes) = profile.max_result_bytes {
        let _ = writeln!(text, "max_result_bytes = {bytes}");
    }
    if let Some(chars) = profile.max_text_chars {
        let _ = writeln!(text, "max_text_chars = {chars}");
    }
    if let Some(pixels) = profile.max_image_edge {
        let _ = writeln!(text, "max_image_edge = {pixels}");
    }
    if let Some(patience) = profile.patience {
        let _ = writeln!(
            text,
            "patience = \"{}\"",
            humantime::format_duration(patience)
        );
    }
    text
}

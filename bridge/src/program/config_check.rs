//! `--check-config`: checks the configuration and does not start a bridge.

use std::path::Path;
use std::process::ExitCode;

use bridge_edge::connections::TlsAcceptor;
use bridge_output::{print, print_error};
use bridge_settings::warning_if_open_to_others;

use super::startup_summary;
use crate::config::{Config, HostResources};
use crate::server::{CheckedConfig, config_warnings, run_cluster_check};

/// The bridge cannot start with its settings, as the printed errors say.
pub(super) struct InvalidSettings;

/// Checks the configuration as a start would, and with `cluster` also NATS and the other bridges. Prints a
/// summary with warnings.
///
/// # Errors
///
/// When the configuration cannot be used. The errors were printed.
pub(super) async fn run(
    config: &Config,
    secrets_file: Option<&Path>,
) -> Result<ExitCode, InvalidSettings> {
    let checked = match CheckedConfig::new(config) {
        Ok(checked) => checked,
        Err(error) => {
            print_error(error);
            return Err(InvalidSettings);
        }
    };
    let host = HostResources::detect();
    let mut summary = startup_summary::describe(config, &host);
    let mut warnings = config_warnings(config, &host);
    warnings.extend(secrets_file.and_then(warning_if_open_to_others));
    let tls = checked.tls.as_ref();
    warnings.extend(tls.and_then(TlsAcceptor::expiry_warning));
    if let Some(check) = run_cluster_check(config, checked.cluster_tls).await {
        for error in &check.errors {
            print_error(error);
        }
        if !check.errors.is_empty() {
            return Err(InvalidSettings);
        }
        summary += &check.summary;
        warnings.extend(check.warnings);
    }
    let verdict = match warnings.len() {
        0 => "configuration is good".to_owned(),
        1 => "configuration can be used, with 1 warning".to_owned(),
        count => format!("configuration can be used, with {count} warnings"),
    };
    let warnings: String = warnings
        .iter()
        .map(|it| format!("warning: {it}\n"))
        .collect();
    Ok(ExitCode::from(print(&format!(
        "{verdict}\n{summary}{warnings}"
    ))))
}

//! Parsers of the bridge for the fuzz targets in `e2e/fuzz`.

use std::ffi::OsString;

use bridge_settings::{LoadError, LoadedSettings};
use clap::Command;

use crate::config::{BridgeFileTables, to_toml};

/// Loads the settings of a program around a bridge, and prints them as `--print-config` does.
///
/// # Errors
///
/// The message that the program would print before it exits.
pub fn print_config(command: Command, arguments: &[OsString]) -> Result<String, String> {
    match LoadedSettings::<BridgeFileTables>::load(command, arguments.iter().cloned()) {
        Ok(loaded) => Ok(to_toml(&loaded)),
        Err(LoadError::Arguments(error)) => Err(error.to_string()),
        Err(LoadError::File(error)) => Err(error.to_string()),
    }
}

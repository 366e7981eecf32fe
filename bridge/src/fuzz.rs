//! Parsers of the bridge for the fuzz targets in `e2e/fuzz`.

use std::ffi::OsString;

use bridge_settings::{LoadError, LoadedSettings};
use clap::Command;

use crate::agent_queries::SseDecoder;
use crate::config::{ClientTables, to_toml};

/// Decodes the events of an agent, each as its type and its data. The error is the reason why the
/// stream is not read any further.
pub fn decode_agent_events(chunks: &[&[u8]]) -> (Vec<(String, String)>, Result<(), String>) {
    let mut decoder = SseDecoder::default();
    let mut events = Vec::new();
    for chunk in chunks {
        let decoded = decoder.decode(chunk, |event| events.push((event.name, event.data)));
        if let Err(error) = decoded {
            return (events, Err(error.message()));
        }
    }
    (events, Ok(()))
}

/// Loads the settings of a program around a bridge, and prints them as `--print-config` does.
///
/// # Errors
///
/// The message that the program would print before it exits.
pub fn print_config(command: Command, arguments: &[OsString]) -> Result<String, String> {
    match LoadedSettings::<ClientTables>::load(command, arguments.iter().cloned()) {
        Ok(loaded) => Ok(to_toml(&loaded)),
        Err(LoadError::Arguments(error)) => Err(error.to_string()),
        Err(LoadError::File(error)) => Err(error.to_string()),
    }
}

//! The program `mcp-web` from outside: each command starts as its library does, and says its own name.
#![allow(clippy::unwrap_used)]

mod call;
mod completions;
#[cfg(target_os = "linux")]
mod doctor;
mod hidden_commands;
mod install;
mod kit;
mod names;
mod programs;
#[cfg(target_os = "linux")]
mod started_bridge;
mod stdio;
mod stdio_client;
#[cfg(target_os = "linux")]
mod taken_address;
mod tools;

//! Journeys of native windows: the program `native-window`, with real windows on a display without a
//! screen, a bridge, and MCP clients. `cargo xtask test --native-window` builds the program and runs
//! them.
#![allow(clippy::unwrap_used)]

mod actions;
mod blocked;
mod guide;
mod handles;
mod own_endpoint;
mod picture;
mod program;
mod refusals;
mod sessions;

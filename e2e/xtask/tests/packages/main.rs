//! The packages of a release, installed with the tools that people install them with. `cargo xtask test
//! --packages` makes the release and runs these tests.
#![allow(clippy::unwrap_used)]

mod archives;
mod bundles;
mod cross;
mod deb;
mod image;
mod kit;
mod npm;
mod page;
mod registry;
mod sdk;
mod server_json;
mod wheel;

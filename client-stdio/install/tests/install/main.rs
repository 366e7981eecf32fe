//! Tests of both commands in a home folder that exists for a test only.
#![allow(clippy::unwrap_used)]

mod clients;
mod concurrent;
mod files;
mod golden;
mod print;
mod properties;
mod selection;
mod status;
mod test_home;
mod texts;
mod token;
mod uninstall;

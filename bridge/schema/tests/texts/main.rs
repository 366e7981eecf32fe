//! The validation of texts, compared with the `jsonschema` crate.

#![allow(clippy::unwrap_used)]

mod differential;
mod random;
mod schemas;
mod suite;
mod text_writer;
mod values;

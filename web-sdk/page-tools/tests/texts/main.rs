//! Properties of page texts for any page: they can be parsed back, and are within the limits.
#![allow(clippy::unwrap_used)]

mod injections;
mod markdown_parser;
mod outline_parser;
mod properties;
mod trees;

//! The texts of pages, whatever the page contains: they can be parsed back, and are never too long.
#![allow(clippy::unwrap_used)]

mod injections;
mod markdown_parser;
mod outline_parser;
mod properties;
mod trees;

//! A module for each section of docs/benchmarks.md. Each returns the Markdown of its section.

pub(crate) mod attacks;
pub(crate) mod calls;
pub(crate) mod cluster;
pub(crate) mod idle;
pub(crate) mod large;
pub(crate) mod page_tools;
pub(crate) mod queries;
pub(crate) mod restart;
pub(crate) mod sessions;

//! The dialect of the TypeScript project mcp-web 0.1: what its pages and its clients say and hear.
//!
//! [`page`] is the socket of pages: its messages become our own, ours become its own. Its pages
//! are served whatever the configuration says; [`Compat`](crate::Compat) adds what its clients saw.
//! Nothing outside this module and its edges knows a word of it.

pub(crate) mod page;

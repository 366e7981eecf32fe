//! Fuzz targets for everything that strangers send: JSON, frames of pages, requests over HTTP,
//! definitions, event streams and settings.
//!
//! Each target is a test that replays its corpus, the files in `__fuzz__/TARGET/corpus` and
//! `__fuzz__/TARGET/crashes`. `cargo xtask fuzz TARGET` runs it with libFuzzer, which searches for
//! inputs that reach more code, and adds the smallest set of them to the corpus. An input that
//! breaks a target is written to `crashes`, and stays there after the fix.
//!
//! The input of `json_text`, `event_streams` and `settings` is text. The other targets read their
//! input as a list of decisions ([`choices`]), by which they build messages from the examples of
//! the protocol and change some of their values ([`mutation`]).
//!
//! Each target compares the project with something else: another implementation, the same input in
//! another form, or a rule that always holds.
//!
//! | target | what is checked |
//! |---|---|
//! | `json_text` | the scanner of raw JSON and the decoder of messages agree with serde_json |
//! | `page_frames` | `Realm::check_invariants` after each step; each call ends once; nothing remains of pages that are gone |
//! | `page_socket` | the bridge answers or closes, and then answers others |
//! | `http_requests` | no 500, no panic, and errors that a program can read |
//! | `definitions` | what is published can be registered again unchanged; an upgraded schema accepts the same values |
//! | `event_streams` | both decoders agree with the text of the standard, whatever the chunks |
//! | `settings` | printed settings can be loaded again; errors name the setting and contain no secret |
#![allow(clippy::print_stderr)]
#![allow(clippy::unwrap_used)]

mod choices;
mod corpus;
mod definitions;
mod event_streams;
mod http_requests;
mod json_text;
mod mutation;
mod page_frames;
mod page_socket;
mod server;
mod settings;
mod templates;

//! Integration tests of the SDK: its wasm in a browser, and its JavaScript with and without a
//! browser.
#![allow(clippy::unwrap_used)]

#[cfg(target_arch = "wasm32")]
mod browser;
#[cfg(not(target_arch = "wasm32"))]
mod module;

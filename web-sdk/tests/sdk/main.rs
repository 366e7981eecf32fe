//! The SDK from outside: its wasm in a browser, and its JavaScript where there is none.
#![allow(clippy::unwrap_used)]

#[cfg(target_arch = "wasm32")]
mod browser;
#[cfg(not(target_arch = "wasm32"))]
mod module;

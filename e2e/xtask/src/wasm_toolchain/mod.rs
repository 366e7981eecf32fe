//! A Rust compiler for `wasm32-unknown-unknown`.
//!
//! Three sources are tried in this order: the active toolchain, which may have the target already;
//! rustup, which downloads it; and, on Debian, where rustup may not be allowed to download
//! anything, a private toolchain that is built from Debian's packages (the module
//! `debian_bootstrap`).

mod debian_bootstrap;
mod rustc;

use std::env;
use std::process::Command;

use anyhow::{Result, bail};

use crate::apt;
use crate::process::try_capture;
use crate::step::{Outcome, step};

pub use rustc::{TARGET, WasmRustc};

/// Finds a compiler that is on this machine already. Changes nothing.
pub fn find() -> Option<WasmRustc> {
    let active = WasmRustc::active();
    if active.has_target() {
        return Some(active);
    }
    debian_bootstrap::find().filter(WasmRustc::is_new_enough)
}

/// Finds a compiler, or installs one.
///
/// # Errors
///
/// Returns an error if neither rustup nor Debian's packages provide one; its message describes what
/// to run.
pub fn ensure() -> Result<WasmRustc> {
    step("a Rust compiler for wasm32", || match find() {
        Some(rustc) => Ok(Outcome::UpToDate(rustc)),
        None => install().map(Outcome::Done),
    })
}

fn install() -> Result<WasmRustc> {
    if may_use_rustup() {
        println!("    rustup target add {TARGET}");
        try_capture(Command::new("rustup").args(["target", "add", TARGET]));
        if let Some(rustc) = find() {
            return Ok(rustc);
        }
    }
    if !apt::is_available() {
        bail!(
            "this Rust cannot compile for the browser: run `rustup target add {TARGET}` and try again"
        );
    }
    debian_bootstrap::build()
}

/// Returns false if `RUSTUP_AUTO_INSTALL` is 0, which means that the user does not allow toolchain
/// downloads.
fn may_use_rustup() -> bool {
    env::var_os("RUSTUP_AUTO_INSTALL").is_none_or(|value| value != "0")
}

//! A Rust compiler for a target that may be another one than this machine: the browser, or another system.
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

pub(crate) use rustc::parse_field;
pub use rustc::{TargetRustc, WASM_TARGET};

/// Finds a compiler that is on this machine already. Changes nothing.
pub fn find(target: &str) -> Option<TargetRustc> {
    let active = TargetRustc::active(target);
    if active.has_target() {
        return Some(active);
    }
    debian_bootstrap::find(target).filter(TargetRustc::is_new_enough)
}

/// Finds a compiler, or installs one.
///
/// # Errors
///
/// Returns an error if neither rustup nor Debian's packages provide one; its message describes what
/// to run.
pub fn ensure(target: &str) -> Result<TargetRustc> {
    step(&format!("a Rust compiler for {target}"), || {
        match find(target) {
            Some(rustc) => Ok(Outcome::UpToDate(rustc)),
            None => install(target).map(Outcome::Done),
        }
    })
}

fn install(target: &str) -> Result<TargetRustc> {
    if may_use_rustup() {
        println!("    rustup target add {target}");
        try_capture(Command::new("rustup").args(["target", "add", target]));
        if let Some(rustc) = find(target) {
            return Ok(rustc);
        }
    }
    if !apt::is_available() {
        bail!(
            "this Rust cannot compile for {target}: run `rustup target add {target}` and try again"
        );
    }
    debian_bootstrap::build(target)
}

/// Returns false if `RUSTUP_AUTO_INSTALL` is 0, which means that the user does not allow toolchain
/// downloads.
fn may_use_rustup() -> bool {
    env::var_os("RUSTUP_AUTO_INSTALL").is_none_or(|value| value != "0")
}

//! The project's commands: `cargo xtask demo`, `test`, `clients`, `bench`, `sdk` and `lint`.
//!
//! Each command is a list of steps. A step says what it does and how long it took, does nothing when
//! nothing changed since its last run, and fails with one sentence that says what to do.
//! Everything they make lies in `target/` (`target/sdk` for the built SDK, `target/tools` for what tests
//! need), except for the private wasm toolchain, which lies in the user's cache directory because it is
//! worth keeping between checkouts.
//!
//! Reading order: [`sdk`] (with [`wasm_rustc`], which finds or makes a compiler for it), [`demo`],
//! [`lint`], [`test`](mod@test) (with `node`, `python` and
//! `chromium`, which install what it needs), [`clients`], [`bench`]; `step`, `process`,
//! `fingerprint` and `lock` are what all of them stand on.

pub mod bench;
pub mod clients;
pub mod demo;
pub mod lint;
pub mod sdk;
pub mod test;
pub mod wasm_toolchain;

mod apt;
mod chromium;
mod document;
mod fingerprint;
mod lock;
mod node;
mod process;
mod python;
mod step;
mod workspace;

pub use workspace::Workspace;

//! Checks that the SDK reads documents and elements by their prototypes: elements with a name hide
//! properties of the document, and the fields of a form hide properties of the form.
//!
//! `clobbering/reads.mjs` finds the others with the types of the TypeScript compiler. It misses
//! values of the type `any`, and types of the SDK that only describe what an element has.

use std::process::Command;

use anyhow::{Result, bail};

use crate::process::capture;
use crate::step::{Outcome, step};
use crate::{Workspace, node};

/// The module that may read properties otherwise, in `web-sdk/js`.
const NATIVE: &str = "dom/native.ts";

/// Fails if a source of the SDK reads a property of a document, or of an element that may be a
/// form, otherwise than by `dom/native.ts`.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let packages = node::install_pinned(workspace, "web-sdk", "web-sdk-node")?;
    step("reads of documents and elements", || {
        let mut command = Command::new("node");
        command
            .arg(workspace.path("e2e/xtask/src/lint/clobbering/reads.mjs"))
            .arg(&packages)
            .arg(workspace.path("web-sdk/tsconfig.json"))
            .arg(NATIVE);
        let reads = capture(&mut command, "run `cargo xtask sdk` for what is wrong")?;
        if !reads.is_empty() {
            bail!("an element of the page could be read in the place of these:\n{reads}");
        }
        Ok(Outcome::Done(()))
    })
}

//! The entry `mcp-web-sdk/inline`: the whole SDK in one module, for build tools that move no files.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::entries::INLINE_ENTRY;
use super::files;
use super::minify::{self, Script};
use crate::folder;

/// The module that says where the wasm is, and what replaces it here.
const WASM_SOURCE: &str = "mcp-web/wasm-source.ts";
const INLINE_WASM_SOURCE: &str = "mcp-web/wasm-source-inline.ts";

/// Returns the module. `built` are the built files that it contains, by their names; the sources are copied to `work` and
/// bundled there.
pub(super) fn bundle(
    packages: &Path,
    sources: &Path,
    built: &[(&str, &[u8])],
    work: &Path,
) -> Result<Script> {
    folder::remove(work)?;
    for path in files::list(sources)? {
        let copy = work.join(files::relative_name(sources, &path));
        folder::create(copy.parent().unwrap_or(work))?;
        fs::copy(&path, &copy).with_context(|| format!("make {} writable", copy.display()))?;
    }
    fs::copy(sources.join(INLINE_WASM_SOURCE), work.join(WASM_SOURCE))
        .with_context(|| format!("restore {INLINE_WASM_SOURCE} in web-sdk/js"))?;
    for (name, content) in built {
        fs::write(work.join(name), content)?;
    }
    let name = format!("{INLINE_ENTRY}.js");
    minify::bundle_whole(
        packages,
        &work.join("mcp-web.ts"),
        &name,
        &work.join("built"),
    )
}

//! Entries that are the main module with other sources in the place of some: for build tools that
//! move no files, and for processes without a browser.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::files;
use super::minify::{self, Script};
use crate::folder;

/// An entry of the package that contains the main module.
pub(super) struct Variant {
    /// The name of the built module, without its extension.
    pub(super) name: &'static str,
    /// The source that is bundled.
    pub(super) entry: &'static str,
    /// The sources of the main module that are replaced, and those that replace them.
    pub(super) replaced: &'static [(&'static str, &'static str)],
    /// Whether it contains the modules and the wasm that other entries load when they need them.
    pub(super) is_whole: bool,
}

/// The whole SDK in one module.
pub(super) const INLINE: Variant = Variant {
    name: "mcp-web-inline",
    entry: "mcp-web.ts",
    replaced: &[("mcp-web/wasm-source.ts", "mcp-web/wasm-source-inline.ts")],
    is_whole: true,
};

/// The SDK for processes without a browser.
pub(super) const NODE: Variant = Variant {
    name: "mcp-web-node",
    entry: "mcp-web-node.ts",
    replaced: &[
        (
            "mcp-web/browser-restrictions.ts",
            "node/browser-restrictions.ts",
        ),
        ("mcp-web/environment.ts", "node/environment.ts"),
        ("mcp-web/page-registry.ts", "node/page-registry.ts"),
        ("mcp-web/wasm-source.ts", "node/wasm-source.ts"),
    ],
    is_whole: false,
};

impl Variant {
    /// Returns the module. `built` are the built files that it may contain, by their names; the
    /// sources are copied to `work` and bundled there.
    pub(super) fn bundle(
        &self,
        packages: &Path,
        sources: &Path,
        built: &[(&str, &[u8])],
        work: &Path,
    ) -> Result<Script> {
        let work = work.join(self.name);
        folder::remove(&work)?;
        for path in files::list(sources)? {
            let copy = work.join(files::relative_name(sources, &path));
            folder::create(copy.parent().unwrap_or(&work))?;
            fs::copy(&path, &copy).with_context(|| format!("make {} writable", copy.display()))?;
        }
        for (source, replacement) in self.replaced {
            fs::copy(sources.join(replacement), work.join(source))
                .with_context(|| format!("restore {replacement} in web-sdk/js"))?;
        }
        for (name, content) in built {
            fs::write(work.join(name), content)?;
        }
        let entry = work.join(self.entry);
        let name = format!("{}.js", self.name);
        let output = work.join("built");
        if self.is_whole {
            minify::bundle_whole(packages, &entry, &name, &output)
        } else {
            minify::bundle_with_main(packages, &entry, &name, &output)
        }
    }
}

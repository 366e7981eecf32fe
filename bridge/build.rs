//! Embeds the page SDK, if it has been built: `cargo xtask sdk` puts it into `target/sdk`.

use std::collections::hash_map::DefaultHasher;
use std::fmt::Write as _;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::{env, fs, io};

const FILES: [&str; 15] = [
    "mcp-web.js",
    "mcp-web-advice.js",
    "mcp-web-diagnose.js",
    "mcp-web-dialog.js",
    "mcp-web-images.js",
    "mcp-web-query.js",
    "mcp_web_core.js",
    "mcp_web_core_bg.wasm",
    "mcp-web.d.ts",
    "mcp-web.calls.d.ts",
    "mcp-web.content.d.ts",
    "mcp-web.definitions.d.ts",
    "mcp-web.handles.d.ts",
    "mcp-web.query.d.ts",
    "mcp-web.status.d.ts",
];

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-env-changed=MCP_WEB_SDK_DIR");
    let manifest = PathBuf::from(env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?);
    let folder = env::var_os("MCP_WEB_SDK_DIR")
        .map_or_else(|| manifest.join("../target/sdk"), PathBuf::from);
    // The folder must exist for Cargo to notice when files appear in it.
    fs::create_dir_all(&folder)?;
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut code = String::from("static SDK_FILES: &[SdkFile] = &[\n");
    if FILES.iter().all(|name| folder.join(name).is_file()) {
        for name in FILES {
            embed(&mut code, name, &folder.join(name).canonicalize()?)?;
        }
    }
    code.push_str("];\n");
    let out = PathBuf::from(env::var("OUT_DIR").map_err(io::Error::other)?);
    fs::write(out.join("sdk_files.rs"), code)
}

fn embed(code: &mut String, name: &str, path: &Path) -> io::Result<()> {
    println!("cargo::rerun-if-changed={}", path.display());
    let mut hasher = DefaultHasher::new();
    fs::read(path)?.hash(&mut hasher);
    let etag = format!("\"{:016x}\"", hasher.finish());
    writeln!(
        code,
        "SdkFile {{ name: {name:?}, etag: {etag:?}, body: include_bytes!({path:?}) }},"
    )
    .map_err(io::Error::other)
}

//! Embeds the page SDK, compressed, if it has been built: `cargo xtask sdk` puts it into `target/sdk`.

use std::collections::hash_map::DefaultHasher;
use std::fmt::Write as _;
use std::hash::{Hash, Hasher};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The files without which the SDK does not work: nothing is embedded if one of them is missing.
const REQUIRED: [&str; 3] = ["mcp-web.js", "mcp_web_core.js", "mcp_web_core_bg.wasm"];

/// The start of the names of what processes import from the package, and pages never do.
const NODE_MODULE: &str = "mcp-web-node.";

/// The best level of brotli: files are compressed once and served often.
const BROTLI_QUALITY: u32 = 11;
/// A window of 4 MiB, which is larger than every file.
const BROTLI_WINDOW: u32 = 22;

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-env-changed=MCP_WEB_SDK_DIR");
    let manifest = PathBuf::from(env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?);
    let folder = env::var_os("MCP_WEB_SDK_DIR")
        .map_or_else(|| manifest.join("../target/sdk"), PathBuf::from);
    // The folder must exist for Cargo to notice when files appear in it.
    fs::create_dir_all(&folder)?;
    println!("cargo::rerun-if-changed={}", folder.display());
    let out = PathBuf::from(env::var("OUT_DIR").map_err(io::Error::other)?);
    let mut names = Vec::new();
    if REQUIRED.iter().all(|name| folder.join(name).is_file()) {
        names = file_names(&folder)?;
    }
    let mut code = format!("static SDK_FILES: [SdkFile; {}] = [\n", names.len());
    for name in &names {
        embed(&mut code, name, &folder.join(name), &out)?;
    }
    code.push_str("];\n");
    fs::write(out.join("sdk_files.rs"), code)
}

/// Returns the names of the scripts, of their source maps and of the wasm.
fn file_names(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.starts_with(NODE_MODULE) {
            continue;
        }
        if [".js", ".js.map", ".wasm"]
            .iter()
            .any(|end| name.ends_with(end))
        {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

fn embed(code: &mut String, name: &str, path: &Path, out: &Path) -> io::Result<()> {
    println!("cargo::rerun-if-changed={}", path.display());
    let content = fs::read(path)?;
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    let etag = format!("\"{:016x}\"", hasher.finish());
    let compressed = out.join(format!("{name}.br"));
    fs::write(&compressed, compress(&content)?)?;
    writeln!(
        code,
        "SdkFile {{ name: {name:?}, etag: {etag:?}, bytes: {}, \
         brotli: include_bytes!({compressed:?}), content: OnceLock::new() }},",
        content.len()
    )
    .map_err(io::Error::other)
}

fn compress(content: &[u8]) -> io::Result<Vec<u8>> {
    let mut writer = brotli::CompressorWriter::new(Vec::new(), 4096, BROTLI_QUALITY, BROTLI_WINDOW);
    writer.write_all(content)?;
    Ok(writer.into_inner())
}

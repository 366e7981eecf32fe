//! The JavaScript glue between the wasm and the page.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use wasm_bindgen_cli_support::{Bindgen, EncodeInto};

use super::keep_alive;
use super::mangle_names::NameMangler;
use super::strip_panics;
use crate::folder;

/// A wasm of the SDK, with the JavaScript around it.
pub(super) struct WasmPart {
    /// The name of the glue and of the wasm: `NAME.js` and `NAME_bg.wasm`.
    pub(super) name: &'static str,
    /// Whether nothing frees its objects: they live as long as the document.
    pub(super) is_kept_alive: bool,
}

/// The module name of the wasm's imports: the module that instantiates the wasm passes the glue under
/// this name.
const IMPORTS: &str = "glue";
/// The export that this module calls, and the glue does not. It keeps its name.
const START: &str = "__wbindgen_start";

/// Writes the glue and the wasm that belongs to it into `folder`, and returns the names of the
/// files.
///
/// No types are generated: the TypeScript sources have them. The glue is the one for bundlers,
/// which does not load the wasm itself: `mcp-web.js` and `mcp-web-page.js` do, and report why they
/// cannot.
pub(super) fn generate_glue(wasm: &Path, folder: &Path, part: &WasmPart) -> Result<[String; 2]> {
    let WasmPart {
        name,
        is_kept_alive,
    } = part;
    let mut bindgen = Bindgen::new();
    bindgen
        .input_path(wasm)
        .out_name(name)
        .typescript(false)
        .remove_name_section(true)
        .remove_producers_section(true)
        .encode_into(EncodeInto::Always);
    let mut output = bindgen
        .bundler(true)
        .and_then(|bindgen| bindgen.generate_output())
        .context(
            "wasm-bindgen rejects the compiled SDK: check that its crates are those of Cargo.lock",
        )?;
    for function in output.wasm_mut().funcs.iter_mut() {
        if function
            .name
            .as_deref()
            .is_some_and(strip_panics::is_panic_only)
        {
            let mut body = function.kind.unwrap_local_mut().builder_mut().func_body();
            body.instrs_mut().clear();
            body.unreachable();
        }
    }
    let segments: Vec<_> = output.wasm().data.iter().map(|data| data.id()).collect();
    for segment in segments {
        strip_panics::blank_messages(&mut output.wasm_mut().data.get_mut(segment).value);
    }
    if *is_kept_alive {
        let free = output
            .wasm()
            .exports
            .iter()
            .find(|export| keep_alive::is_free(&export.name));
        let free = free
            .map(|export| export.id())
            .context("wasm-bindgen exports nothing that frees a connection: adapt keep_alive.rs")?;
        output.wasm_mut().exports.delete(free);
    }
    let mut names = NameMangler::default();
    for import in output.wasm_mut().imports.iter_mut() {
        import.module = IMPORTS.into();
        import.name = names.import(&import.name);
    }
    for export in output.wasm_mut().exports.iter_mut() {
        if export.name != START {
            export.name = names.export(&export.name);
        }
    }
    // In the output for bundlers, `js` imports the wasm as a module, and `start` is the glue.
    let glue = output
        .start()
        .context("wasm-bindgen generated no glue: check how its new version returns it")?;
    let [glue_file, wasm_file] = [format!("{name}.js"), format!("{name}_bg.wasm")];
    folder::create(folder)?;
    let mut glue = names.apply(glue);
    if *is_kept_alive {
        glue = keep_alive::strip_glue(&glue)?;
    }
    fs::write(folder.join(&glue_file), glue)?;
    fs::write(folder.join(&wasm_file), output.wasm_mut().emit_wasm())?;
    Ok([glue_file, wasm_file])
}

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use wasm_bindgen_cli_support::{Bindgen, EncodeInto};

use super::{CORE_NAME, strip_panics};
use crate::sdk::mangle_names::NameMangler;

/// Where the wasm finds its imports: `mcp-web.js` instantiates it with the glue under this name.
const IMPORTS: &str = "glue";
/// `mcp-web.js` calls it, the glue does not.
const START: &str = "__wbindgen_start";

/// Writes the JavaScript glue and the wasm that fits it into `folder`.
///
/// The types are written by hand, so none are generated. For bundlers wasm-bindgen writes a glue that does
/// not load the wasm itself: `mcp-web.js` does, and says what is wrong when it cannot.
pub(super) fn glue(wasm: &Path, folder: &Path) -> Result<()> {
    let mut bindgen = Bindgen::new();
    bindgen
        .input_path(wasm)
        .out_name(CORE_NAME)
        .typescript(false)
        .remove_name_section(true)
        .remove_producers_section(true)
        .encode_into(EncodeInto::Always);
    let mut output = bindgen
        .bundler(true)
        .and_then(|bindgen| bindgen.generate_output())
        .context(
            "wasm-bindgen refuses the compiled SDK: see that its crates are those of Cargo.lock",
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
    // For bundlers, `js` is what imports the wasm as a module, and `start` is the glue.
    let glue = output
        .start()
        .context("wasm-bindgen wrote no glue: see what its new version calls it")?;
    fs::create_dir_all(folder)?;
    fs::write(folder.join(format!("{CORE_NAME}.js")), names.apply(glue))?;
    fs::write(
        folder.join(format!("{CORE_NAME}_bg.wasm")),
        output.wasm_mut().emit_wasm(),
    )?;
    Ok(())
}

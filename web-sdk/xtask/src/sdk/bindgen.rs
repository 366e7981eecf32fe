use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use wasm_bindgen_cli_support::Bindgen;

use super::{CORE, names};

/// Writes the JavaScript glue and the wasm that fits it into `folder`.
///
/// The types are written by hand, so none are generated. The glue finds its wasm beside itself when
/// nobody says where it is; bundlers understand that form.
pub(super) fn glue(wasm: &Path, folder: &Path) -> Result<()> {
    let mut bindgen = Bindgen::new();
    bindgen
        .input_path(wasm)
        .out_name(CORE)
        .typescript(false)
        .remove_name_section(true)
        .remove_producers_section(true)
        .omit_default_module_path(false);
    bindgen
        .web(true)
        .and_then(|bindgen| bindgen.generate(folder))
        .context(
            "wasm-bindgen refuses the compiled SDK: see that its crates are those of Cargo.lock",
        )?;
    let glue = folder.join(format!("{CORE}.js"));
    let wasm = folder.join(format!("{CORE}_bg.wasm"));
    let (small_glue, small_wasm) = names::number(&fs::read_to_string(&glue)?, &fs::read(&wasm)?);
    fs::write(glue, small_glue)?;
    fs::write(wasm, small_wasm)?;
    Ok(())
}

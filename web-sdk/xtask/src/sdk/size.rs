//! What a page downloads: always the main module, the glue and the wasm; the other modules when it needs them.

use std::fmt;
use std::io::Write;

use anyhow::{Result, bail};

use super::Files;

/// The most that wasm, glue and main module may weigh together, in bytes after brotli.
pub const MAX_BROTLI_BYTES: usize = 40_000;

/// The names of modules that are loaded when a page needs them begin with this.
const LAZY_PREFIX: &str = "mcp-web-";

/// The settings of a server that compresses once and serves often.
const QUALITY: u32 = 11;
const WINDOW: u32 = 22;

/// The sizes of the files that a page loads.
#[derive(Debug)]
pub struct Sizes {
    files: Vec<Size>,
}

#[derive(Debug)]
struct Size {
    name: String,
    raw: usize,
    brotli: usize,
}

impl Sizes {
    pub(super) fn measure(files: &Files) -> Result<Self> {
        let loaded = files
            .iter()
            .filter(|(name, _)| name.ends_with(".js") || name.ends_with(".wasm"));
        let files = loaded
            .map(|(name, content)| {
                Ok(Size {
                    name: name.clone(),
                    raw: content.len(),
                    brotli: compressed(content)?,
                })
            })
            .collect::<Result<_>>()?;
        Ok(Self { files })
    }

    pub(super) fn check(&self) -> Result<()> {
        let sum = self.eager_brotli();
        if sum > MAX_BROTLI_BYTES {
            bail!(
                "what every page loads is {sum} bytes after brotli and may be {MAX_BROTLI_BYTES}: make it smaller"
            )
        }
        Ok(())
    }

    fn eager_brotli(&self) -> usize {
        self.eager().map(|file| file.brotli).sum()
    }

    fn eager(&self) -> impl Iterator<Item = &Size> {
        self.files.iter().filter(|file| !file.is_lazy())
    }
}

impl Size {
    fn is_lazy(&self) -> bool {
        self.name.starts_with(LAZY_PREFIX)
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = |name: &str, raw, brotli| {
            writeln!(
                out,
                "    {name:<27} {raw:>8} bytes, {brotli:>7} after brotli"
            )
        };
        for file in self.eager() {
            line(&file.name, file.raw, file.brotli)?;
        }
        let raw = self.eager().map(|file| file.raw).sum();
        line("sum", raw, self.eager_brotli())?;
        for file in self.files.iter().filter(|file| file.is_lazy()) {
            line(&format!("{} (later)", file.name), file.raw, file.brotli)?;
        }
        Ok(())
    }
}

fn compressed(content: &[u8]) -> Result<usize> {
    let mut writer = brotli::CompressorWriter::new(Vec::new(), 4096, QUALITY, WINDOW);
    writer.write_all(content)?;
    Ok(writer.into_inner().len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes_of(content: &[u8]) -> Sizes {
        let files = Files::from([
            ("core.wasm".into(), content.to_vec()),
            ("README.md".into(), b"not loaded by a page".to_vec()),
        ]);
        Sizes::measure(&files).unwrap()
    }

    #[test]
    fn counts_what_a_page_loads_after_brotli() {
        let sizes = sizes_of(&[b'a'; 10_000]);
        assert_eq!(sizes.files.len(), 1);
        assert_eq!(sizes.files[0].raw, 10_000);
        assert!(sizes.eager_brotli() < 100);
        assert!(sizes.to_string().contains("sum"));
    }

    #[test]
    fn what_is_loaded_later_is_shown_but_does_not_count() {
        let files = Files::from([
            ("mcp-web.js".into(), b"at once".to_vec()),
            ("mcp-web-dialog.js".into(), vec![b'a'; 100]),
        ]);
        let sizes = Sizes::measure(&files).unwrap();
        let at_once = sizes_of(b"at once");
        assert_eq!(sizes.eager_brotli(), at_once.eager_brotli());
        assert!(sizes.to_string().contains("mcp-web-dialog.js (later)"));
    }

    #[test]
    fn too_big_is_an_error_that_says_both_numbers() {
        let sizes = Sizes {
            files: vec![Size {
                name: "core.wasm".into(),
                raw: 90_000,
                brotli: 40_001,
            }],
        };
        let message = sizes.check().unwrap_err().to_string();
        assert!(message.contains("40001") && message.contains("40000"));
        assert!(sizes_of(b"small").check().is_ok());
    }
}

//! The sizes of the files that a page downloads: always the main module, the glue and the wasm; the lazy
//! modules only when it needs them.

use std::fmt;
use std::io::Write;

use anyhow::{Result, bail};

use super::entries::ENTRIES;
use super::files::Files;
use super::variant::{INLINE, NODE};

/// The sizes when they were last reviewed, in bytes after brotli. What a page downloads may grow
/// by [`MAX_GROWTH_PERCENT`]; more needs a new number here, and a reason.
const RECORDED: [(&str, usize); 4] = [
    (EAGER, 41_874),
    (PAGE_TOOLS, 94_113),
    ("mcp-web-ask.js", 9_718),
    ("mcp-web-ask-markdown.js", 25_714),
];
const MAX_GROWTH_PERCENT: usize = 1;

/// Wasm, glue and main module together.
const EAGER: &str = "what every page loads";

/// The files that a page with page tools loads.
const PAGE_TOOLS: &str = "page tools";
const PAGE_TOOLS_FILES: [&str; 3] = ["mcp-web-page.js", "mcp_web_page.js", "mcp_web_page_bg.wasm"];

/// The start of the names of what not every page loads: lazy modules, and the other entries.
const LAZY_PREFIX: &str = "mcp-web-";

/// The brotli settings of a server that compresses a file once and serves it often.
const QUALITY: u32 = 11;
const WINDOW: u32 = 22;

/// The sizes of the files that a page loads.
#[derive(Debug)]
pub struct Sizes {
    files: Vec<Size>,
    /// The size of each source in the main module, in bytes before compression.
    parts: Vec<(String, usize)>,
}

#[derive(Debug)]
struct Size {
    name: String,
    raw: usize,
    brotli: usize,
}

impl Sizes {
    /// Measures the JavaScript and wasm files, uncompressed and after brotli.
    pub(super) fn measure(files: &Files, parts: Vec<(String, usize)>) -> Result<Self> {
        let loaded = files
            .iter()
            .filter(|(name, _)| name.ends_with(".js") || name.ends_with(".wasm"))
            // Tests load the test kit, and pages do not.
            .filter(|(name, _)| !name.contains('/'));
        let files = loaded
            .map(|(name, content)| {
                Ok(Size {
                    name: name.clone(),
                    raw: content.len(),
                    brotli: compressed_size(content)?,
                })
            })
            .collect::<Result<_>>()?;
        Ok(Self { files, parts })
    }

    /// Fails if what a page downloads has grown by more than [`MAX_GROWTH_PERCENT`].
    pub(super) fn check(&self) -> Result<()> {
        for (name, recorded) in RECORDED {
            let size = self.brotli_of(name);
            if size > recorded + recorded * MAX_GROWTH_PERCENT / 100 {
                bail!(
                    "{name}: {size} bytes after brotli, more than {MAX_GROWTH_PERCENT} % above {recorded}: make it smaller, or record the new size in sdk/size.rs and say why it is worth it"
                )
            }
        }
        Ok(())
    }

    fn brotli_of(&self, name: &str) -> usize {
        match name {
            EAGER => self.eager_brotli(),
            PAGE_TOOLS => self.page_tools_brotli(),
            _ => {
                let files = self.files.iter().filter(|file| file.name == name);
                files.map(|file| file.brotli).sum()
            }
        }
    }

    fn eager_brotli(&self) -> usize {
        self.eager().map(|file| file.brotli).sum()
    }

    fn page_tools_brotli(&self) -> usize {
        let files = self.files.iter().filter(|file| file.is_of_page_tools());
        files.map(|file| file.brotli).sum()
    }

    fn eager(&self) -> impl Iterator<Item = &Size> {
        self.files.iter().filter(|file| !file.is_lazy())
    }
}

impl Size {
    fn is_lazy(&self) -> bool {
        self.name.starts_with(LAZY_PREFIX) || self.is_of_page_tools()
    }

    fn is_of_page_tools(&self) -> bool {
        PAGE_TOOLS_FILES.contains(&self.name.as_str())
    }

    /// Returns when a page loads a file that not every page loads.
    fn use_of(&self) -> &'static str {
        let module = self.name.trim_end_matches(".js");
        match module {
            _ if module == INLINE.name => "alone",
            _ if module == NODE.name => "in a process",
            _ if self.is_of_page_tools() => "with page tools",
            _ if ENTRIES.contains(&module) => "by its entry",
            _ => "later",
        }
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut write_line = |name: &str, raw, brotli| {
            writeln!(
                out,
                "    {name:<44} {raw:>8} bytes, {brotli:>7} after brotli"
            )
        };
        for file in self.eager() {
            write_line(&file.name, file.raw, file.brotli)?;
        }
        let raw = self.eager().map(|file| file.raw).sum();
        write_line("sum", raw, self.eager_brotli())?;
        for file in self.files.iter().filter(|file| file.is_lazy()) {
            let name = format!("{} ({})", file.name, file.use_of());
            write_line(&name, file.raw, file.brotli)?;
        }
        let files = self.files.iter().filter(|file| file.is_of_page_tools());
        let raw = files.map(|file| file.raw).sum();
        write_line("sum of page tools", raw, self.page_tools_brotli())?;
        for (source, bytes) in &self.parts {
            writeln!(out, "    in mcp-web.js: {source:<29} {bytes:>8} bytes")?;
        }
        Ok(())
    }
}

fn compressed_size(content: &[u8]) -> Result<usize> {
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
        Sizes::measure(&files, Vec::new()).unwrap()
    }

    #[test]
    fn files_that_a_page_loads_are_measured_after_brotli() {
        let sizes = sizes_of(&[b'a'; 10_000]);
        assert_eq!(sizes.files.len(), 1);
        assert_eq!(sizes.files[0].raw, 10_000);
        assert!(sizes.eager_brotli() < 100);
        assert!(sizes.to_string().contains("sum"));
    }

    #[test]
    fn lazy_modules_are_displayed_but_not_part_of_the_sum() {
        let files = Files::from([
            ("mcp-web.js".into(), b"eager".to_vec()),
            ("mcp-web-dialog.js".into(), vec![b'a'; 100]),
        ]);
        let sizes = Sizes::measure(&files, vec![("a.ts".into(), 5)]).unwrap();
        let eager = sizes_of(b"eager");
        assert_eq!(sizes.eager_brotli(), eager.eager_brotli());
        assert!(sizes.to_string().contains("mcp-web-dialog.js (later)"));
        assert!(sizes.to_string().contains("in mcp-web.js: a.ts"));
    }

    #[test]
    fn sizes_may_shrink_and_grow_by_one_percent() {
        let of = |name: &str, brotli| Sizes {
            files: vec![Size {
                name: name.into(),
                raw: 90_000,
                brotli,
            }],
            parts: Vec::new(),
        };
        assert!(of("core.wasm", 39_000).check().is_ok());
        assert!(of("core.wasm", 42_292).check().is_ok());
        for (name, brotli) in [
            ("core.wasm", 42_293),
            ("mcp-web-page.js", 99_000),
            ("mcp-web-ask.js", 9_816),
        ] {
            let message = of(name, brotli).check().unwrap_err().to_string();
            assert!(message.contains(&brotli.to_string()), "{message}");
        }
    }
}

//! The built-in source `filesystem`: files below folders that the operator has chosen.

mod files;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_tools::{
    CallOutput, SourceContext, SourceMeta, SourceTool, ToolClass, ToolEffect, ToolSource,
    builtin_tool, parse_arguments,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bridge_protocol::invisible::visible_line;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::task::spawn_blocking;

use files::{EntryKind, FileContent, Files, Listing, ListingEntry};

/// The settings of the source.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FilesystemSettings {
    /// The folders, by the names that paths begin with.
    pub(super) roots: BTreeMap<String, PathBuf>,
    /// Whether the source has no tool that writes.
    #[serde(default)]
    read_only: bool,
}

impl FilesystemSettings {
    /// Makes relative paths begin at a folder.
    pub(super) fn resolved(self, folder: &Path) -> Self {
        let roots = self.roots.into_iter();
        Self {
            roots: roots
                .map(|(name, path)| (name, folder.join(path)))
                .collect(),
            ..self
        }
    }
}

/// The source.
#[derive(Debug)]
pub(super) struct Filesystem {
    meta: SourceMeta,
    files: Arc<Files>,
    tools: Arc<[SourceTool]>,
    prompt: String,
}

impl Filesystem {
    /// Opens the folders.
    pub(super) fn open(name: &str, settings: &FilesystemSettings) -> Result<Self, String> {
        if settings.roots.is_empty() {
            return Err(
                "`roots` is empty: name a folder, such as { notes = \"/srv/notes\" }".into(),
            );
        }
        let names: Vec<_> = settings
            .roots
            .keys()
            .map(|name| format!("`{name}/`"))
            .collect();
        Ok(Self {
            meta: SourceMeta {
                name: name.to_owned(),
                kind: "filesystem",
            },
            files: Arc::new(Files::open(&settings.roots, settings.read_only)?),
            tools: tools(settings.read_only)?.into(),
            prompt: format!("files. Paths begin with {}.", names.join(" or ")),
        })
    }
}

fn tools(is_read_only: bool) -> Result<Vec<SourceTool>, String> {
    let read = ToolClass {
        effect: ToolEffect::Read,
        is_open_world: false,
    };
    // It may replace what a file had.
    let write = ToolClass {
        effect: ToolEffect::Destructive,
        ..read
    };
    let path = json!({ "type": "string", "description": "<root>/<path within it>" });
    let mut tools = vec![
        builtin_tool(
            "read_file",
            "Reads a file of at most 1 MiB. What is not UTF-8 is returned as base64.",
            json!({ "path": path }),
            &["path"],
            read,
        )?,
        builtin_tool(
            "list_directory",
            "Lists a directory. Without a path, it lists the roots.",
            json!({ "path": path }),
            &[],
            read,
        )?,
    ];
    if !is_read_only {
        let content = json!({ "type": "string", "description": "The whole new content" });
        let encoding = json!({ "enum": ["utf-8", "base64"], "default": "utf-8" });
        tools.push(builtin_tool(
            "write_file",
            "Creates a file, or replaces its whole content: at most 1 MiB. Its directory must exist.",
            json!({ "path": path, "content": content, "encoding": encoding }),
            &["path", "content"],
            write,
        )?);
    }
    Ok(tools)
}

#[derive(Deserialize)]
struct PathArguments {
    #[serde(default)]
    path: String,
}

#[derive(Deserialize)]
struct WriteArguments {
    path: String,
    content: String,
    #[serde(default)]
    encoding: Encoding,
}

#[derive(Clone, Copy, Default, Deserialize)]
enum Encoding {
    #[default]
    #[serde(rename = "utf-8")]
    Utf8,
    #[serde(rename = "base64")]
    Base64,
}

/// Calls a tool, on a thread that may block.
fn call(files: &Files, tool: &str, arguments: Map<String, Value>) -> Result<String, String> {
    match tool {
        "read_file" => {
            let PathArguments { path } = parse_arguments(arguments)?;
            let content = files.read(&path).map_err(|error| error.to_string())?;
            Ok(match content {
                FileContent::Text(text) => text,
                FileContent::Binary { base64, size } => {
                    format!("[{size} bytes that are not UTF-8, as base64]\n{base64}")
                }
            })
        }
        "list_directory" => {
            let PathArguments { path } = parse_arguments(arguments)?;
            let listing = files.list(&path).map_err(|error| error.to_string())?;
            Ok(listing_text(&listing))
        }
        _ => {
            let WriteArguments {
                path,
                content,
                encoding,
            } = parse_arguments(arguments)?;
            let content = match encoding {
                Encoding::Utf8 => content.into_bytes(),
                Encoding::Base64 => STANDARD
                    .decode(content)
                    .map_err(|error| format!("`content` is not base64: {error}"))?,
            };
            let written = files.write(&path, &content);
            written.map_err(|error| error.to_string())?;
            Ok(format!("{} bytes were written.", content.len()))
        }
    }
}

/// Returns a line for each entry: directories end with a slash, files have their size. A name
/// stays on its line, and its invisible characters are shown.
fn listing_text(listing: &Listing) -> String {
    let lines = listing.entries.iter().map(entry_text);
    let more = (listing.omitted > 0).then(|| format!("[and {} more]", listing.omitted));
    let lines: Vec<_> = lines.chain(more).collect();
    if lines.is_empty() {
        return "[The directory is empty.]".to_owned();
    }
    lines.join("\n")
}

fn entry_text(ListingEntry { name, kind, size }: &ListingEntry) -> String {
    let name = visible_line(name);
    match (kind, size) {
        (EntryKind::Directory, _) => format!("{name}/"),
        (EntryKind::Link, _) => format!("{name} (link)"),
        (EntryKind::Other, _) => format!("{name} (no file)"),
        (EntryKind::File, Some(size)) => format!("{name} ({size} bytes)"),
        (EntryKind::File, None) => name.into_owned(),
    }
}

impl ToolSource for Filesystem {
    fn meta(&self) -> &SourceMeta {
        &self.meta
    }

    fn tools(&self) -> Arc<[SourceTool]> {
        Arc::clone(&self.tools)
    }

    fn call<'a>(
        &'a self,
        tool: &'a str,
        arguments: Map<String, Value>,
        _context: &'a SourceContext,
    ) -> BoxFuture<'a, CallOutput> {
        let (files, tool) = (Arc::clone(&self.files), tool.to_owned());
        // Work that has begun on such a thread is not cancelled; it is bounded by its size.
        let calling = spawn_blocking(move || call(&files, &tool, arguments));
        async move {
            match calling.await {
                Ok(Ok(text)) => CallOutput::from_text(text),
                Ok(Err(reason)) => CallOutput::from_error(reason),
                Err(_) => CallOutput::from_error("the agent has a fault, which its log shows"),
            }
        }
        .boxed()
    }

    fn prompt(&self) -> Option<Cow<'_, str>> {
        Some(self.prompt.as_str().into())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_one_line_whatever_its_name_is() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a\nb (9 bytes)", "c\u{1b}[2J", "d\r"] {
            std::fs::write(folder.path().join(name), "x").unwrap();
        }
        std::fs::create_dir(folder.path().join("e\n")).unwrap();
        let roots = BTreeMap::from([("notes".to_owned(), folder.path().to_owned())]);
        let files = Files::open(&roots, true).unwrap();
        let called = |tool: &str, path: &str| {
            let arguments = json!({ "path": path });
            call(&files, tool, arguments.as_object().unwrap().clone()).unwrap()
        };
        let expected = [
            r"a\u{a}b (9 bytes) (1 bytes)",
            r"c\u{1b}[2J (1 bytes)",
            r"d\u{d} (1 bytes)",
            r"e\u{a}/",
        ];
        let listed = called("list_directory", "notes");
        assert_eq!(listed.lines().collect::<Vec<_>>(), expected);
        assert_eq!(called("read_file", "notes/a\nb (9 bytes)"), "x");
    }
}

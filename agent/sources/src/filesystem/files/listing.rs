//! The entries of a directory.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};

use cap_std::fs::{DirEntry, Metadata, ReadDir};

use super::limits::MAX_ENTRIES;
use super::temporary_file::is_temporary_name;

/// The first entries of a directory by name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Listing {
    pub(crate) entries: Vec<ListingEntry>,
    /// How many more the directory has.
    pub(crate) omitted: usize,
}

/// One entry of a directory.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ListingEntry {
    /// The name, with replacement characters for bytes that are not UTF-8. Such a name cannot be
    /// part of a path.
    pub(crate) name: String,
    pub(crate) kind: EntryKind,
    /// The size of a file, in bytes.
    pub(crate) size: Option<u64>,
}

/// The kind of an entry of a directory. A link is a link wherever it leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryKind {
    File,
    Directory,
    Link,
    /// A device, a socket, a named pipe, or what may not be examined.
    Other,
}

impl Listing {
    pub(super) fn of_roots<'a>(names: impl Iterator<Item = &'a String>) -> Self {
        let entries = names.map(|name| ListingEntry {
            name: name.clone(),
            kind: EntryKind::Directory,
            size: None,
        });
        Self {
            entries: entries.collect(),
            omitted: 0,
        }
    }

    /// Reads a directory to its end, but examines only the entries that are listed. Temporary files
    /// of this module are left out.
    pub(super) fn read(directory: ReadDir) -> io::Result<Self> {
        let mut first = BTreeMap::new();
        let mut omitted = 0;
        for entry in directory {
            let entry = entry?;
            let name = entry.file_name();
            if is_temporary_name(&name.to_string_lossy()) {
                continue;
            }
            first.insert(name, entry);
            if first.len() > MAX_ENTRIES {
                first.pop_last();
                omitted += 1;
            }
        }
        let entries = first.values().filter_map(ListingEntry::examine).collect();
        Ok(Self { entries, omitted })
    }
}

impl ListingEntry {
    /// Returns the entry unless it was removed in the meantime.
    fn examine(entry: &DirEntry) -> Option<Self> {
        let name = entry.file_name().to_string_lossy().into_owned();
        let (kind, size) = match entry.metadata() {
            Ok(metadata) => (
                EntryKind::of(&metadata),
                metadata.is_file().then_some(metadata.len()),
            ),
            Err(error) if error.kind() == ErrorKind::NotFound => return None,
            Err(_) => (EntryKind::Other, None),
        };
        Some(Self { name, kind, size })
    }
}

impl EntryKind {
    fn of(metadata: &Metadata) -> Self {
        match metadata.file_type() {
            kind if kind.is_file() => Self::File,
            kind if kind.is_dir() => Self::Directory,
            kind if kind.is_symlink() => Self::Link,
            _ => Self::Other,
        }
    }
}

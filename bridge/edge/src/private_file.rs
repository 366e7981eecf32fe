//! Files and folders that only their owner can use.

use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use uuid::Uuid;

/// Creates a folder and its parents, unless they exist.
pub(crate) fn create_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

/// Opens a file with these options. If the options create it, only its owner can use it.
pub(crate) fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options.open(path)
}

/// Creates a file in a folder and removes it, to find out whether this is possible. Returns what the
/// system knew about it.
pub(crate) fn create_temporary(folder: &Path) -> io::Result<Metadata> {
    let path = folder.join(format!(".{}", Uuid::new_v4().simple()));
    let file = open(OpenOptions::new().write(true).create_new(true), &path)?;
    let metadata = file.metadata();
    std::fs::remove_file(&path)?;
    metadata
}

/// Writes a temporary file beside `path`, and calls `publish` with its path to give it its final name.
/// So the name refers to a complete file or to none.
pub(crate) fn write_whole(
    path: &Path,
    contents: &[u8],
    publish: impl FnOnce(&Path) -> io::Result<()>,
) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}", Uuid::new_v4().simple()));
    let temporary = path.with_file_name(name);
    let file = open(OpenOptions::new().write(true).create_new(true), &temporary);
    let written = file.and_then(|mut file| {
        file.write_all(contents)?;
        file.sync_all()
    });
    let published = written.and_then(|()| publish(&temporary));
    // After a rename it does not exist any more.
    let _ = std::fs::remove_file(&temporary);
    published
}

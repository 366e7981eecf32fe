//! The files of the built SDK, and the folder that they are published to.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::folder;

/// The content of each file of the built SDK, by its name relative to the folder of the package.
pub(super) type Files = BTreeMap<String, Vec<u8>>;

/// Makes a folder contain these files and no others but `kept`, without touching those that do not
/// differ.
pub(super) fn publish(files: &Files, folder: &Path, kept: &[&str]) -> Result<()> {
    let advice = || format!("make {} writable", folder.display());
    folder::create(folder)?;
    for path in list(folder).with_context(advice)? {
        let name = relative_name(folder, &path);
        if !files.contains_key(&name) && !kept.contains(&name.as_str()) {
            fs::remove_file(path).with_context(advice)?;
        }
    }
    replace(files, folder)
}

/// Writes the files that differ into a folder.
pub(super) fn replace(files: &Files, folder: &Path) -> Result<()> {
    let advice = || format!("make {} writable", folder.display());
    for (name, content) in files {
        let path = folder.join(name);
        if fs::read(&path).is_ok_and(|present| present == *content) {
            continue;
        }
        folder::create(path.parent().unwrap_or(folder))?;
        let unfinished = path.with_extension("unfinished");
        fs::write(&unfinished, content).with_context(advice)?;
        fs::rename(&unfinished, &path).with_context(advice)?;
    }
    Ok(())
}

/// Returns the paths of all files below a folder.
pub(super) fn list(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(list(&path)?);
        } else {
            files.push(path);
        }
    }
    Ok(files)
}

/// Returns the name of a file relative to a folder, with `/` between the parts.
pub(super) fn relative_name(folder: &Path, path: &Path) -> String {
    let relative = path.strip_prefix(folder).unwrap_or(path);
    let parts = relative.iter().map(|part| part.to_string_lossy());
    parts.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn publishing_again_touches_only_files_that_differ() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = Files::from([
            ("a.js".into(), b"a".to_vec()),
            ("b.js".into(), b"b".to_vec()),
            ("types/b.d.ts".into(), b"b".to_vec()),
        ]);
        fs::write(folder.path().join("kept.wasm"), b"k").unwrap();
        publish(&files, folder.path(), &["kept.wasm"]).unwrap();
        let modified = |name: &str| {
            fs::metadata(folder.path().join(name))
                .unwrap()
                .modified()
                .unwrap()
        };
        let before = modified("a.js");
        files.insert("c.js".into(), b"c".to_vec());
        files.remove("b.js");
        files.remove("types/b.d.ts");
        publish(&files, folder.path(), &["kept.wasm"]).unwrap();
        assert_eq!(before, modified("a.js"));
        assert!(folder.path().join("kept.wasm").exists());
        assert!(!folder.path().join("b.js").exists());
        assert!(!folder.path().join("types/b.d.ts").exists());
        assert_eq!(fs::read(folder.path().join("c.js")).unwrap(), b"c");
    }
}

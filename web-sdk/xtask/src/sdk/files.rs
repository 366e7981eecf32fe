//! The files of the built SDK, and the folder that they are published to.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::folder;

/// The content of each file of the built SDK, by name.
pub(super) type Files = BTreeMap<String, Vec<u8>>;

/// Makes a folder contain these files and no others, without touching those that do not differ.
pub(super) fn publish(files: &Files, folder: &Path) -> Result<()> {
    let advice = || format!("make {} writable", folder.display());
    folder::create(folder)?;
    for entry in fs::read_dir(folder).with_context(advice)? {
        let entry = entry?;
        if !files.contains_key(entry.file_name().to_string_lossy().as_ref()) {
            fs::remove_file(entry.path()).with_context(advice)?;
        }
    }
    for (name, content) in files {
        let path = folder.join(name);
        if fs::read(&path).is_ok_and(|present| present == *content) {
            continue;
        }
        let unfinished = folder.join(format!(".{name}"));
        fs::write(&unfinished, content).with_context(advice)?;
        fs::rename(&unfinished, &path).with_context(advice)?;
    }
    Ok(())
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
        ]);
        publish(&files, folder.path()).unwrap();
        let modified = |name: &str| {
            fs::metadata(folder.path().join(name))
                .unwrap()
                .modified()
                .unwrap()
        };
        let before = modified("a.js");
        files.insert("c.js".into(), b"c".to_vec());
        files.remove("b.js");
        publish(&files, folder.path()).unwrap();
        assert_eq!(before, modified("a.js"));
        assert!(!folder.path().join("b.js").exists());
        assert_eq!(fs::read(folder.path().join("c.js")).unwrap(), b"c");
    }
}

//! Detects whether the inputs of a step have changed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

/// A hash of the inputs of a step. If it is equal to that of the last run, there is nothing to do.
#[derive(Default)]
pub(crate) struct Fingerprint {
    hasher: Sha256,
}

impl Fingerprint {
    /// Adds the content of a file, or the names and contents of all files below a folder.
    ///
    /// A path that does not exist is not an error: it has a separate fingerprint.
    pub(crate) fn add_path(&mut self, path: &Path) -> Result<&mut Self> {
        let mut files = Vec::new();
        list_files(path, &mut files).with_context(|| format!("cannot read {}", path.display()))?;
        files.sort();
        for file in files {
            let name = file.strip_prefix(path).unwrap_or(&file);
            self.add_bytes(name.as_os_str().as_encoded_bytes());
            let content =
                fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
            self.add_bytes(&content);
        }
        self.add_bytes(b"end of path");
        Ok(self)
    }

    /// Adds a text, such as the version of a tool.
    pub(crate) fn add_text(&mut self, text: &str) -> &mut Self {
        self.add_bytes(text.as_bytes());
        self
    }

    /// Returns the fingerprint as hexadecimal text.
    pub(crate) fn finish(self) -> String {
        hexadecimal(&self.hasher.finalize())
    }

    /// Adds the length first, so that `ab` and `c` differ from `a` and `bc`.
    fn add_bytes(&mut self, bytes: &[u8]) {
        self.hasher.update((bytes.len() as u64).to_le_bytes());
        self.hasher.update(bytes);
    }
}

/// Returns the SHA-256 as hexadecimal text.
pub(crate) fn sha256_hex(content: &[u8]) -> String {
    hexadecimal(&Sha256::digest(content))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn list_files(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
        Ok(metadata) if metadata.is_dir() => {
            for entry in fs::read_dir(path)? {
                list_files(&entry?.path(), files)?;
            }
        }
        Ok(_) => files.push(path.into()),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fingerprint_of(path: &Path) -> String {
        let mut fingerprint = Fingerprint::default();
        fingerprint.add_path(path).unwrap();
        fingerprint.finish()
    }

    #[test]
    fn changes_only_with_contents_names_and_missing_files() {
        let folder = tempfile::tempdir().unwrap();
        let empty = fingerprint_of(folder.path());
        fs::create_dir(folder.path().join("src")).unwrap();
        fs::write(folder.path().join("src/a.rs"), "one").unwrap();
        let one = fingerprint_of(folder.path());
        fs::write(folder.path().join("src/a.rs"), "two").unwrap();
        let two = fingerprint_of(folder.path());
        fs::rename(
            folder.path().join("src/a.rs"),
            folder.path().join("src/b.rs"),
        )
        .unwrap();
        let renamed = fingerprint_of(folder.path());
        let all = [&empty, &one, &two, &renamed];
        for (index, left) in all.iter().enumerate() {
            assert!(all[index + 1..].iter().all(|right| left != right));
        }
        fs::rename(
            folder.path().join("src/b.rs"),
            folder.path().join("src/a.rs"),
        )
        .unwrap();
        fs::write(folder.path().join("src/a.rs"), "one").unwrap();
        assert_eq!(one, fingerprint_of(folder.path()));
    }

    #[test]
    fn a_missing_path_has_a_separate_fingerprint() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("package.json");
        let before = fingerprint_of(&missing);
        fs::write(&missing, "{}").unwrap();
        assert_ne!(before, fingerprint_of(&missing));
    }

    #[test]
    fn a_name_and_its_content_are_separated() {
        let folder = tempfile::tempdir().unwrap();
        let [left, right] = ["left", "right"].map(|name| folder.path().join(name));
        fs::create_dir(&left).unwrap();
        fs::create_dir(&right).unwrap();
        fs::write(left.join("ab"), "c").unwrap();
        fs::write(right.join("a"), "bc").unwrap();
        assert_ne!(fingerprint_of(&left), fingerprint_of(&right));
    }
}

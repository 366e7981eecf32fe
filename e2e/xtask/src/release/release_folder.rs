//! The folder of a release, and the sums of what is in it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::fingerprint::sha256_hex;
use crate::folder;

/// The folders that are not downloaded from the release.
const NOT_LISTED: [&str; 3] = ["npm/", "plugin/", "pypi/"];

/// The folder that a release is written to.
pub(super) struct ReleaseFolder {
    path: PathBuf,
    time: u64,
    /// The SHA-256 of each file, by its path in the folder.
    sums: BTreeMap<String, String>,
}

impl ReleaseFolder {
    /// Removes what is at the path, so that no file of an earlier run stays.
    pub(super) fn create(path: PathBuf, time: u64) -> Result<Self> {
        folder::remove(&path)?;
        folder::create(&path)?;
        Ok(Self {
            path,
            time,
            sums: BTreeMap::new(),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The time of all files in archives, in seconds since 1970.
    pub(super) fn time(&self) -> u64 {
        self.time
    }

    /// Writes a file.
    pub(super) fn write(&mut self, path: &str, content: impl AsRef<[u8]>) -> Result<()> {
        self.write_with_mode(path, content.as_ref(), 0o644)
    }

    /// Writes a file that everyone may run.
    pub(super) fn write_script(&mut self, path: &str, content: &str) -> Result<()> {
        self.write_with_mode(path, content.as_bytes(), 0o755)
    }

    fn write_with_mode(&mut self, path: &str, content: &[u8], mode: u32) -> Result<()> {
        let file = self.path.join(path);
        if let Some(parent) = file.parent() {
            folder::create(parent)?;
        }
        fs::write(&file, content)
            .and_then(|()| fs::set_permissions(&file, fs::Permissions::from_mode(mode)))
            .with_context(|| format!("make {} writable", file.display()))?;
        let size = content.len() as f64 / 1e6;
        println!("    {path} ({size:.1} MB)");
        self.sums.insert(path.to_owned(), sha256_hex(content));
        Ok(())
    }

    /// Returns the sums of the files whose path begins with this.
    pub(super) fn sums_below<'a>(
        &'a self,
        prefix: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a str)> {
        let all = self
            .sums
            .iter()
            .map(|(path, sum)| (path.as_str(), sum.as_str()));
        all.filter(move |(path, _)| path.starts_with(prefix))
    }

    /// Returns whether a file was written.
    pub(super) fn contains(&self, path: &str) -> bool {
        self.sums.contains_key(path)
    }

    /// Writes the list of sums, as `sha256sum --check` reads it. People download the files into one folder, so
    /// they are listed without their folders. A registry has the sums of the packages in [`NOT_LISTED`] itself.
    pub(super) fn write_sums(&mut self) -> Result<()> {
        let is_listed = |path: &str| !NOT_LISTED.iter().any(|folder| path.starts_with(folder));
        let mut sums = BTreeMap::new();
        for (path, sum) in self.sums.iter().filter(|(path, _)| is_listed(path)) {
            let (_, name) = path.rsplit_once('/').unwrap_or(("", path.as_str()));
            if sums.insert(name, sum).is_some() {
                bail!("give one of the files {name} another name: downloads have no folders");
            }
        }
        let lines = sums.iter().map(|(name, sum)| format!("{sum}  {name}\n"));
        let text: String = lines.collect();
        self.write("SHA256SUMS", text)
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn the_sums_are_those_that_sha256sum_checks() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("release");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("old"), "of an earlier run").unwrap();
        let mut release = ReleaseFolder::create(path.clone(), 0).unwrap();
        release.write("npm/a.tgz", "a").unwrap();
        release.write("deb/a.deb", "a").unwrap();
        release.write_script("install.sh", "b").unwrap();
        release.write_sums().unwrap();
        assert!(!path.join("old").exists() && release.contains("npm/a.tgz"));
        fs::rename(path.join("deb/a.deb"), path.join("a.deb")).unwrap();
        let mut check = Command::new("sha256sum");
        check.args(["--check", "--strict", "SHA256SUMS"]);
        let output = check.current_dir(&path).output().unwrap();
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "a.deb: OK\ninstall.sh: OK\n"
        );
        release.write("oci/a.deb", "c").unwrap();
        assert!(release.write_sums().is_err());
        let mode = fs::metadata(path.join("install.sh")).unwrap().permissions();
        assert_eq!(mode.mode() & 0o777, 0o755);
        assert_eq!(release.sums_below("npm/").count(), 1);
    }
}

//! The published npm package: the files that `npm pack` puts into its archive, and no others.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use tempfile::TempDir;

use crate::program_paths;

/// Returns the archive, which is made once in each process.
pub fn archive() -> &'static [u8] {
    static ARCHIVE: OnceLock<Vec<u8>> = OnceLock::new();
    ARCHIVE.get_or_init(pack)
}

/// Installs the package as npm does: the archive's files, in a new folder.
pub fn install(package: &Path) {
    std::fs::create_dir_all(package).unwrap();
    let file = package.join("package.tgz");
    std::fs::write(&file, archive()).unwrap();
    let mut tar = Command::new("tar");
    tar.args(["--extract", "--gzip", "--strip-components=1", "--file"])
        .arg(&file)
        .arg("--directory")
        .arg(package);
    succeed(&mut tar);
    std::fs::remove_file(file).unwrap();
}

fn pack() -> Vec<u8> {
    let folder = TempDir::with_prefix("mcp-web-pack-").unwrap();
    let mut npm = Command::new("npm");
    npm.args(["pack", "--silent", "--pack-destination"])
        .arg(folder.path())
        .arg(program_paths::sdk_package());
    succeed(&mut npm);
    let archive = std::fs::read_dir(folder.path()).unwrap().next();
    std::fs::read(archive.unwrap().unwrap().path()).unwrap()
}

fn succeed(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

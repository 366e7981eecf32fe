//! The path of the program that entries name. It must be one that stays.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use uuid::Uuid;

use crate::environment::{Environment, System};
use crate::error::InstallError;

/// The path for entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ProgramPath {
    /// The program is installed.
    Installed(PathBuf),
    /// The program is in the cache of a package runner, which removes it one day. A copy stays.
    Copy { from: PathBuf, to: PathBuf },
}

impl ProgramPath {
    /// Finds the path for the program of this process.
    pub(crate) fn find(environment: &Environment) -> Self {
        let program = &environment.program;
        if is_in_cache(program) {
            return Self::Copy {
                from: program.clone(),
                to: copy_path(environment),
            };
        }
        // A package manager may have the version in the path of the program, and a link to it in a
        // folder of the PATH that stays after an upgrade.
        let name = program.file_name().unwrap_or_default();
        let mut links = environment
            .program_folders()
            .map(|folder| folder.join(name));
        let link = links
            .find(|link| link.is_absolute() && !is_in_cache(link) && is_same_file(link, program));
        Self::Installed(link.unwrap_or_else(|| program.clone()))
    }

    /// Returns the path for entries.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Installed(path) | Self::Copy { to: path, .. } => path,
        }
    }

    /// Makes the copy, unless it is there. An older copy is replaced.
    pub(crate) fn copy_if_needed(&self) -> Result<(), InstallError> {
        match self {
            Self::Installed(_) => Ok(()),
            Self::Copy { from, to } => {
                let copied = copy(from, to);
                copied.map_err(|error| InstallError::Copy(to.clone(), error))
            }
        }
    }
}

/// Returns the path of the copy.
pub(crate) fn copy_path(environment: &Environment) -> PathBuf {
    let name = match environment.system {
        System::Windows => "mcp-web.exe",
        _ => "mcp-web",
    };
    environment.data_folder().join("bin").join(name)
}

/// Whether a path is in the cache of npx, pnpm, yarn, bunx, uv or pipx, or in another cache.
fn is_in_cache(path: &Path) -> bool {
    let path = path.to_string_lossy();
    let folders: Vec<_> = path.split(['/', '\\']).collect();
    let is_cache = |folder: &&str| {
        matches!(*folder, "_npx" | "dlx" | ".cache" | "Caches" | "archive-v0")
            || folder.starts_with("bunx-")
            || folder.starts_with("dlx-")
    };
    let is_uv = |pair: &[&str]| pair == ["uv", "cache"];
    folders.iter().any(is_cache) || folders.windows(2).any(is_uv)
}

fn is_same_file(a: &Path, b: &Path) -> bool {
    let paths = (a.canonicalize(), b.canonicalize());
    matches!(paths, (Ok(a), Ok(b)) if a == b)
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if is_same_content(from, to) {
        return Ok(());
    }
    let folder = to.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let temporary = folder.join(format!(".mcp-web.{}.tmp", Uuid::new_v4().simple()));
    let copied = write_program(from, &temporary).and_then(|()| replace(&temporary, to));
    if copied.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    copied
}

fn write_program(from: &Path, temporary: &Path) -> io::Result<()> {
    std::fs::copy(from, temporary)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(temporary, std::fs::Permissions::from_mode(0o755))?;
    }
    File::options().write(true).open(temporary)?.sync_all()
}

/// Gives a new program its name. Windows does not replace a program that runs, but it renames it.
fn replace(temporary: &Path, to: &Path) -> io::Result<()> {
    let renamed = std::fs::rename(temporary, to);
    if renamed.is_ok() || !cfg!(windows) {
        return renamed;
    }
    std::fs::rename(to, to.with_extension("old.exe"))?;
    std::fs::rename(temporary, to)
}

fn is_same_content(a: &Path, b: &Path) -> bool {
    let sizes = (
        a.metadata().map(|it| it.len()),
        b.metadata().map(|it| it.len()),
    );
    if !matches!(sizes, (Ok(a), Ok(b)) if a == b) {
        return false;
    }
    matches!((std::fs::read(a), std::fs::read(b)), (Ok(a), Ok(b)) if a == b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_a_package_runner_is_in_a_cache() {
        for path in [
            "/h/a/.npm/_npx/1f/node_modules/mcp-web-linux-x64/bin/mcp-web",
            "/h/a/.cache/pnpm/dlx/1/node_modules/mcp-web-linux-x64/bin/mcp-web",
            "/h/a/Library/Caches/pnpm/dlx/1/mcp-web",
            "/tmp/xfs-1/dlx-12/node_modules/mcp-web",
            "/tmp/bunx-1000-mcp-web@latest/node_modules/mcp-web-linux-x64/bin/mcp-web",
            "/h/a/.cache/uv/archive-v0/x/bin/mcp-web",
            "/h/a/.cache/pipx/1/bin/mcp-web",
            r"C:\Users\a\AppData\Local\npm-cache\_npx\1\node_modules\mcp-web-win32-x64\bin\mcp-web.exe",
            r"C:\Users\a\AppData\Local\uv\cache\builds-v0\1\Scripts\mcp-web.exe",
        ] {
            assert!(is_in_cache(Path::new(path)), "{path}");
        }
        for path in [
            "/usr/bin/mcp-web",
            "/h/a/.local/share/uv/tools/mcp-web/bin/mcp-web",
            "/h/a/.local/pipx/venvs/mcp-web/bin/mcp-web",
            "/usr/lib/node_modules/mcp-web/node_modules/mcp-web-linux-x64/bin/mcp-web",
            r"C:\Users\a\AppData\Roaming\npm\node_modules\mcp-web\bin\mcp-web.exe",
            "/opt/homebrew/Cellar/mcp-web/0.2.0/bin/mcp-web",
        ] {
            assert!(!is_in_cache(Path::new(path)), "{path}");
        }
    }
}

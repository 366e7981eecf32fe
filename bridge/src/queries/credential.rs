//! The credential that a bridge and an agent of one user share without being told: a file that
//! whichever of them starts first makes. The agent has the same rules.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use uuid::Uuid;

use crate::config::{Config, Secret};
use crate::outgoing;

/// The name of the file, in the user's configuration directory.
const CREDENTIAL_FILE: &str = "mcp-web/agent-token";

/// Fills in the credential for an agent on this machine where none is set. Agents of mcp-web 0.1
/// know of none.
pub(crate) fn fill_in(config: &mut Config) {
    let url = config.agent.agent_url.as_ref();
    let url = url.and_then(|url| url.as_str().parse().ok());
    let is_ours = url.is_some_and(|url| outgoing::is_loopback(&url));
    if config.agent.agent_token.is_some() || config.compat.is_some() || !is_ours {
        return;
    }
    let Some(path) = config_directory().map(|folder| folder.join(CREDENTIAL_FILE)) else {
        return;
    };
    match load_or_create(&path) {
        Ok(secret) => config.agent.agent_token = Some(secret),
        Err(error) => tracing::warn!(
            "the credential that bridge and agent share cannot be kept in {}: {error}; set \
             `agent_token` (MCP_WEB_AGENT_TOKEN) for both",
            path.display()
        ),
    }
}

/// Where a user's programs keep their configuration (XDG Base Directory Specification).
fn config_directory() -> Option<PathBuf> {
    let from_env = |name: &str| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    let at_home = || Some(from_env("HOME")?.join(".config"));
    match cfg!(windows) {
        true => from_env("APPDATA"),
        false => from_env("XDG_CONFIG_HOME").or_else(at_home),
    }
}

/// Reads the file, or makes it: once, whoever else makes it at this moment.
fn load_or_create(path: &Path) -> io::Result<Secret> {
    match load(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        other => return other,
    }
    create(path)?;
    load(path)
}

fn load(path: &Path) -> io::Result<Secret> {
    let text = std::fs::read_to_string(path)?;
    if others_can_read(path) {
        let why = "others can read it: remove it, and a new one is made";
        return Err(io::Error::new(ErrorKind::PermissionDenied, why));
    }
    let secret = text.trim().parse();
    secret.map_err(|why: String| io::Error::new(ErrorKind::InvalidData, why))
}

/// Writes a new secret beside the name and links it there: the name shows a whole one, or none, and
/// the first who links wins.
fn create(path: &Path) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    private_folder(folder)?;
    let draft = folder.join(format!("agent-token.{}", Uuid::new_v4().simple()));
    let written = private_file(&draft).and_then(|mut file| {
        writeln!(file, "{}", Secret::random().text())?;
        file.sync_all()
    });
    let linked = written.and_then(|()| std::fs::hard_link(&draft, path));
    let _ = std::fs::remove_file(&draft);
    match linked {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

#[cfg(unix)]
fn private_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).create(folder)
}

#[cfg(unix)]
fn private_file(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600).open(path)
}

#[cfg(not(unix))]
fn private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

#[cfg(unix)]
fn others_can_read(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|about| about.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn others_can_read(_: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn concurrent_starts_share_one_credential() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(CREDENTIAL_FILE);
        let starting: Vec<_> = (0..8)
            .map(|_| {
                let path = path.clone();
                thread::spawn(move || load_or_create(&path).unwrap())
            })
            .collect();
        let found: Vec<_> = starting.into_iter().map(|it| it.join().unwrap()).collect();
        assert!(found.iter().all(|it| *it == found[0]));
        assert_eq!(found[0].text().len(), 64);
        let files = path.parent().unwrap().read_dir().unwrap().count();
        assert_eq!(files, 1, "no draft is left");
    }

    #[cfg(unix)]
    #[test]
    fn the_file_is_private_and_errors_do_not_show_it() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(CREDENTIAL_FILE);
        load_or_create(&path).unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        std::fs::write(&path, "hush").unwrap();
        let error = load_or_create(&path).unwrap_err().to_string();
        assert!(error.contains("32") && !error.contains("hush"), "{error}");
        let open = std::fs::Permissions::from_mode(0o644);
        std::fs::set_permissions(&path, open).unwrap();
        let error = load_or_create(&path).unwrap_err().to_string();
        assert!(error.contains("others can read it"), "{error}");
    }
}

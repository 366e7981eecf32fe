//! The server of PostgreSQL, which only tests use.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::apt;
use crate::step::{Outcome, step};

/// Where Debian's packages have the programs of each version.
const VERSIONS: &str = "/usr/lib/postgresql";

/// The defaults with which Debian's packages create databases.
const CREATE_DEFAULTS: &str = "/etc/postgresql-common/createcluster.conf";

/// The folder of the programs, such as `initdb` and `postgres`.
pub(crate) struct Postgres {
    pub(crate) programs: PathBuf,
}

impl Postgres {
    /// Finds the newest version, and installs Debian's package if there is none.
    ///
    /// `MCP_WEB_POSTGRES_BIN` names the folder of other programs than Debian's.
    pub(crate) fn ensure() -> Result<Self> {
        step("PostgreSQL", || {
            if let Some(postgres) = Self::find()? {
                return Ok(Outcome::UpToDate(postgres));
            }
            if apt::is_available() {
                install()?;
            }
            match Self::find()? {
                Some(postgres) => Ok(Outcome::Done(postgres)),
                None => bail!(
                    "install PostgreSQL, and set MCP_WEB_POSTGRES_BIN to the folder of `initdb` and `postgres`"
                ),
            }
        })
    }

    fn find() -> Result<Option<Self>> {
        let Some(programs) = env::var_os("MCP_WEB_POSTGRES_BIN") else {
            let newest = newest(Path::new(VERSIONS));
            return Ok(newest.map(|programs| Self { programs }));
        };
        let programs = PathBuf::from(programs);
        if !has_programs(&programs) {
            bail!("MCP_WEB_POSTGRES_BIN must be the folder of `initdb` and `postgres`");
        }
        Ok(Some(Self { programs }))
    }
}

/// Installs the server without a database of the system, which Debian's package would create and start.
fn install() -> Result<()> {
    apt::install(&["postgresql-common"])?;
    let defaults = Path::new(CREATE_DEFAULTS);
    let text =
        fs::read_to_string(defaults).with_context(|| format!("make {CREATE_DEFAULTS} readable"))?;
    let write = |text: &str| {
        fs::write(defaults, text).with_context(|| format!("make {CREATE_DEFAULTS} writable"))
    };
    write(&format!("{text}\ncreate_main_cluster = false\n"))?;
    let installed = apt::install(&["postgresql"]);
    write(&text)?;
    installed
}

/// Returns the programs of the newest version: `15/bin`.
fn newest(versions: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(versions).ok()?.flatten();
    let installed = entries.filter_map(|entry| {
        let version: u32 = entry.file_name().to_str()?.parse().ok()?;
        let programs = entry.path().join("bin");
        has_programs(&programs).then_some((version, programs))
    });
    installed.max().map(|(_, programs)| programs)
}

/// Returns whether a folder has the server; that of the clients alone does not.
fn has_programs(folder: &Path) -> bool {
    folder.join("initdb").exists() && folder.join("postgres").exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_with_a_server_is_found() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(newest(folder.path()), None);
        assert_eq!(newest(&folder.path().join("none")), None);
        for (version, programs) in [
            ("9", &["initdb", "postgres"][..]),
            ("15", &["initdb", "postgres"]),
            ("17", &["psql"]),
            ("other", &["initdb", "postgres"]),
        ] {
            let bin = folder.path().join(version).join("bin");
            fs::create_dir_all(&bin).unwrap();
            for program in programs {
                fs::write(bin.join(program), "").unwrap();
            }
        }
        let expected = folder.path().join("15/bin");
        assert_eq!(newest(folder.path()), Some(expected));
    }
}

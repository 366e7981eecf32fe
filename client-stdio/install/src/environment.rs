//! The system, the user and the program for which entries are installed. All paths are derived from
//! it, so that those of other systems can be tested.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::error::InstallError;

/// An operating system, as far as paths depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// Linux, and other systems with its folders.
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

/// A folder of the user or of the project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BaseFolder {
    /// The home folder.
    Home,
    /// `XDG_CONFIG_HOME`, or `.config` in the home folder.
    Config,
    /// `Library/Application Support` in the home folder.
    ApplicationSupport,
    /// `APPDATA` of Windows.
    AppData,
    /// `LOCALAPPDATA` of Windows.
    LocalAppData,
    /// The folder in a variable, or else this folder in the home folder.
    Variable(&'static str, &'static str),
    /// The current folder.
    Project,
}

/// The user, the system and the program.
#[derive(Clone)]
pub struct Environment {
    /// The operating system.
    pub system: System,
    /// The home folder of the user.
    pub home: PathBuf,
    /// The current folder, which is the project.
    pub project: PathBuf,
    /// The absolute path of this program.
    pub program: PathBuf,
    /// The environment variables.
    pub variables: BTreeMap<String, String>,
}

impl Environment {
    /// Returns the environment of this process.
    ///
    /// # Errors
    ///
    /// [`InstallError`] when the system does not say where the home folder or the program is.
    pub fn of_process() -> Result<Self, InstallError> {
        let system = match std::env::consts::OS {
            "macos" => System::MacOs,
            "windows" => System::Windows,
            _ => System::Linux,
        };
        let variables = std::env::vars_os();
        let variables = variables.filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        Ok(Self {
            system,
            home: std::env::home_dir().ok_or(InstallError::NoHome)?,
            project: std::env::current_dir().map_err(InstallError::NoCurrentFolder)?,
            program: std::env::current_exe().map_err(InstallError::NoProgram)?,
            variables: variables.collect(),
        })
    }

    /// Returns the value of a variable, unless it is empty. Windows does not distinguish the case of
    /// its name.
    pub fn variable(&self, name: &str) -> Option<&str> {
        let is_name = |other: &str| match self.system {
            System::Windows => other.eq_ignore_ascii_case(name),
            _ => other == name,
        };
        let mut variables = self.variables.iter();
        let (_, value) = variables.find(|(other, value)| is_name(other) && !value.is_empty())?;
        Some(value)
    }

    /// Returns a folder, or `None` if this system does not have it.
    pub(crate) fn folder(&self, base: BaseFolder) -> Option<PathBuf> {
        match base {
            BaseFolder::Home => Some(self.home.clone()),
            BaseFolder::Config => Some(self.xdg_folder("XDG_CONFIG_HOME", ".config")),
            BaseFolder::ApplicationSupport => Some(self.home.join("Library/Application Support")),
            BaseFolder::AppData => Some(self.windows_folder("APPDATA", "Roaming")),
            BaseFolder::LocalAppData => Some(self.windows_folder("LOCALAPPDATA", "Local")),
            BaseFolder::Variable(variable, folder) => {
                let set = self.variable(variable).map(PathBuf::from);
                Some(set.unwrap_or_else(|| self.home.join(folder)))
            }
            BaseFolder::Project => Some(self.project.clone()),
        }
    }

    /// Returns the folder in which a copy of the program stays.
    pub(crate) fn data_folder(&self) -> PathBuf {
        let folder = match self.system {
            System::Linux => self.xdg_folder("XDG_DATA_HOME", ".local/share"),
            System::MacOs => self.home.join("Library/Application Support"),
            System::Windows => self.windows_folder("LOCALAPPDATA", "Local"),
        };
        folder.join("mcp-web")
    }

    /// Returns the folders in which the shell looks for programs.
    pub(crate) fn program_folders(&self) -> impl Iterator<Item = PathBuf> {
        let separator = match self.system {
            System::Windows => ';',
            _ => ':',
        };
        let path = self.variable("PATH").unwrap_or_default();
        let folders = path.split(separator).filter(|folder| !folder.is_empty());
        folders.map(PathBuf::from)
    }

    /// Returns a path as a person writes it, with `~` for the home folder.
    pub(crate) fn display(&self, path: &Path) -> String {
        match path.strip_prefix(&self.home) {
            Ok(rest) if self.system != System::Windows => format!("~/{}", rest.display()),
            _ => path.display().to_string(),
        }
    }

    /// The specification has it that paths which are not absolute are ignored.
    fn xdg_folder(&self, variable: &str, default: &str) -> PathBuf {
        let set = self.variable(variable).map(PathBuf::from);
        let absolute = set.filter(|folder| folder.is_absolute());
        absolute.unwrap_or_else(|| self.home.join(default))
    }

    fn windows_folder(&self, variable: &str, default: &str) -> PathBuf {
        let set = self.variable(variable).map(PathBuf::from);
        set.unwrap_or_else(|| self.home.join("AppData").join(default))
    }
}

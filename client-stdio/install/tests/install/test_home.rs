//! A home folder, and a person who answers.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use client_install::{
    Console, Environment, InstallArguments, InstallError, Selection, System, UninstallArguments,
    install, uninstall,
};
use serde_json::Value;
use tempfile::TempDir;

pub(crate) const TOKEN: &str = "a-token-of-24-characters";
pub(crate) const PROGRAM: &str = "/opt/mcp-web/bin/mcp-web";

/// A home folder with its environment.
pub(crate) struct TestHome {
    folder: TempDir,
    pub(crate) environment: Environment,
}

/// A person at a terminal, or a script without one.
#[derive(Default)]
pub(crate) struct Script {
    pub(crate) output: String,
    pub(crate) questions: Vec<String>,
    pub(crate) is_terminal: bool,
    pub(crate) answer: bool,
    pub(crate) secret: String,
    pub(crate) input: String,
}

impl Console for Script {
    fn print(&mut self, text: &str) -> io::Result<()> {
        self.output += text;
        self.output.push('\n');
        Ok(())
    }

    fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    fn confirm(&mut self, question: &str) -> io::Result<bool> {
        self.questions.push(question.to_owned());
        Ok(self.answer)
    }

    fn ask_secret(&mut self, question: &str) -> io::Result<String> {
        self.questions.push(question.to_owned());
        Ok(self.secret.clone())
    }

    fn input(&mut self) -> io::Result<String> {
        Ok(self.input.clone())
    }
}

impl Script {
    /// A person who agrees, and has the token.
    pub(crate) fn person() -> Self {
        Self {
            is_terminal: true,
            answer: true,
            secret: TOKEN.to_owned(),
            ..Self::default()
        }
    }
}

impl TestHome {
    pub(crate) fn new() -> Self {
        Self::on(System::Linux)
    }

    pub(crate) fn on(system: System) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        let project = folder.path().join("project");
        for folder in [&home, &project] {
            std::fs::create_dir(folder).unwrap();
        }
        let program = match system {
            System::Windows => r"C:\Program Files\mcp-web\mcp-web.exe",
            _ => PROGRAM,
        };
        let environment = Environment {
            system,
            home,
            project,
            program: PathBuf::from(program),
            variables: BTreeMap::from([("AUTH_TOKEN".to_owned(), TOKEN.to_owned())]),
        };
        Self {
            folder,
            environment,
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.environment.home.join(path)
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub(crate) fn json(&self, path: &str) -> Value {
        let value = bridge_shared_files::jsonc::parse(&self.read(path));
        value.unwrap().unwrap_or_default()
    }

    pub(crate) fn set(&mut self, variable: &str, value: &str) {
        let variables = &mut self.environment.variables;
        variables.insert(variable.to_owned(), value.to_owned());
    }

    /// Installs the entry of a client without a terminal. Returns whether it is there, and the output.
    pub(crate) fn install(&self, client: &str) -> (bool, String) {
        self.install_with(&arguments(&[client]))
    }

    pub(crate) fn install_with(&self, arguments: &InstallArguments) -> (bool, String) {
        let mut script = Script::default();
        let is_fine = install(arguments, &self.environment, &mut script).unwrap();
        (is_fine, script.output)
    }

    /// Returns why nothing was done.
    pub(crate) fn install_error(&self, arguments: &InstallArguments) -> InstallError {
        let mut script = Script::default();
        install(arguments, &self.environment, &mut script).unwrap_err()
    }

    pub(crate) fn uninstall(&self, client: &str) -> (bool, String) {
        self.uninstall_with(&UninstallArguments {
            selection: selection(&[client]),
            ..UninstallArguments::default()
        })
    }

    pub(crate) fn uninstall_with(&self, arguments: &UninstallArguments) -> (bool, String) {
        let mut script = Script::default();
        let is_fine = uninstall(arguments, &self.environment, &mut script).unwrap();
        (is_fine, script.output)
    }

    /// Returns the paths of all files below the home folder.
    pub(crate) fn files(&self) -> Vec<String> {
        files_below(&self.environment.home)
    }
}

/// Returns the paths of all files below a folder.
pub(crate) fn files_below(root: &Path) -> Vec<String> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push(path.strip_prefix(root).unwrap().display().to_string());
            }
        }
    }
    files.sort();
    files
}

pub(crate) fn selection(clients: &[&str]) -> Selection {
    Selection {
        clients: clients.iter().map(|&client| client.to_owned()).collect(),
        url: "http://127.0.0.1:3001/mcp".to_owned(),
        ..Selection::default()
    }
}

pub(crate) fn arguments(clients: &[&str]) -> InstallArguments {
    InstallArguments {
        selection: selection(clients),
        name: "mcp-web".to_owned(),
        ..InstallArguments::default()
    }
}

//! The checks of the entries in AI clients.

use std::collections::HashSet;
use std::path::Path;

use client_install::{
    Client, ClientStatus, Environment, InstallScope, InstalledServer, client_statuses,
};
use client_stdio::{Config, DEFAULT_URL};

use super::entry_program::{EntryProgram, ProgramProblem};
use super::finding::Finding;
use super::version::{OWN_VERSION, fits};

/// Checks the entries of all clients. Returns the findings, and the clients that have an entry.
pub(super) async fn check(
    environment: &Environment,
    config: &Config,
    token: Option<&str>,
) -> (Vec<Finding>, Vec<&'static Client>) {
    let (mut findings, mut clients) = (Vec::new(), Vec::<&'static Client>::new());
    let mut paths = HashSet::new();
    let scopes = [InstallScope::User, InstallScope::Project];
    let statuses = scopes.into_iter().flat_map(|scope| {
        let statuses = client_statuses(environment, scope, config.url.as_str());
        statuses.into_iter().map(move |it| (scope, it))
    });
    for (scope, status) in statuses {
        let ClientStatus {
            client,
            path,
            entries,
        } = status;
        // In the home folder, the file of the project may be that of the user.
        if !paths.insert(path.clone()) {
            continue;
        }
        let entries = match entries {
            Ok(entries) => entries,
            Err(error) => {
                findings.push(unreadable(client, &path, &error));
                continue;
            }
        };
        for (name, server) in entries {
            let check = EntryCheck {
                client,
                subject: format!("{}, entry `{name}`", client.name),
                scope,
                url: config.url.as_str(),
            };
            findings.extend(check.run(&server, token).await);
            if !clients.iter().any(|other| other.id == client.id) {
                clients.push(client);
            }
        }
    }
    if findings.is_empty() {
        let text = "no AI client has an entry: `mcp-web install` adds one";
        findings.push(Finding::ok("clients", text));
    }
    (findings, clients)
}

fn unreadable(client: &Client, path: &Path, error: &str) -> Finding {
    let path = path.display().to_string();
    // Some errors begin with the path.
    let error = error
        .strip_prefix(&path)
        .map_or(error, |rest| rest.trim_start_matches([':', ' ']));
    let text = format!("{path} cannot be read: {error}");
    let remedy = format!("correct the file, and run `mcp-web install {}`", client.id);
    Finding::problem(client.name, text, remedy)
}

/// The check of one entry.
struct EntryCheck<'a> {
    client: &'a Client,
    subject: String,
    scope: InstallScope,
    /// The address of the bridge.
    url: &'a str,
}

impl EntryCheck<'_> {
    async fn run(&self, server: &InstalledServer, token: Option<&str>) -> Vec<Finding> {
        let mut findings = Vec::new();
        match &server.command {
            None => {}
            // A client asks before it starts what the files of a project name.
            Some((program, _)) if self.scope == InstallScope::Project => {
                let program = program.display();
                findings
                    .push(self.ok(format!("{program} was not run, since the project names it")));
            }
            Some((program, arguments)) => {
                findings.push(self.check_program(program, arguments).await);
            }
        }
        // The text of the entry may have a token.
        match Config::endpoint(server.url.as_deref().unwrap_or(DEFAULT_URL)) {
            Ok(url) if is_same_address(url.as_str(), self.url) => {
                findings.push(self.ok(format!("it has the address {url}")));
            }
            Ok(url) => {
                let text = format!("it has the address {url}, and not {}", self.url);
                findings
                    .push(self.problem(text, "with --url, or diagnose that address with --url"));
            }
            Err(_) => findings.push(self.problem("its address is not one of a bridge", "again")),
        }
        match (&server.token, token) {
            (Some(own), Some(token)) if own.expose() != token => {
                let text = "its token is another one than the given one";
                findings.push(self.problem(text, "with the token of the page"));
            }
            (Some(_), Some(_)) => findings.push(self.ok("it has the same token")),
            (Some(_), None) => {}
            (None, _) => findings.push(self.ok("it has no fixed token")),
        }
        findings
    }

    async fn check_program(&self, program: &Path, arguments: &[String]) -> Finding {
        let shown = program.display();
        let program = EntryProgram::new(program, arguments);
        match program.version().await {
            Ok(version) if fits(&version, OWN_VERSION) => {
                self.ok(format!("{shown} is version {version}"))
            }
            Ok(version) => {
                let text = format!("{shown} is version {version}, and this program {OWN_VERSION}");
                self.problem(text, "from the version that you want to use")
            }
            Err(ProgramProblem::Missing) => {
                self.problem(format!("its program {shown} does not exist"), "from the program that you have now")
            }
            Err(ProgramProblem::NoRunner) => self.problem(
                format!("it starts {shown}, which needs Node.js or a program that is not in the search path"),
                "from an installed program, which needs no other, or install Node.js",
            ),
            Err(ProgramProblem::NotInCache) => self.problem(
                format!("it starts {shown}, whose cache does not have the package, so that it needs the network"),
                "from an installed program, or run the command of the entry once by hand",
            ),
            Err(ProgramProblem::Failed(reason)) => {
                self.problem(format!("its program {shown} does not run: {reason}"), "from a program that runs here")
            }
        }
    }

    fn ok(&self, text: impl Into<String>) -> Finding {
        Finding::ok(&self.subject, text)
    }

    /// Returns a problem that another installation solves, in the way that is added.
    fn problem(&self, text: impl Into<String>, how: &str) -> Finding {
        let remedy = format!("run `mcp-web install {}` {how}", self.client.id);
        Finding::problem(&self.subject, text, remedy)
    }
}

/// Whether two endpoints are the same one.
fn is_same_address(one: &str, other: &str) -> bool {
    let normalized = |url: &str| {
        let url = url.trim_end_matches('/');
        url.replace("//localhost", "//127.0.0.1")
    };
    normalized(one) == normalized(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_the_same_bridge_are_recognized() {
        let expected = "http://127.0.0.1:3001/mcp";
        for same in ["http://localhost:3001/mcp/", expected] {
            assert!(is_same_address(same, expected), "{same}");
        }
        for other in [
            "http://127.0.0.1:3002/mcp",
            "https://127.0.0.1:3001/mcp",
            "",
        ] {
            assert!(!is_same_address(other, expected), "{other}");
        }
    }
}

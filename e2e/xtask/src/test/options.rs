//! The command-line options of `cargo xtask test`, and the tests that they select.

use std::path::Path;

use clap::{Args, ValueEnum};

use super::build::TestProgram;

/// The tests to run.
#[derive(Debug, Default, Args)]
pub struct Options {
    /// Run only tests whose names contain this, and no lints
    filter: Option<String>,
    /// Run only this suite; may be given several times
    #[arg(long, value_name = "SUITE")]
    only: Vec<Suite>,
    /// Run the checks that find most mistakes within three minutes: lints, unit tests, and a journey of each
    /// feature
    #[arg(long, conflicts_with_all = ["filter", "only"])]
    quick: bool,
    /// Run also tests of which nothing has changed since they passed
    #[arg(long)]
    again: bool,
    /// Run only the tests of native windows, which need Slint and which a run without this leaves
    /// out; also their formatting and clippy
    #[arg(long, conflicts_with_all = ["only", "quick"])]
    native_window: bool,
    /// Run only the tests of the packages of a release, which a run without this leaves out: npm, install.sh,
    /// wheel, deb with systemd, image under runc, bundle and plugin. They need root on Debian, for containers.
    /// Not tested, because no machine of the project can: publishing, signatures, Claude Desktop, docker, podman
    /// and skopeo, lintian
    #[arg(long, conflicts_with_all = ["only", "quick", "native_window"])]
    packages: bool,
    /// Run only the checks and tests of programs for other systems, which a run without this leaves out: they
    /// compile for Windows and macOS; the static one serves the demo in an empty root; the one for arm64 answers
    /// under qemu, and `mcp-web-stdio.exe` under Wine. They need root on Debian. Not tested, because no machine
    /// of the project can: macOS and Windows themselves
    #[arg(long, conflicts_with_all = ["only", "quick", "native_window", "packages"])]
    cross: bool,
}

/// A group of checks or tests that can be run alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Suite {
    /// Formatting, clippy, which file imports which, what the SDK reads of pages, the names in
    /// ARCHITECTURE.md, and the English of comments and documents
    Lint,
    /// Tests of the Rust crates, with the examples in their documentation
    Rust,
    /// Tests of the SDK, compiled to wasm, in headless Chromium
    Wasm,
    /// Journeys through the whole system in a real browser
    Journeys,
    /// Third-party MCP clients, against a page in a real browser
    Clients,
    /// Further MCP clients, which `cargo xtask clients` runs and a run without this leaves out
    FurtherClients,
    /// The npm package in projects of bundlers, in a real browser
    Bundlers,
    /// Journeys of windows of Slint, which `--native-window` selects
    #[value(skip)]
    NativeWindow,
    /// The packages of a release, which `--packages` selects
    #[value(skip)]
    Packages,
    /// Programs for other systems, which `--cross` selects
    #[value(skip)]
    Cross,
}

impl Suite {
    /// Returns the suite that a test program belongs to.
    pub(super) fn from_program(program: &TestProgram) -> Self {
        if program.crate_folder == Path::new("e2e/xtask") && program.target == "packages" {
            Self::Packages
        } else if program.crate_folder != Path::new("e2e") {
            Self::Rust
        } else if program.target == "clients" {
            Self::Clients
        } else if program.target == "further_clients" {
            Self::FurtherClients
        } else if program.target == "bundlers" {
            Self::Bundlers
        } else if program.target == "native_window" {
            Self::NativeWindow
        } else {
            Self::Journeys
        }
    }
}

impl Options {
    /// Selects whole suites.
    pub(super) fn for_suites(suites: &[Suite]) -> Self {
        Self {
            only: suites.to_vec(),
            ..Self::default()
        }
    }

    /// Returns the text that names of tests must contain.
    pub(super) fn filter(&self) -> Option<&str> {
        self.filter.as_deref()
    }

    /// Returns whether only the quick tests are selected.
    pub(super) fn is_quick(&self) -> bool {
        self.quick
    }

    /// Returns whether results of earlier runs are not used.
    pub(super) fn runs_all_again(&self) -> bool {
        self.again
    }

    /// Returns the suite that is run alone, if its flag is given.
    fn separate_suite(&self) -> Option<Suite> {
        if self.packages {
            return Some(Suite::Packages);
        }
        if self.cross {
            return Some(Suite::Cross);
        }
        self.native_window.then_some(Suite::NativeWindow)
    }

    /// Returns whether a suite is selected.
    pub(super) fn includes(&self, suite: Suite) -> bool {
        let separate = self.separate_suite();
        if separate.is_some()
            || matches!(suite, Suite::Packages | Suite::NativeWindow | Suite::Cross)
        {
            return separate == Some(suite);
        }
        if self.quick {
            return matches!(suite, Suite::Lint | Suite::Rust | Suite::Journeys);
        }
        if self.only.is_empty() {
            return match suite {
                Suite::Lint => self.filter.is_none(),
                Suite::FurtherClients => false,
                _ => true,
            };
        }
        self.only.contains(&suite)
    }

    /// Returns whether any suite is selected besides the lints.
    pub(super) fn includes_tests(&self) -> bool {
        let suites = [
            Suite::Rust,
            Suite::Wasm,
            Suite::Journeys,
            Suite::Clients,
            Suite::FurtherClients,
            Suite::Bundlers,
        ];
        suites.iter().any(|suite| self.includes(*suite))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_programs_belong_to_the_suite_of_their_crate() {
        let suite = |crate_folder: &str, target: &str| {
            Suite::from_program(&TestProgram {
                crate_folder: crate_folder.into(),
                target: target.into(),
                has_unit_tests: false,
                executable: "test".into(),
            })
        };
        assert_eq!(suite("e2e", "clients"), Suite::Clients);
        assert_eq!(suite("e2e", "further_clients"), Suite::FurtherClients);
        assert_eq!(suite("e2e", "journeys"), Suite::Journeys);
        assert_eq!(suite("e2e", "native_window"), Suite::NativeWindow);
        assert_eq!(suite("bridge", "clients"), Suite::Rust);
        assert_eq!(suite("e2e/xtask", "checks"), Suite::Rust);
        assert_eq!(suite("e2e/xtask", "packages"), Suite::Packages);
        assert_eq!(suite("e2e/fuzz", "fuzz"), Suite::Rust);
    }

    #[test]
    fn a_filter_excludes_the_lints_unless_they_are_selected() {
        let mut options = Options {
            filter: Some("realm".to_owned()),
            ..Options::default()
        };
        assert!(!options.includes(Suite::Lint) && options.includes(Suite::Rust));
        options.only.push(Suite::Lint);
        assert!(options.includes(Suite::Lint) && !options.includes_tests());
    }

    #[test]
    fn further_clients_run_only_when_they_are_selected() {
        assert!(!Options::default().includes(Suite::FurtherClients));
        let options = Options::for_suites(&[Suite::FurtherClients]);
        assert!(options.includes(Suite::FurtherClients) && options.includes_tests());
        assert!(!options.includes(Suite::Clients));
    }

    #[test]
    fn separate_steps_run_alone() {
        let packages: fn(&mut Options) = |it| it.packages = true;
        for (suite, select) in [
            (Suite::Packages, packages),
            (Suite::Cross, |it| it.cross = true),
            (Suite::NativeWindow, |it| it.native_window = true),
        ] {
            let mut options = Options::default();
            assert!(options.includes(Suite::Journeys) && !options.includes(suite));
            select(&mut options);
            assert!(options.includes(suite) && !options.includes_tests());
            for other in [Suite::Lint, Suite::Rust, Suite::Journeys] {
                assert!(!options.includes(other), "{suite:?}: {other:?}");
            }
        }
    }
}

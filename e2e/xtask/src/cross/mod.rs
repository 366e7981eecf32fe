//! `cargo xtask cross`: programs for other systems, as far as this machine can make them.
//!
//! Every target needs a standard library ([`toolchain`](crate::toolchain)), and most crates with C code need
//! a compiler of C for it: `zig` is one for all. It also links, but not for macOS, whose frameworks only Apple
//! distributes.

mod zig;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use clap::Args;

use crate::process::run as run_command;
use crate::release::{check_program, replace_source_paths};
use crate::step::{Outcome, step};
use crate::toolchain::{self, TargetRustc};
use crate::{Workspace, apt, folder, sdk};
use zig::Zig;

/// The systems for which both programs must compile.
const CHECKED: [&str; 2] = ["x86_64-pc-windows-gnu", "aarch64-apple-darwin"];
/// The systems whose programs a release has, and this machine can link.
const STATIC: [&str; 2] = ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"];
/// The packages with the two programs.
const PACKAGES: [(&str, &str); 2] = [
    ("mcp-web-cli", "mcp-web"),
    ("client-stdio", "mcp-web-stdio"),
];

/// The work for other systems.
#[derive(Debug, Args)]
pub struct Options {
    /// Only check that both programs compile for Windows and macOS without warnings
    #[arg(long)]
    check: bool,
}

/// Checks the programs, or builds those of a release for Linux with musl.
///
/// # Errors
///
/// Returns an error if a program does not compile, or compiles with warnings.
pub fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    sdk::ensure(workspace)?;
    let builder = CrossBuilder::ensure(workspace)?;
    if options.check {
        return builder.check();
    }
    for target in STATIC {
        for (package, program) in PACKAGES {
            builder.build(target, package, program, "dist")?;
        }
    }
    println!("{}", builder.programs("dist").display());
    Ok(())
}

/// Compiles for other systems.
pub(crate) struct CrossBuilder<'a> {
    workspace: &'a Workspace,
    zig: Zig,
}

impl<'a> CrossBuilder<'a> {
    pub(crate) fn ensure(workspace: &'a Workspace) -> Result<Self> {
        // The compiler calls it for each library of Windows.
        apt::ensure_packages("dlltool", &["binutils-mingw-w64-x86-64"])?;
        apt::ensure_program("make")?;
        let zig = Zig::ensure(workspace)?;
        Ok(Self { workspace, zig })
    }

    /// Checks that both programs compile without warnings.
    pub(crate) fn check(&self) -> Result<()> {
        // For macOS, it needs a header of Apple. A check links nothing, so that an empty file takes its place.
        let jemalloc = self.workspace.path("target/cross/libjemalloc.dylib");
        folder::create(&self.workspace.path("target/cross"))?;
        fs::write(&jemalloc, "")?;
        for target in CHECKED {
            let rustc = toolchain::ensure(target)?;
            let mut check = self.command("check", target, &rustc);
            for (package, _) in PACKAGES {
                check.args(["--package", package]);
            }
            check
                .args(["--bins", "--locked"])
                .env("RUSTFLAGS", "--deny=warnings")
                .env("AARCH64_APPLE_DARWIN_JEMALLOC_OVERRIDE", &jemalloc);
            step(&format!("checking the programs for {target}"), || {
                run_command(&mut check, "fix the errors and warnings above")?;
                Ok(Outcome::Done(()))
            })?;
        }
        Ok(())
    }

    /// Builds a program, and returns its path in [`Self::programs`].
    pub(crate) fn build(
        &self,
        target: &str,
        package: &str,
        program: &str,
        profile: &str,
    ) -> Result<PathBuf> {
        let rustc = toolchain::ensure(target)?;
        let mut build = self.command("rustc", target, &rustc);
        build
            .args(["--package", package, "--bin", program])
            .args(["--profile", profile, "--locked"])
            .env_remove("RUSTFLAGS");
        replace_source_paths(self.workspace, &mut build)?;
        let mut suffix = "";
        if target.contains("windows") {
            suffix = ".exe";
            build.args(["--", "-L"]).arg(self.empty_libraries()?);
        }
        let name = format!("{program}{suffix}");
        let folder = if profile == "dev" { "debug" } else { profile };
        let built = rustc.target_folder(self.workspace).join(target);
        let built = built.join(folder).join(&name);
        step(&format!("building {program} for {target}"), || {
            run_command(&mut build, "fix the errors above")?;
            let content =
                fs::read(&built).with_context(|| format!("{} is missing", built.display()))?;
            check_program(target, &content)?;
            let home = self.programs(profile).join(target);
            folder::create(&home)?;
            fs::copy(&built, home.join(&name))?;
            Ok(Outcome::Done(home.join(&name)))
        })
    }

    /// Returns a folder with the libraries of GCC that Debian's compiler names for Windows, and zig lacks: nothing
    /// needs their content.
    fn empty_libraries(&self) -> Result<PathBuf> {
        let home = self.workspace.path("target/cross/libraries");
        folder::create(&home)?;
        for name in ["libssp.a", "libssp_nonshared.a"] {
            fs::write(home.join(name), "!<arch>\n")?;
        }
        Ok(home)
    }

    /// Builds the library of Windows that Wine 8 lacks, and returns its path.
    pub(crate) fn windows_library(&self) -> Result<PathBuf> {
        let source = self.workspace.path("e2e/cross/bcryptprimitives.c");
        let library = self.workspace.path("target/cross/bcryptprimitives.dll");
        let mut compile = self.zig.compiler("x86_64-windows-gnu");
        compile.args(["-shared", "-O2", "-s", "-o"]).arg(&library);
        compile.arg(source).arg("-ladvapi32");
        run_command(&mut compile, "fix the errors above")?;
        Ok(library)
    }

    /// Returns the folder of the programs of a profile, as `cargo xtask release --programs` takes it.
    pub(crate) fn programs(&self, profile: &str) -> PathBuf {
        self.workspace.path("target/cross/programs").join(profile)
    }

    fn command(&self, subcommand: &str, target: &str, rustc: &TargetRustc) -> Command {
        let mut command = self.zig.cargo(self.workspace, subcommand);
        command.args(["--target", target]);
        rustc.apply(self.workspace, &mut command);
        command
    }
}

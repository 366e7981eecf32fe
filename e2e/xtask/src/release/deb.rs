//! The package for Debian and its relatives: the program, and the bridge as a service that is neither
//! enabled nor started.

use std::fs;
use std::time::{Duration, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use httpdate::fmt_http_date;

use super::licences::ProductTexts;
use super::machine;
use super::pack;
use super::packed_file::PackedFile;
use super::product::{NAME, VERSION, fill};
use super::programs::Programs;
use super::release_folder::ReleaseFolder;
use crate::Workspace;

const CONTROL: &str = include_str!("templates/deb/control");
const CONFIG: &str = include_str!("templates/deb/bridge.toml");
/// The scripts that dpkg runs as root.
const SCRIPTS: [(&str, &str); 3] = [
    ("postinst", include_str!("templates/deb/postinst")),
    ("prerm", include_str!("templates/deb/prerm")),
    ("postrm", include_str!("templates/deb/postrm")),
];
/// The unit of the guide, which starts a program that was copied by hand.
const UNIT: &str = "docs/deploy/mcp-web-bridge.service";
/// The packages with `groupadd`, for the scripts, and `kill`, for the unit.
const TOOLS: &str = "passwd, procps";
/// Where the settings are: dpkg keeps what has been changed there.
const CONFIG_PATH: &str = "etc/mcp-web/bridge.toml";

/// Writes the package of each architecture that Debian has.
pub(super) fn write(
    workspace: &Workspace,
    release: &mut ReleaseFolder,
    programs: &[Programs],
    texts: &ProductTexts,
    completions: &[PackedFile],
) -> Result<()> {
    let unit = workspace.path(UNIT);
    let unit = fs::read_to_string(&unit).with_context(|| format!("restore {}", unit.display()))?;
    let unit = packaged_unit(&unit)?;
    for one in programs {
        let Some(architecture) = one.target.deb else {
            continue;
        };
        let data = data_files(one, &unit, texts, completions, release.time())?;
        let control = control_files(one, architecture, &data)?;
        let package = package(&control, &data, release.time())?;
        let path = format!("deb/{NAME}_{VERSION}-1_{architecture}.deb");
        release.write(&path, package)?;
    }
    Ok(())
}

fn package(control: &[PackedFile], data: &[PackedFile], time: u64) -> Result<Vec<u8>> {
    let members = [
        PackedFile::text("debian-binary", "2.0\n"),
        PackedFile::text("control.tar.gz", pack::tar_gz(control, time)?),
        PackedFile::text("data.tar.gz", pack::tar_gz(data, time)?),
    ];
    Ok(pack::ar(&members, time))
}

/// Returns the unit with the paths of a package. Its first line is the path of a file that was written
/// by hand.
fn packaged_unit(text: &str) -> Result<String> {
    let (path, rest) = text.split_once('\n').unwrap_or_default();
    let unit = rest.replace("/usr/local/bin/", "/usr/bin/");
    let start = format!("ExecStart=/usr/bin/{NAME} bridge --config /{CONFIG_PATH}\n");
    if !path.starts_with("# /etc/") || !unit.contains(&start) {
        bail!(
            "{UNIT} must begin with its path, and start `{}`",
            start.trim()
        );
    }
    // It would restart again and again with a wrong file: the bridge checks the file itself.
    if unit.contains("ExecStartPre") {
        bail!("{UNIT} must not have ExecStartPre");
    }
    Ok(unit)
}

fn data_files(
    programs: &Programs,
    unit: &str,
    texts: &ProductTexts,
    completions: &[PackedFile],
    time: u64,
) -> Result<Vec<PackedFile>> {
    let documents = format!("usr/share/doc/{NAME}");
    let date = fmt_http_date(UNIX_EPOCH + Duration::from_secs(time)).replace("GMT", "+0000");
    let changelog = fill(include_str!("templates/deb/changelog")).replace("@DATE@", &date);
    let mut files = vec![
        PackedFile::program(format!("usr/bin/{NAME}"), &programs.main),
        PackedFile::text(
            format!("usr/lib/systemd/system/{NAME}-bridge.service"),
            unit,
        ),
        PackedFile {
            mode: 0o640,
            ..PackedFile::text(CONFIG_PATH, CONFIG)
        },
        PackedFile::text(
            format!("{documents}/changelog.Debian.gz"),
            pack::gzip(changelog.as_bytes())?,
        ),
        PackedFile::text(
            format!("{documents}/copyright"),
            fill(include_str!("templates/deb/copyright")),
        ),
    ];
    let texts = texts.files().into_iter();
    files.extend(texts.map(|file| file.below(&documents)));
    files.extend(completions.iter().filter_map(|file| {
        let path = match file.path.as_str() {
            "mcp-web.bash" => format!("usr/share/bash-completion/completions/{NAME}"),
            "mcp-web.fish" => format!("usr/share/fish/vendor_completions.d/{NAME}.fish"),
            "_mcp-web" => format!("usr/share/zsh/vendor-completions/_{NAME}"),
            _ => return None,
        };
        Some(PackedFile::text(path, &file.content))
    }));
    Ok(files)
}

fn control_files(
    programs: &Programs,
    architecture: &str,
    data: &[PackedFile],
) -> Result<Vec<PackedFile>> {
    let size: usize = data.iter().map(|file| file.content.len()).sum();
    let depends = if programs.target.is_glibc() {
        let minor = machine::glibc_minor_version(&programs.main)?;
        format!("libc6 (>= 2.{minor}), libgcc-s1, {TOOLS}")
    } else {
        TOOLS.to_owned()
    };
    let control = fill(CONTROL)
        .replace("@ARCHITECTURE@", architecture)
        .replace("@SIZE@", &size.div_ceil(1024).to_string())
        .replace("@DEPENDS@", &depends);
    let mut files = vec![
        PackedFile::text("control", control),
        PackedFile::text("conffiles", format!("/{CONFIG_PATH}\n")),
    ];
    let scripts = SCRIPTS.iter();
    files.extend(scripts.map(|(name, text)| PackedFile::program(*name, &text.as_bytes().into())));
    Ok(files)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use super::*;
    use crate::release::targets::find;

    const UNIT_TEXT: &str = "# /etc/systemd/system/mcp-web-bridge.service\n[Service]\n\
        ExecStart=/usr/local/bin/mcp-web bridge --config /etc/mcp-web/bridge.toml\n";

    fn write_package(folder: &Path) -> std::path::PathBuf {
        let programs = Programs {
            target: find("x86_64-unknown-linux-musl").unwrap(),
            main: b"program"[..].into(),
            stdio: b""[..].into(),
        };
        let completions = [PackedFile::text("mcp-web.bash", "complete")];
        let unit = packaged_unit(UNIT_TEXT).unwrap();
        let texts = ProductTexts::for_tests();
        let data = data_files(&programs, &unit, &texts, &completions, 86_400).unwrap();
        let control = control_files(&programs, "amd64", &data).unwrap();
        let bytes = package(&control, &data, 86_400).unwrap();
        assert_eq!(bytes, package(&control, &data, 86_400).unwrap());
        let path = folder.join("package.deb");
        fs::write(&path, bytes).unwrap();
        path
    }

    fn dpkg_deb(argument: &str, package: &Path) -> String {
        let mut command = Command::new("dpkg-deb");
        let command = command.arg(argument).arg(package).env("TZ", "UTC");
        let output = command.output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{error}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    #[test]
    fn dpkg_reads_the_package() {
        let folder = tempfile::tempdir().unwrap();
        let package = write_package(folder.path());
        let information = dpkg_deb("--info", &package);
        for line in [
            " Package: mcp-web\n",
            " Architecture: amd64\n",
            " Depends: passwd, procps\n",
            " Installed-Size: 1\n",
        ] {
            assert!(information.contains(line), "{information}");
        }
        assert!(information.contains(&format!(" Version: {VERSION}-1\n")));
        for script in ["postinst", "prerm", "postrm"] {
            assert!(
                information.contains(&format!("*  {script} ")),
                "{information}"
            );
        }
        let list = dpkg_deb("--contents", &package);
        for line in [
            "-rwxr-xr-x 0/0               7 1970-01-02 00:00 usr/bin/mcp-web",
            "-rw-r----- 0/0 ",
            " etc/mcp-web/bridge.toml",
            " usr/lib/systemd/system/mcp-web-bridge.service",
            " usr/share/bash-completion/completions/mcp-web",
            " usr/share/doc/mcp-web/THIRD-PARTY.txt",
            "drwxr-xr-x 0/0               0 1970-01-02 00:00 usr/bin/",
        ] {
            assert!(list.contains(line), "{line}\n{list}");
        }
    }

    #[test]
    fn a_unit_that_starts_something_else_is_refused() {
        let message = |text: &str| packaged_unit(text).unwrap_err().to_string();
        assert!(message("[Service]\n").contains("must begin with its path"));
        let other = UNIT_TEXT.replace(" bridge ", " agent ");
        assert!(message(&other).contains("ExecStart=/usr/bin/mcp-web bridge"));
        let checked = format!("{UNIT_TEXT}ExecStartPre=/bin/true\n");
        assert!(message(&checked).ends_with("must not have ExecStartPre"));
    }

    #[test]
    fn the_unit_of_the_guide_can_be_packaged() {
        let unit = fs::read_to_string(Workspace::here().path(UNIT)).unwrap();
        let unit = packaged_unit(&unit).unwrap();
        assert!(unit.starts_with("[Unit]\n") && !unit.contains("/usr/local"));
    }

    #[test]
    fn the_scripts_are_posix_shell() {
        for (name, text) in SCRIPTS {
            let mut dash = Command::new("dash");
            let output = dash.args(["-n", "-c", text]).output().unwrap();
            assert!(output.status.success(), "{name}: {output:?}");
        }
    }
}

//! The proxies of `docs/deploy`.

use std::env::consts::ARCH;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use e2e::{ProcessGroup, program_paths, with_deadline};
use tokio::process::Command;

use crate::deploy_file::{deploy_file, replaced};

/// A proxy with a file in `docs/deploy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProxyKind {
    Nginx,
    Caddy,
    Haproxy,
}

/// The values that replace the ports and the paths in the file of a proxy.
#[derive(Debug)]
pub(crate) struct ProxySetup<'a> {
    pub(crate) listen: SocketAddr,
    pub(crate) bridge: SocketAddr,
    /// The folder of the certificate and of everything that the proxy writes.
    pub(crate) folder: &'a Path,
}

impl ProxySetup<'_> {
    /// Returns the site of an identity provider at this address, for the folder `conf.d` of nginx.
    pub(crate) fn provider_site(&self, provider: SocketAddr) -> String {
        replaced(
            &deploy_file("oidc-provider.nginx.conf"),
            &[
                ("127.0.0.1:3002", &provider.to_string()),
                ("/etc/mcp-web/", &format!("{}/", self.folder.display())),
                ("  listen [::]:443 ssl http2;\n", ""),
                ("listen 443 ", &format!("listen {} ", self.listen)),
            ],
        )
    }
}

/// The ways in which a proxy uses its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Check,
    Run,
}

impl ProxyKind {
    /// The name of the file, and the path of the program in Debian's package.
    fn paths(self) -> [&'static str; 2] {
        match self {
            Self::Nginx => ["nginx.conf", "usr/sbin/nginx"],
            Self::Caddy => ["Caddyfile", "usr/bin/caddy"],
            Self::Haproxy => ["haproxy.cfg", "usr/sbin/haproxy"],
        }
    }

    /// Starts the proxy with its file, in which these further patterns are replaced.
    pub(crate) async fn start(
        self,
        setup: &ProxySetup<'_>,
        changes: &[(&str, &str)],
    ) -> ProcessGroup {
        let [name, _] = self.paths();
        let file = setup.folder.join(name);
        let text = replaced(&self.adapted(setup, &deploy_file(name)), changes);
        fs::write(&file, text).unwrap();
        let check = self.command(setup.folder, &file, Action::Check).output();
        let checked = with_deadline(format!("{name} to be checked"), check).await;
        let checked = checked.unwrap();
        let errors = String::from_utf8_lossy(&checked.stderr);
        assert!(checked.status.success(), "{name}: {errors}");
        ProcessGroup::start(name, self.command(setup.folder, &file, Action::Run))
    }

    /// Replaces ports, paths and accounts.
    fn adapted(self, setup: &ProxySetup<'_>, text: &str) -> String {
        let [listen, bridge] = [setup.listen, setup.bridge].map(|it| it.to_string());
        let folder = setup.folder.display();
        let certificates = format!("{folder}/");
        let port_of_bridge = ("127.0.0.1:3001", bridge.as_str());
        match self {
            Self::Nginx => {
                let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
                    .map(|kind| format!("{kind}_temp_path {folder}/{kind};"))
                    .concat();
                replaced(
                    text,
                    &[
                        port_of_bridge,
                        ("pid /run/", &format!("pid {certificates}")),
                        ("/var/log/nginx/", &certificates),
                        ("/etc/nginx/conf.d/", &format!("{folder}/conf.d/")),
                        ("/etc/mcp-web/", &certificates),
                        ("    listen [::]:443 ssl http2;\n", ""),
                        ("listen 443 ", &format!("listen {listen} ")),
                        ("http {", &format!("http {{ {temporary}")),
                    ],
                )
            }
            Self::Caddy => {
                let [host, port] = [
                    setup.listen.ip().to_string(),
                    setup.listen.port().to_string(),
                ];
                let text = replaced(
                    text,
                    &[
                        port_of_bridge,
                        ("# tls /etc", "tls /etc"),
                        ("/etc/mcp-web/", &certificates),
                        (
                            "bridge.example.com {",
                            &format!("bridge.example.com:{port} {{\n\tbind {host}"),
                        ),
                    ],
                );
                // The ports 80 and 2019, and that of HTTP/3.
                format!(
                    "{{\n\tadmin off\n\tauto_https disable_redirects\n\tservers {{\n\t\tprotocols h1 h2\n\t}}\n}}\n{text}"
                )
            }
            Self::Haproxy => {
                let lines = text.lines().filter(|line| {
                    let line = line.trim_start();
                    !["user ", "group ", "chroot ", "bind :::443 "]
                        .iter()
                        .any(|start| line.starts_with(start))
                });
                let text: String = lines.flat_map(|line| [line, "\n"]).collect();
                replaced(
                    &text,
                    &[
                        port_of_bridge,
                        ("/etc/haproxy/", &certificates),
                        ("bind :443 ", &format!("bind {listen} ")),
                        // It needs more open files than some machines allow, and does not start then.
                        ("maxconn 20000 ", "maxconn 1000 "),
                    ],
                )
            }
        }
    }

    fn command(self, folder: &Path, file: &Path, action: Action) -> Command {
        let is_check = action == Action::Check;
        let mut command = Command::new(self.program());
        match self {
            Self::Nginx => {
                command.args(["-e", "stderr", "-p"]).arg(folder);
                command.arg("-c").arg(file);
                command.args(if is_check {
                    &["-t"][..]
                } else {
                    &["-g", "daemon off;"]
                });
            }
            Self::Caddy => {
                command.arg(if is_check { "validate" } else { "run" });
                command.args(["--adapter", "caddyfile", "--config"]);
                command.arg(file).env("HOME", folder);
            }
            Self::Haproxy => {
                command.arg(if is_check { "-c" } else { "-db" });
                command.arg("-f").arg(file);
            }
        }
        let libraries = ["lib", "usr/lib"].map(|parent| {
            let folder = unpacked().join(format!("{parent}/{ARCH}-linux-gnu"));
            folder.display().to_string()
        });
        command
            .env("LD_LIBRARY_PATH", libraries.join(":"))
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("XDG_DATA_HOME")
            .kill_on_drop(true);
        command
    }

    /// Returns the program that `cargo xtask test` has unpacked, or on a system without Debian's
    /// packages that of the `PATH`.
    fn program(self) -> PathBuf {
        let [_, path] = self.paths();
        let program = unpacked().join(path);
        if program.exists() {
            return program;
        }
        program.file_name().expect("it is a file").into()
    }
}

fn unpacked() -> PathBuf {
    program_paths::workspace().join("target/tools/proxies")
}

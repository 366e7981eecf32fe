//! The units, started by systemd with all their restrictions. This needs root, and
//! namespaces; without them, nothing is tested.

use std::fs;
use std::path::Path;
use std::process::Output;

use e2e::{ProcessGroup, poll_pause, program_paths, with_deadline};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, geteuid, kill_process, waitid};
use tempfile::TempDir;
use tokio::process::Command;

use crate::deploy_file::deploy_file;
use crate::deployment::{HOST, settings_with_tokens, user_token};

const BRIDGE: &str = "mcp-web-bridge.service";

/// The units in the order in which the guide starts them: a socket does not start after its service.
const UNITS: [&str; 3] = ["mcp-web-bridge.socket", BRIDGE, "mcp-web-agent.service"];

/// The targets that units refer to, without those of the system.
const TARGETS: [&str; 8] = [
    "basic",
    "final",
    "multi-user",
    "network-online",
    "shutdown",
    "sockets",
    "sysinit",
    "umount",
];

/// A systemd in its own namespaces. It ends when it is dropped.
struct BootedSystemd {
    script: BootScript,
    systemd: Pid,
    _folder: TempDir,
}

/// The script that boots systemd. Dropping it ends systemd with its services, and waits until the script
/// has removed the control group.
struct BootScript(ProcessGroup);

impl BootScript {
    fn systemd(&self) -> Option<Pid> {
        self.0.descendants("--unit=basic.target").pop()
    }
}

impl Drop for BootScript {
    fn drop(&mut self) {
        let script = Pid::from_raw(self.0.id().cast_signed());
        if let (Some(systemd), Some(script)) = (self.systemd(), script) {
            let _ = kill_process(systemd, Signal::KILL);
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            let _ = waitid(WaitId::Pid(script), options);
        }
    }
}

impl BootedSystemd {
    /// Boots systemd, and starts the units. `None` if that is not possible here.
    async fn start() -> Option<Self> {
        let can_unshare = Command::new("unshare").args(["--mount", "true"]).status();
        if !geteuid().is_root() || !can_unshare.await.is_ok_and(|status| status.success()) {
            eprintln!("systemd is not booted: that needs root, and namespaces");
            return None;
        }
        let folder = TempDir::with_prefix("mcp-web-units-").unwrap();
        write_files(folder.path());
        let mut boot = Command::new("unshare");
        boot.args(["--mount", "sh"])
            .arg(program_paths::workspace().join("e2e/deploy/boot-systemd.sh"))
            .arg(folder.path())
            .arg(program_paths::mcp_web().parent().unwrap());
        let script = BootScript(ProcessGroup::start("boot-systemd.sh", boot));
        let booted = async {
            loop {
                if let Some(systemd) = script.systemd()
                    && run_inside(systemd, "systemctl", &["is-active", "basic.target"])
                        .await
                        .status
                        .success()
                {
                    return systemd;
                }
                poll_pause().await;
            }
        };
        let systemd = with_deadline("systemd to boot", booted).await;
        let booted = Self {
            script,
            systemd,
            _folder: folder,
        };
        let mut start = vec!["start"];
        start.extend(UNITS);
        booted.run("systemctl", &start).await;
        Some(booted)
    }

    /// Runs a program, which must succeed, and returns what it prints.
    async fn run(&self, program: &str, arguments: &[&str]) -> String {
        let output = run_inside(self.systemd, program, arguments).await;
        let [stdout, stderr] =
            [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it).into_owned());
        let is_success = output.status.success();
        let log = self.script.0.log();
        assert!(is_success, "{program} {arguments:?}: {stdout}{stderr}{log}");
        stdout
    }

    /// Returns the status of a request by a user.
    async fn status_for(&self, user: usize) -> String {
        let [host, token] = [
            format!("Host: {HOST}"),
            format!("Authorization: Bearer {}", user_token(user)),
        ];
        let url = "http://127.0.0.1:3001/sessions";
        let arguments = [
            "--silent",
            "--show-error",
            "--output",
            "/dev/null",
            "--write-out",
            "%{http_code}",
            "--header",
            host.as_str(),
            "--header",
            token.as_str(),
            url,
        ];
        self.run("curl", &arguments).await
    }

    /// Returns properties of the service.
    async fn properties(&self, names: &str) -> String {
        let names = format!("--property={names}");
        let arguments = ["show", names.as_str(), BRIDGE];
        self.run("systemctl", &arguments).await
    }
}

/// Runs a program in the namespaces of a process.
async fn run_inside(process: Pid, program: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new("nsenter");
    command
        .args(["--all", "--target", &process.as_raw_nonzero().to_string()])
        .arg(program)
        .args(arguments)
        .kill_on_drop(true);
    let ended = with_deadline(format!("{program} {arguments:?}"), command.output()).await;
    ended.unwrap()
}

fn write_files(folder: &Path) {
    let units = folder.join("units");
    fs::create_dir(&units).unwrap();
    for name in UNITS {
        fs::write(units.join(name), deploy_file(name)).unwrap();
    }
    for target in TARGETS {
        let text = "[Unit]\nDefaultDependencies=no\n";
        fs::write(units.join(format!("{target}.target")), text).unwrap();
    }
    let settings = folder.join("mcp-web");
    fs::create_dir(&settings).unwrap();
    let tokens = Path::new("/etc/mcp-web/tokens");
    let text = settings_with_tokens(&deploy_file("bridge.toml"), tokens);
    fs::write(settings.join("bridge.toml"), text).unwrap();
    fs::write(settings.join("tokens"), user_token(0) + "\n").unwrap();
    let settings = folder.join("mcp-web-agent");
    fs::create_dir(&settings).unwrap();
    let text = "provider = \"commands\"\ntoken_file = \"/etc/mcp-web-agent/token\"\n\
        conversations_file = \"/var/lib/mcp-web-agent/conversations.sqlite\"\n";
    fs::write(settings.join("agent.toml"), text).unwrap();
    fs::write(settings.join("token"), "a-credential-of-a-bridge\n").unwrap();
}

#[tokio::test]
async fn systemd_starts_reloads_and_restarts_the_bridge() {
    let Some(systemd) = BootedSystemd::start().await else {
        return;
    };
    assert_eq!(systemd.status_for(0).await, "200");
    assert_eq!(systemd.status_for(1).await, "401");
    let agent = [
        "--silent",
        "--retry",
        "100",
        "--retry-connrefused",
        "--retry-delay",
        "1",
    ];
    let agent = [&agent[..], &["http://127.0.0.1:3003/healthz"]].concat();
    assert!(systemd.run("curl", &agent).await.contains("\"ok\""));

    let add = format!("echo {} >> /etc/mcp-web/tokens", user_token(1));
    systemd.run("sh", &["-c", &add]).await;
    systemd.run("systemctl", &["reload", BRIDGE]).await;
    let reloaded = async {
        while systemd.status_for(1).await != "200" {
            poll_pause().await;
        }
    };
    with_deadline("the new token to be accepted", reloaded).await;

    // Each request succeeds: systemd holds the port.
    {
        let restart = systemd.run("systemctl", &["restart", BRIDGE]);
        let mut restart = std::pin::pin!(restart);
        loop {
            tokio::select! {
                _ = &mut restart => break,
                status = systemd.status_for(0) => assert_eq!(status, "200"),
            }
        }
    }
    assert_eq!(systemd.status_for(0).await, "200");

    // Wrong settings are not tried again.
    let spoil = "echo 'max_calls = \"many\"' >> /etc/mcp-web/bridge.toml";
    systemd.run("sh", &["-c", spoil]).await;
    let restart = run_inside(systemd.systemd, "systemctl", &["restart", BRIDGE]).await;
    assert!(!restart.status.success());
    let properties = systemd.properties("ExecMainStatus,NRestarts").await;
    assert_eq!(properties, "NRestarts=0\nExecMainStatus=2\n");
}

//! A server of PostgreSQL for tests, from Debian's package `postgresql`. It ends with the process.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use rcgen::generate_simple_self_signed;
use rustls::pki_types::CertificateDer;
use tokio_postgres::{Client, Config, NoTls};

/// Clients without TLS send the password itself, because SCRAM is slow in a build for tests.
const AUTHENTICATION: &str = "local all all trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n\
    host all all 127.0.0.1/32 password\n";

/// Runs the server in its folder until the input ends, as it does when the process ends in any way,
/// and removes the folder.
const SCRIPT: &str = r#"
    "$0" "$@" &
    server=$!
    read -r _
    kill -QUIT $server
    wait $server
    cd / && rm -r "$FOLDER"
"#;

/// A running server.
#[derive(Debug)]
pub struct PostgresServer {
    folder: PathBuf,
    port: u16,
    certificate: CertificateDer<'static>,
    _input: ChildStdin,
}

impl PostgresServer {
    /// Starts a server with the superuser `admin`, on a free port of the loopback interface.
    pub fn start() -> Self {
        let folder = tempfile::tempdir().unwrap().keep();
        give_away(&folder);
        let mut init = as_user("initdb", &folder);
        init.args(["--pgdata=data", "--username=admin", "--auth=trust"]);
        init.args(["--no-locale", "--encoding=UTF8", "--no-sync"]);
        let output = init.output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        let certificate = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        for (name, content) in [
            ("pg_hba.conf", AUTHENTICATION),
            ("server.crt", &certificate.cert.pem()),
            ("server.key", &certificate.signing_key.serialize_pem()),
        ] {
            let path = folder.join("data").join(name);
            std::fs::write(&path, content).unwrap();
            give_away(&path);
        }
        // No other process takes it in between: the kernel hands out other ports first.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let mut command = as_user("sh", &folder);
        command
            .args(["-c", SCRIPT])
            .arg(programs().join("postgres"));
        command.args(["-D", "data", "-k", "..", "-h", "127.0.0.1"]);
        command.args(["-p", &port.to_string()]);
        for setting in ["ssl=on", "fsync=off", "shared_buffers=16MB"] {
            command.args(["-c", setting]);
        }
        command.env("FOLDER", &folder);
        command.stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().unwrap();
        wait_until_ready(&mut process);
        Self {
            folder,
            port,
            certificate: certificate.cert.der().clone(),
            _input: process.stdin.take().unwrap(),
        }
    }

    /// Connects to a database as the superuser.
    pub async fn admin(&self, database: &str) -> Client {
        let mut config = Config::new();
        config.host_path(&self.folder).port(self.port);
        config.user("admin").dbname(database);
        let (client, connection) = config.connect(NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    }

    /// Returns the URL of a database for a role.
    pub fn url(&self, role: &str, host: &str, database: &str) -> String {
        format!("postgres://{role}@{host}:{}/{database}", self.port)
    }

    /// Returns the port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the certificate, which is for `localhost`.
    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }
}

/// Returns the command of a program, as another user than root: the server refuses that one.
fn as_user(program: &str, folder: &Path) -> Command {
    let program = match program {
        "sh" => program.into(),
        program => programs().join(program),
    };
    let mut command = match other_user() {
        Some((user, group)) => {
            let mut command = Command::new("setpriv");
            command.args([format!("--reuid={user}"), format!("--regid={group}")]);
            command.arg("--clear-groups").arg(program);
            command
        }
        None => Command::new(program),
    };
    command.current_dir(folder);
    command
}

/// Returns the folder of the programs: the one that the environment names, or the newest of Debian.
fn programs() -> PathBuf {
    if let Some(path) = std::env::var_os("MCP_WEB_POSTGRES_BIN") {
        return path.into();
    }
    let versions = std::fs::read_dir("/usr/lib/postgresql");
    let versions = versions.into_iter().flatten();
    let versions = versions.map(|version| version.unwrap().path().join("bin"));
    let newest = versions.filter(|path| path.join("initdb").exists()).max();
    newest.expect(
        "install PostgreSQL with `cargo xtask test` or `apt-get install postgresql`, or set \
         MCP_WEB_POSTGRES_BIN to the folder of its programs",
    )
}

/// Returns the user and group `nobody` for tests that run as root.
fn other_user() -> Option<(u32, u32)> {
    let is_root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
    is_root.then_some((65534, 65534))
}

fn give_away(path: &Path) {
    if let Some((user, group)) = other_user() {
        chown(path, Some(user), Some(group)).unwrap();
    }
    let mode = if path.is_dir() { 0o700 } else { 0o600 };
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

fn wait_until_ready(process: &mut Child) {
    let log = BufReader::new(process.stderr.take().unwrap()).lines();
    let (sender, lines) = mpsc::channel();
    // It reads until the end, so that the server can write its log.
    std::thread::spawn(move || {
        for line in log.map_while(Result::ok) {
            let _ = sender.send(line);
        }
    });
    let mut seen = String::new();
    while !seen.contains("ready to accept connections") {
        let line = lines.recv_timeout(Duration::from_secs(60));
        seen += &line.unwrap_or_else(|error| panic!("the server does not start: {error}: {seen}"));
    }
}

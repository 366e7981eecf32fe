//! The processes that have a port of this machine open, from the tables of Linux. Other systems have commands
//! that show them.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

/// A process, as far as this user may see it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PortUser {
    id: u32,
    /// The name of its program.
    name: String,
}

impl fmt::Display for PortUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (process {})", self.name, self.id)
    }
}

impl PortUser {
    /// Whether it runs this program.
    pub(crate) fn is_ours(&self) -> bool {
        self.name.starts_with("mcp-web")
    }
}

/// A TCP socket in the table of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TcpSocket {
    local_port: u16,
    remote_port: u16,
    is_listening: bool,
    inode: u64,
}

/// Describes the processes that listen on a port. Returns `None` if this system does not show them.
pub(crate) fn port_users(port: u16) -> Option<String> {
    let users: Vec<_> = listeners(port)?.iter().map(ToString::to_string).collect();
    Some(if users.is_empty() {
        let command = command_for(port);
        format!("a process of another user or container ({command})")
    } else {
        users.join(", ")
    })
}

/// Returns the processes that listen on a port, or `None` if this system does not show them.
fn listeners(port: u16) -> Option<BTreeSet<PortUser>> {
    let sockets = sockets()?;
    let sockets = sockets.filter(|it| it.is_listening && it.local_port == port);
    Some(owners(&sockets.map(|it| it.inode).collect()))
}

/// Returns the ports on which processes of this program listen.
pub(crate) fn ports_of_program() -> BTreeSet<u16> {
    let ours = processes().filter(|(user, _)| user.is_ours());
    let ours: BTreeSet<_> = ours
        .flat_map(|(_, folder)| socket_inodes(&folder))
        .collect();
    let sockets = sockets().into_iter().flatten();
    let sockets = sockets.filter(|it| it.is_listening && ours.contains(&it.inode));
    sockets.map(|it| it.local_port).collect()
}

/// Returns the other programs of this user that are connected to a port.
pub(crate) fn connected_programs(port: u16) -> BTreeSet<PortUser> {
    let sockets = sockets().into_iter().flatten();
    let sockets = sockets.filter(|it| !it.is_listening && it.remote_port == port);
    let mut programs = owners(&sockets.map(|it| it.inode).collect());
    programs.retain(|it| !it.is_ours());
    programs
}

/// Returns the command that shows who has a port.
pub(crate) fn command_for(port: u16) -> String {
    match std::env::consts::OS {
        "windows" => {
            format!("`Get-NetTCPConnection -LocalPort {port}` in PowerShell shows its process")
        }
        "macos" => format!("`lsof -nP -iTCP:{port} -sTCP:LISTEN` shows its process"),
        _ => format!("`sudo ss -ltnp 'sport = :{port}'` shows its process"),
    }
}

fn sockets() -> Option<impl Iterator<Item = TcpSocket>> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(std::fs::read_to_string);
    let tables: Vec<_> = tables.into_iter().flatten().collect();
    let parse = |table: String| {
        let sockets = table.lines().filter_map(TcpSocket::parse);
        sockets.collect::<Vec<_>>()
    };
    (!tables.is_empty()).then(|| tables.into_iter().flat_map(parse))
}

impl TcpSocket {
    /// Parses a line of the table (proc_net_tcp in the documentation of the kernel).
    fn parse(line: &str) -> Option<Self> {
        let fields: Vec<_> = line.split_whitespace().collect();
        let [_, local, remote, state, _, _, _, _, _, inode, ..] = fields[..] else {
            return None;
        };
        let port = |address: &str| {
            let (_, port) = address.rsplit_once(':')?;
            u16::from_str_radix(port, 16).ok()
        };
        Some(Self {
            local_port: port(local)?,
            remote_port: port(remote)?,
            is_listening: state == "0A",
            inode: inode.parse().ok().filter(|inode| *inode != 0)?,
        })
    }
}

/// Finds the processes that have one of these sockets open.
fn owners(inodes: &BTreeSet<u64>) -> BTreeSet<PortUser> {
    let owners = processes()
        .filter(|(_, folder)| socket_inodes(folder).any(|inode| inodes.contains(&inode)));
    owners.map(|(user, _)| user).collect()
}

/// Returns the processes, each with its folder. Those of other users are not visible.
fn processes() -> impl Iterator<Item = (PortUser, PathBuf)> {
    let folders = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    folders.filter_map(|folder| {
        let id = folder.file_name().to_str()?.parse().ok()?;
        let name = program_name(&folder.path())?;
        Some((PortUser { id, name }, folder.path()))
    })
}

/// Returns the sockets that a process has open.
fn socket_inodes(process: &Path) -> impl Iterator<Item = u64> + use<> {
    let files = std::fs::read_dir(process.join("fd")).into_iter().flatten();
    files.flatten().filter_map(|file| {
        let target = std::fs::read_link(file.path()).ok()?;
        let inode = target.to_str()?.strip_prefix("socket:[")?;
        inode.strip_suffix(']')?.parse().ok()
    })
}

/// Returns the name of the program of a process, whose folder this is.
fn program_name(process: &Path) -> Option<String> {
    let program = std::fs::read_link(process.join("exe")).ok()?;
    let name = program.file_name()?.to_string_lossy().into_owned();
    Some(name.trim_end_matches(" (deleted)").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_the_system_is_parsed() {
        let line = "   0: 0100007F:0BB9 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000  \
                    0 12345 1 0000000000000000 100 0 0 10 0";
        let socket = TcpSocket {
            local_port: 3001,
            remote_port: 0,
            is_listening: true,
            inode: 12345,
        };
        assert_eq!(TcpSocket::parse(line), Some(socket));
        let title =
            "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid";
        assert_eq!(TcpSocket::parse(title), None);
        assert_eq!(TcpSocket::parse(""), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_is_found_by_its_port_and_by_its_connection() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let _connection = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
        let is_own = |users: BTreeSet<PortUser>| users.iter().any(|it| it.id == std::process::id());
        assert!(is_own(listeners(port).unwrap()));
        assert!(is_own(connected_programs(port)));
    }
}

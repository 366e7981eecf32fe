//! A network in which each server has its own host, so that hosts can be cut from each other.

use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsFd;
use std::process::{self, Command};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// The first bytes of all addresses. Other networks of this machine do not matter.
const SUBNET: [u8; 3] = [10, 77, 0];

/// The last byte of the address of the thread that creates the network.
const HOME: u8 = 254;

/// Hosts that are connected by a switch. Each is a network namespace of Linux.
///
/// The thread that creates the network is one of the hosts until the network is dropped: with its pages,
/// clients and balancers it reaches all the others. The namespaces have no names, and end with the
/// last process that uses them.
#[derive(Debug)]
pub struct Network {
    hosts: Vec<NetworkHost>,
    _home: EnteredNamespace,
}

/// A host of a [`Network`].
#[derive(Clone, Debug)]
pub struct NetworkHost {
    address: Ipv4Addr,
    namespace: Arc<File>,
}

/// The current thread is in another namespace until this is dropped.
#[derive(Debug)]
struct EnteredNamespace {
    previous: File,
    _is_of_this_thread: PhantomData<Rc<()>>,
}

impl Network {
    /// Creates a network with this many hosts.
    ///
    /// # Errors
    ///
    /// Says why this process cannot: it has no right to, or `ip` (iproute2) is not installed.
    pub fn create(hosts: u8) -> Result<Self, String> {
        let home = NamedNamespace::create()?;
        home.ip("link add switch type bridge")?;
        home.ip("link set switch up")?;
        home.ip(&format!("address add {}/24 dev switch", address(HOME)))?;
        let mut created = Vec::new();
        for host in 1..=hosts {
            let namespace = NamedNamespace::create()?;
            let name = &namespace.0;
            home.ip(&format!(
                "link add port{host} type veth peer name eth0 netns {name}"
            ))?;
            home.ip(&format!("link set port{host} master switch up"))?;
            namespace.ip(&format!("address add {}/24 dev eth0", address(host)))?;
            namespace.ip("link set eth0 up")?;
            created.push(NetworkHost {
                address: address(host),
                namespace: Arc::new(namespace.open()?),
            });
        }
        let entered = EnteredNamespace::enter(&home.open()?);
        Ok(Self {
            hosts: created,
            _home: entered
                .map_err(|error| format!("a thread cannot change its network: {error}"))?,
        })
    }

    /// Returns a host. The first one is 0.
    pub fn host(&self, host: usize) -> &NetworkHost {
        &self.hosts[host]
    }
}

impl NetworkHost {
    /// Returns the address of the host.
    pub fn address(&self) -> IpAddr {
        self.address.into()
    }

    /// Runs `action` on this host. Processes that it starts, and sockets that it opens, stay here.
    pub fn run<T>(&self, action: impl FnOnce() -> T) -> T {
        let _entered = EnteredNamespace::enter(&self.namespace).unwrap();
        action()
    }

    /// Drops all that this host sends to another one, until [`NetworkHost::restore`].
    pub fn cut(&self, other: &Self) {
        self.ip(&format!("route add blackhole {}/32", other.address));
    }

    /// Sends to another host again.
    pub fn restore(&self, other: &Self) {
        self.ip(&format!("route delete blackhole {}/32", other.address));
    }

    /// Takes this host off the network, until [`NetworkHost::plug`].
    pub fn unplug(&self) {
        self.ip("link set eth0 down");
    }

    /// Connects this host to the network again.
    pub fn plug(&self) {
        self.ip("link set eth0 up");
    }

    fn ip(&self, arguments: &str) {
        let done = self.run(|| ip(arguments.split(' ')));
        done.unwrap_or_else(|error| panic!("{error}"));
    }
}

impl EnteredNamespace {
    fn enter(namespace: &File) -> io::Result<Self> {
        let previous = File::open("/proc/thread-self/ns/net")?;
        enter(namespace)?;
        Ok(Self {
            previous,
            _is_of_this_thread: PhantomData,
        })
    }
}

impl Drop for EnteredNamespace {
    fn drop(&mut self) {
        let _ = enter(&self.previous);
    }
}

fn enter(namespace: &File) -> io::Result<()> {
    move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
    Ok(())
}

/// A namespace that has a name until it is dropped, by which commands refer to it.
struct NamedNamespace(String);

impl NamedNamespace {
    fn create() -> Result<Self, String> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let namespace = Self(format!("mcp-web-{}-{count}", process::id()));
        ip(["netns", "add", &namespace.0])?;
        namespace.ip("link set lo up")?;
        Ok(namespace)
    }

    fn ip(&self, arguments: &str) -> Result<(), String> {
        ip(["-n", &self.0].into_iter().chain(arguments.split(' ')))
    }

    fn open(&self) -> Result<File, String> {
        let path = format!("/run/netns/{}", self.0);
        File::open(&path).map_err(|error| format!("{path}: {error}"))
    }
}

impl Drop for NamedNamespace {
    fn drop(&mut self) {
        let _ = ip(["netns", "delete", &self.0]);
    }
}

fn address(last: u8) -> Ipv4Addr {
    let [a, b, c] = SUBNET;
    Ipv4Addr::new(a, b, c, last)
}

fn ip<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Result<(), String> {
    let mut command = Command::new("ip");
    command.args(arguments);
    match command.output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let error = String::from_utf8_lossy(&output.stderr);
            Err(format!("{command:?}: {}", error.trim()))
        }
        Err(error) => Err(format!("{command:?}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
    use std::time::Duration;

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(1);

    fn reaches(from: &NetworkHost, address: SocketAddr) -> bool {
        from.run(|| TcpStream::connect_timeout(&address, TIMEOUT))
            .is_ok()
    }

    #[test]
    fn hosts_reach_each_other_unless_one_of_them_sends_nothing() {
        let network = match Network::create(3) {
            Ok(network) => network,
            Err(reason) => return println!("not run: {reason}"),
        };
        let [one, two, three] = [0, 1, 2].map(|host| network.host(host));
        let listener = two.run(|| TcpListener::bind((two.address(), 0))).unwrap();
        let address = listener.local_addr().unwrap();
        let receiver = two.run(|| UdpSocket::bind((two.address(), 0))).unwrap();
        receiver.set_read_timeout(Some(TIMEOUT)).unwrap();
        let sender = one.run(|| UdpSocket::bind((one.address(), 0))).unwrap();
        let send = || sender.send_to(b"x", receiver.local_addr().unwrap());
        assert!(TcpStream::connect(address).is_ok(), "the thread is a host");
        for (from, to) in [(two, one), (one, two)] {
            assert!(reaches(one, address) && reaches(three, address));
            from.cut(to);
            assert!(!reaches(one, address) && reaches(three, address));
            let is_received = send().is_ok() && receiver.recv(&mut [0]).is_ok();
            assert_eq!(is_received, from.address() == two.address(), "one way");
            from.restore(to);
        }
        assert!(reaches(one, address));
        drop(network);
        assert!(TcpStream::connect_timeout(&address, TIMEOUT).is_err());
    }
}

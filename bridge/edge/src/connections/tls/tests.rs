//! A server with TLS over real sockets, with certificates of an authority that only these tests trust.

use std::net::{IpAddr, SocketAddr};
use std::sync::Mutex;

use bytes::Bytes;
use http::Response;
use http_body_util::Full;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream as ClientStream;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::client_address::TrustedProxies;
use crate::connections::{
    ConnectionLimits, ConnectionObserver, ConnectionRefusal, ConnectionSlots, ConnectionTimeouts,
    Listener, WhenFull, serve,
};

const HEAD_TIMEOUT: Duration = Duration::from_secs(120);

const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";

/// An authority, and the files of a server with a certificate of it.
struct TestAuthority {
    authority: CertifiedIssuer<'static, KeyPair>,
    folder: TempDir,
}

/// A certificate and its key in PEM.
struct Pair {
    certificate: String,
    key: String,
}

impl TestAuthority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let this = Self {
            authority,
            folder: tempfile::tempdir().unwrap(),
        };
        this.write(&this.issue());
        this
    }

    fn issue(&self) -> Pair {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(["localhost".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.authority).unwrap();
        Pair {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        }
    }

    fn files(&self) -> TlsFiles {
        TlsFiles {
            certificate: self.folder.path().join("cert.pem"),
            key: self.folder.path().join("key.pem"),
        }
    }

    fn write(&self, pair: &Pair) {
        let files = self.files();
        std::fs::write(files.certificate, &pair.certificate).unwrap();
        std::fs::write(files.key, &pair.key).unwrap();
    }

    /// Completes a handshake in which the client offers these protocols.
    async fn try_connect(
        &self,
        address: SocketAddr,
        protocols: &[&[u8]],
    ) -> io::Result<ClientStream<TcpStream>> {
        let socket = TcpSocket::new_v4()?;
        self.try_connect_from(socket, address, protocols).await
    }

    async fn try_connect_from(
        &self,
        socket: TcpSocket,
        address: SocketAddr,
        protocols: &[&[u8]],
    ) -> io::Result<ClientStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        roots.add(self.authority.der().clone()).unwrap();
        let provider = Arc::new(ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|it| it.to_vec()).collect();
        let tcp = socket.connect(address).await?;
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(Arc::new(config))
            .connect(name, tcp)
            .await
    }

    async fn connect(&self, address: SocketAddr) -> ClientStream<TcpStream> {
        self.try_connect(address, &[]).await.unwrap()
    }
}

#[derive(Debug, Default)]
struct TestObserver(Mutex<Vec<ConnectionRefusal>>);

impl ConnectionObserver for TestObserver {
    fn on_refused(&self, _: IpAddr, refusal: ConnectionRefusal) {
        self.0.lock().unwrap().push(refusal);
    }
}

/// A server with this number of connections, whose responses have this body.
struct TestServer {
    address: SocketAddr,
    observer: Arc<TestObserver>,
    _task: JoinSet<()>,
}

impl TestServer {
    fn start(tls: &TlsAcceptor, max_connections: usize, body: Bytes) -> Self {
        Self::start_with(tls, max_connections, body, WhenFull::Wait)
    }

    fn start_with(
        tls: &TlsAcceptor,
        max_connections: usize,
        body: Bytes,
        when_full: WhenFull,
    ) -> Self {
        let listener = Listener::bind(([127, 0, 0, 1], 0).into()).unwrap();
        let address = listener.local_addr().unwrap();
        let observer = Arc::<TestObserver>::default();
        let limits = ConnectionLimits {
            slots: ConnectionSlots::new(max_connections, TrustedProxies::new(Vec::new())),
            timeouts: ConnectionTimeouts {
                head: HEAD_TIMEOUT,
                body_progress: HEAD_TIMEOUT,
                body: HEAD_TIMEOUT,
                response_progress: RESPONSE_TIMEOUT,
            },
            observer: Some(Arc::clone(&observer) as _),
            traffic: Arc::default(),
            when_full,
        };
        let respond = move |_, _| {
            let response = Response::new(Full::<Bytes>::new(body.clone()));
            std::future::ready(response)
        };
        let listener = listener.with_tls(Some(tls.clone()));
        let mut task = JoinSet::new();
        task.spawn(serve(
            listener,
            respond,
            limits,
            CancellationToken::new().into(),
        ));
        Self {
            address,
            observer,
            _task: task,
        }
    }
}

fn start(authority: &TestAuthority) -> (TlsAcceptor, TestServer) {
    let tls = TlsAcceptor::load(authority.files()).unwrap();
    let server = TestServer::start(&tls, 10, Bytes::from_static(b"here"));
    (tls, server)
}

/// Sends a request, and receives its response.
async fn request(stream: &mut (impl AsyncReadExt + AsyncWriteExt + Unpin)) -> String {
    stream.write_all(REQUEST).await.unwrap();
    let mut response = Vec::new();
    while !response.ends_with(b"here") {
        response.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(response).unwrap()
}

fn certificate_of(stream: &ClientStream<TcpStream>) -> Vec<u8> {
    let certificates = stream.get_ref().1.peer_certificates().unwrap();
    certificates[0].to_vec()
}

#[tokio::test]
async fn clients_get_http_1_1_and_no_other_protocol() {
    let authority = TestAuthority::new();
    let (_, server) = start(&authority);
    for (offered, negotiated) in [
        (&[][..], None),
        (&[&b"h2"[..], b"http/1.1"][..], Some(&b"http/1.1"[..])),
    ] {
        let mut stream = authority
            .try_connect(server.address, offered)
            .await
            .unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), negotiated);
        let response = request(&mut stream).await;
        assert!(response.starts_with("HTTP/1.1 200"), "{response}");
    }
    let only_http_2 = authority.try_connect(server.address, &[b"h2"]).await;
    assert!(only_http_2.is_err());
}

#[tokio::test]
async fn a_client_that_does_not_encrypt_gets_a_response_with_the_remedy() {
    let authority = TestAuthority::new();
    let (_, server) = start(&authority);
    let mut plain = TcpStream::connect(server.address).await.unwrap();
    plain.write_all(REQUEST).await.unwrap();
    let mut response = String::new();
    plain.read_to_string(&mut response).await.unwrap();
    assert!(response.starts_with("HTTP/1.1 400"), "{response}");
    assert!(
        response.ends_with("use https:// (or wss://) instead\n"),
        "{response}"
    );
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    assert!(
        head.ends_with(&format!("content-length: {}", body.len())),
        "{head}"
    );
}

#[tokio::test]
async fn a_reload_changes_new_connections_and_leaves_open_ones() {
    let authority = TestAuthority::new();
    let (tls, server) = start(&authority);
    let mut open = authority.connect(server.address).await;
    request(&mut open).await;
    let former = certificate_of(&open);

    assert!(!tls.reload().unwrap(), "it is the same certificate");
    authority.write(&authority.issue());
    assert!(tls.reload().unwrap());
    let mut new = authority.connect(server.address).await;
    assert_ne!(certificate_of(&new), former);
    request(&mut new).await;
    request(&mut open).await;
}

/// Files may have such contents while they are replaced, or by mistake.
#[tokio::test]
async fn files_that_cannot_be_used_are_refused_and_the_former_pair_stays_in_use() {
    let authority = TestAuthority::new();
    let (tls, server) = start(&authority);
    let [current, other] = [authority.issue(), authority.issue()];
    authority.write(&current);
    tls.reload().unwrap();
    let former = certificate_of(&authority.connect(server.address).await);
    let (certificate, key) = (current.certificate.as_str(), current.key.as_str());
    let [half_certificate, half_key] = [certificate, key].map(|text| &text[..text.len() / 2]);
    let encrypted = key.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    let wrong_order = format!("{}{}", authority.authority.pem(), certificate);
    for (certificate, key, message) in [
        (
            other.certificate.as_str(),
            key,
            "is not that of the first certificate",
        ),
        (
            certificate,
            other.key.as_str(),
            "is not that of the first certificate",
        ),
        (
            wrong_order.as_str(),
            key,
            "is not that of the first certificate",
        ),
        ("", key, "has no certificates in PEM"),
        (key, key, "has no certificates in PEM"),
        (half_certificate, key, "has no certificates in PEM"),
        (certificate, "", "has no private key in PEM"),
        (certificate, certificate, "has no private key in PEM"),
        (certificate, half_key, "has no private key in PEM"),
        (certificate, encrypted.as_str(), "has no private key in PEM"),
        (
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            key,
            "cannot be used with",
        ),
    ] {
        authority.write(&Pair {
            certificate: certificate.to_owned(),
            key: key.to_owned(),
        });
        let error = tls.reload().unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
        let loaded = TlsAcceptor::load(authority.files()).unwrap_err();
        assert_eq!(loaded.to_string(), error);
        let secret = current.key.lines().nth(1).unwrap();
        assert!(!error.contains(secret), "{error}");
        let served = certificate_of(&authority.connect(server.address).await);
        assert_eq!(served, former, "{message}");
    }
    std::fs::remove_file(authority.files().key).unwrap();
    let error = tls.reload().unwrap_err();
    assert!(matches!(error, TlsError::Unreadable(..)), "{error}");
    authority.write(&other);
    tls.reload().unwrap();
}

#[tokio::test]
async fn the_expiry_is_that_of_the_certificate() {
    let authority = TestAuthority::new();
    let key = KeyPair::generate().unwrap();
    let load = |year| {
        let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
        params.not_after = rcgen::date_time_ymd(year, 12, 31);
        let certificate = params.signed_by(&key, &authority.authority).unwrap();
        authority.write(&Pair {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        });
        TlsAcceptor::load(authority.files()).unwrap()
    };
    let warning = load(2020).expiry_warning().unwrap();
    assert!(warning.contains("expires at 2020-12-31"), "{warning}");
    let tls = load(2049);
    assert_eq!(tls.expiry_warning(), None);
    let expires = tls.expires().duration_since(SystemTime::UNIX_EPOCH);
    // `date -u -d 2049-12-31 +%s`
    assert_eq!(expires.unwrap().as_secs(), 2_524_521_600);
}

/// Neither peer completes its handshake: one sends nothing, the other a byte a minute.
#[tokio::test(start_paused = true)]
async fn a_handshake_has_the_time_of_a_head_and_then_leaves_its_place() {
    let authority = TestAuthority::new();
    let tls = TlsAcceptor::load(authority.files()).unwrap();
    let server = TestServer::start(&tls, 1, Bytes::from_static(b"here"));
    for is_silent in [true, false] {
        let started = Instant::now();
        let slow = TcpStream::connect(server.address).await.unwrap();
        let (mut reader, mut writer) = slow.into_split();
        let sending = async {
            // The beginning of a record with a handshake of 512 bytes.
            let hello = [22, 3, 1, 2, 0].into_iter().chain(std::iter::repeat(1));
            for byte in hello {
                if is_silent || writer.write_all(&[byte]).await.is_err() {
                    std::future::pending::<()>().await;
                }
                sleep(Duration::from_secs(50)).await;
            }
        };
        let mut received = Vec::new();
        tokio::select! {
            _ = reader.read_to_end(&mut received) => {}
            () = sending => {}
        }
        let elapsed = started.elapsed();
        assert!(
            elapsed >= HEAD_TIMEOUT && elapsed < 2 * HEAD_TIMEOUT,
            "{elapsed:?}"
        );
        assert!(received.is_empty());
    }
    // There is one place.
    let mut next = authority.connect(server.address).await;
    request(&mut next).await;
}

/// A client that does not read must not hold the end of a response in the buffer of TLS for ever.
#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_is_disconnected() {
    let authority = TestAuthority::new();
    let tls = TlsAcceptor::load(authority.files()).unwrap();
    let large = Bytes::from(vec![0; 32 * 1024 * 1024]);
    let server = TestServer::start(&tls, 1, large);
    let mut unread = authority.connect(server.address).await;
    unread.write_all(REQUEST).await.unwrap();
    let started = Instant::now();
    // The next handshake begins when the connection before has ended.
    let _next = authority.connect(server.address).await;
    assert!(started.elapsed() >= RESPONSE_TIMEOUT);
    let refusals = server.observer.0.lock().unwrap().clone();
    assert_eq!(refusals, [ConnectionRefusal::ResponseTooSlow]);
}

/// Thousands of peers may begin handshakes that they never complete. Each takes one of `max_connections`
/// for `request_head_within`, and one address leaves some for others.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn handshakes_that_do_not_end_leave_places_for_other_addresses() {
    const MAX_CONNECTIONS: usize = 8;
    const SHARE: usize = 6;
    let authority = TestAuthority::new();
    let tls = TlsAcceptor::load(authority.files()).unwrap();
    let when_full = WhenFull::Reject {
        limit_reached: b"full",
        address_share: b"share",
    };
    let body = Bytes::from_static(b"here");
    let server = TestServer::start_with(&tls, MAX_CONNECTIONS, body, when_full);
    let mut halves = Vec::new();
    for _ in 0..10 * MAX_CONNECTIONS {
        let mut half = TcpStream::connect(server.address).await.unwrap();
        // The beginning of a handshake. It fails if the connection is closed already.
        let _ = half.write_all(&[22, 3, 1]).await;
        halves.push(half);
    }
    for refused in &mut halves[SHARE..] {
        // Text in place of a handshake would look like a port without TLS.
        let read = refused.read(&mut [0]).await;
        assert!(matches!(read, Ok(0) | Err(_)), "{read:?}");
    }
    let refusals = server.observer.0.lock().unwrap().clone();
    let expected = vec![ConnectionRefusal::AddressShare; halves.len() - SHARE];
    assert_eq!(refusals, expected);
    let other = TcpSocket::new_v4().unwrap();
    other.bind(([127, 0, 0, 2], 0).into()).unwrap();
    let served = authority.try_connect_from(other, server.address, &[]);
    request(&mut served.await.unwrap()).await;
}

//! The connections of bridges and frontends: as many as may be, each served by a task of its own.

use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

/// The head of a request must have come within this, from its connection or the request before. A
/// bridge keeps idle connections for 90 s: were they closed here first, a query could be on its way.
const HEAD_WITHIN: Duration = Duration::from_secs(120);

/// When there is no room for another connection in this process (too many files are open): how long
/// until it is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Serves until the agent stops, and then until what is under way has ended. Dropped, it ends at
/// once. Who comes when there are as many connections as may be waits until one has ended.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    most: usize,
    stopping: CancellationToken,
) {
    let room = Arc::new(Semaphore::new(most));
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            biased;
            () = stopping.cancelled() => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => continue,
            accepted = accept(&listener, &room) => accepted,
        };
        match accepted {
            Some((stream, place)) => {
                let serving = serve_one(stream, router.clone(), stopping.clone());
                connections.spawn(async move {
                    serving.await;
                    drop(place);
                });
            }
            None => tokio::time::sleep(RETRY_AFTER).await,
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

type Accepted = (TcpStream, tokio::sync::OwnedSemaphorePermit);

/// The next connection that there is room for; `None`: the process has none.
async fn accept(listener: &TcpListener, room: &Arc<Semaphore>) -> Option<Accepted> {
    loop {
        // It is never closed.
        let place = Arc::clone(room).acquire_owned().await.ok()?;
        use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
        match listener.accept().await {
            Ok((stream, _)) => return Some((stream, place)),
            // One that broke before it was taken is its peer's affair.
            Err(error)
                if matches!(
                    error.kind(),
                    ConnectionAborted | ConnectionRefused | ConnectionReset
                ) => {}
            Err(error) => {
                tracing::error!(%error, "no connection can be accepted: raise the number of open files");
                return None;
            }
        }
    }
}

async fn serve_one(stream: TcpStream, router: Router, stopping: CancellationToken) {
    // Without this each event waits for the reader's delayed acknowledgement.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request: http::Request<hyper::body::Incoming>| {
        let router = router.clone();
        async move {
            let answered = router.oneshot(request.map(Body::new)).await;
            Ok::<_, Infallible>(answered.unwrap_or_else(|never| match never {}))
        }
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WITHIN)
        .serve_connection(TokioIo::new(stream), service);
    let mut serving = pin!(serving);
    // How a connection ends is told by what it carried.
    tokio::select! {
        biased;
        _ = serving.as_mut() => {}
        () = stopping.cancelled() => {
            serving.as_mut().graceful_shutdown();
            let _ = serving.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::time::Instant;

    use super::*;

    /// One connection at a time.
    async fn serving() -> (std::net::SocketAddr, JoinSet<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().route("/", get(|| async { "here" }));
        let mut server = JoinSet::new();
        server.spawn(serve(listener, router, 1, CancellationToken::new()));
        (address, server)
    }

    async fn ask(stream: &mut TcpStream) -> String {
        let request = b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
        stream.write_all(request).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn a_connection_too_many_waits_for_the_end_of_another() {
        let (address, _server) = serving().await;
        let mut first = TcpStream::connect(address).await.unwrap();
        let keeping = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n";
        first.write_all(keeping).await.unwrap();
        let mut answer = [0; 12];
        first.read_exact(&mut answer).await.unwrap();
        let mut second = TcpStream::connect(address).await.unwrap();
        tokio::select! {
            biased;
            answer = ask(&mut second) => panic!("{answer}"),
            () = tokio::task::yield_now() => {}
        }
        let mut rest = Vec::new();
        first.shutdown().await.unwrap();
        first.read_to_end(&mut rest).await.unwrap();
        let mut answer = String::new();
        second.read_to_string(&mut answer).await.unwrap();
        assert!(answer.ends_with("here"), "{answer}");
    }

    #[tokio::test(start_paused = true)]
    async fn who_says_nothing_is_not_waited_for() {
        let (address, _server) = serving().await;
        let begun = Instant::now();
        let mut silent = TcpStream::connect(address).await.unwrap();
        let mut nothing = Vec::new();
        silent.read_to_end(&mut nothing).await.unwrap();
        assert!(begun.elapsed() >= HEAD_WITHIN);
        let mut other = TcpStream::connect(address).await.unwrap();
        assert!(ask(&mut other).await.ends_with("here"));
    }
}

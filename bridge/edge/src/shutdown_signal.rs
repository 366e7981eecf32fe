//! Signals that request a process to stop.

use std::future::pending;
use std::io::Read;

use tokio::sync::oneshot;

/// Completes when the process is requested to stop by Ctrl-C or, as service managers do it, by
/// SIGTERM. The handlers are installed by this call, not by the first poll, because a program that
/// has read the announcement of this process may send the signal at once. If no signal can be
/// received, the future never completes, and the process can only be killed.
#[cfg(unix)]
pub fn shutdown_signal() -> impl Future<Output = ()> {
    use tokio::signal::unix::{SignalKind, signal};
    let received = |kind| {
        let signal = signal(kind);
        async move {
            match signal {
                Ok(mut signal) => drop(signal.recv().await),
                Err(_) => pending().await,
            }
        }
    };
    let interrupted = received(SignalKind::interrupt());
    let terminated = received(SignalKind::terminate());
    async move {
        tokio::select! {
            () = interrupted => {}
            () = terminated => {}
        }
    }
}

/// Completes when the process is requested to stop by Ctrl-C.
#[cfg(not(unix))]
pub async fn shutdown_signal() {
    if tokio::signal::ctrl_c().await.is_err() {
        pending::<()>().await;
    }
}

/// Completes when stdin is closed. A parent process can stop this one by closing its stdin, which
/// also happens when the parent dies. The input is discarded.
pub fn stdin_closed() -> impl Future<Output = ()> {
    let (sender, receiver) = oneshot::channel();
    // The read blocks a separate thread, because a runtime that shuts down would wait for it.
    std::thread::spawn(move || {
        let mut stdin = std::io::stdin().lock();
        let mut buffer = [0; 1024];
        while stdin.read(&mut buffer).is_ok_and(|read| read > 0) {}
        // There is no receiver if the process ends for another reason.
        let _ = sender.send(());
    });
    async move { drop(receiver.await) }
}

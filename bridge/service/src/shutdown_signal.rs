//! The signal that asks a process to stop.

use std::future::pending;
use std::io::Read;

use tokio::sync::oneshot;

/// Completes when somebody asks the process to stop with Ctrl-C or, as service managers do, with
/// SIGTERM. It listens from this call on, not from the first poll: whoever has read the announcement
/// may ask at once. Where no signal can be received it never completes, and the process can still be
/// killed.
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

/// Completes when somebody asks the process to stop with Ctrl-C.
#[cfg(not(unix))]
pub async fn shutdown_signal() {
    if tokio::signal::ctrl_c().await.is_err() {
        pending::<()>().await;
    }
}

/// Completes when stdin has ended: a parent process that starts this one can stop it so, also by
/// dying. What is read is dropped.
pub fn stdin_closed() -> impl Future<Output = ()> {
    let (sender, receiver) = oneshot::channel();
    // A thread of its own: a runtime would wait for a read that it has begun.
    std::thread::spawn(move || {
        let mut stdin = std::io::stdin().lock();
        let mut buffer = [0; 1024];
        while stdin.read(&mut buffer).is_ok_and(|read| read > 0) {}
        // Nobody receives it when the process ends anyway.
        let _ = sender.send(());
    });
    async move { drop(receiver.await) }
}

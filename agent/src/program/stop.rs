//! Hearing that the process is asked to stop.

use std::future::pending;
use std::io::Read;

use tokio::sync::oneshot;

/// Ends when somebody asks the process to stop: Ctrl-C, what a service manager sends (SIGTERM), or,
/// if that counts, the end of stdin. It listens from this call on: who has read the announcement may
/// ask at once.
pub(super) fn requested(until_stdin_ends: bool) -> impl Future<Output = ()> {
    let signalled = signalled();
    let ended = until_stdin_ends.then(stdin_ends);
    async move {
        let ended = async {
            match ended {
                Some(ended) => drop(ended.await),
                None => pending().await,
            }
        };
        tokio::select! {
            () = signalled => {}
            () = ended => {}
        }
    }
}

/// Where no signal can be heard it waits forever, and the process can still be killed.
#[cfg(unix)]
fn signalled() -> impl Future<Output = ()> {
    use tokio::signal::unix::{SignalKind, signal};
    let heard = |kind| {
        let signal = signal(kind);
        async move {
            match signal {
                Ok(mut signal) => drop(signal.recv().await),
                Err(_) => pending().await,
            }
        }
    };
    let interrupted = heard(SignalKind::interrupt());
    let terminated = heard(SignalKind::terminate());
    async move {
        tokio::select! {
            () = interrupted => {}
            () = terminated => {}
        }
    }
}

#[cfg(not(unix))]
async fn signalled() {
    if tokio::signal::ctrl_c().await.is_err() {
        pending::<()>().await;
    }
}

/// Reads in a thread of its own: the runtime would wait for a read that it has begun.
fn stdin_ends() -> oneshot::Receiver<()> {
    let (ended, heard) = oneshot::channel();
    std::thread::spawn(move || {
        let mut stdin = std::io::stdin().lock();
        let mut piece = [0; 1024];
        while stdin.read(&mut piece).is_ok_and(|read| read > 0) {}
        // Nobody hears it when the process ends anyway.
        let _ = ended.send(());
    });
    heard
}

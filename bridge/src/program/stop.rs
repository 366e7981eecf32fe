//! Hearing that the process is asked to stop.

/// Ends when somebody asks the process to stop: Ctrl-C, or what a service manager sends (SIGTERM).
/// It listens from this call on, not from the first poll: who has read the announcement may ask at
/// once. Where neither can be heard it waits forever, and the process can still be killed.
#[cfg(unix)]
pub(super) fn shutdown_signal() -> impl Future<Output = ()> {
    use tokio::signal::unix::{SignalKind, signal};
    let heard = |kind| {
        let signal = signal(kind);
        async move {
            match signal {
                Ok(mut signal) => drop(signal.recv().await),
                Err(_) => std::future::pending().await,
            }
        }
    };
    let (interrupted, terminated) = (
        heard(SignalKind::interrupt()),
        heard(SignalKind::terminate()),
    );
    async move {
        tokio::select! {
            () = interrupted => {}
            () = terminated => {}
        }
    }
}

/// Ends when somebody asks the process to stop with Ctrl-C.
#[cfg(not(unix))]
pub(super) async fn requested() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

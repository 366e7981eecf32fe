//! The signals of a process: requests to stop it, and to load its settings again.

use std::future::pending;
use std::io::Read;

use tokio::sync::oneshot;

/// A signal that a program reacts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessSignal {
    /// Ctrl-C (SIGINT): stop at once.
    Interrupt,
    /// SIGTERM, which service managers send: stop when what runs has ended.
    Terminate,
    /// SIGHUP: load the settings again. It is also what a terminal sends when it is closed.
    Hangup,
}

/// Receives the signals of this process. While it exists, they no longer end the process by themselves.
#[derive(Debug)]
pub struct ProcessSignals {
    #[cfg(unix)]
    interrupt: Option<tokio::signal::unix::Signal>,
    #[cfg(unix)]
    terminate: Option<tokio::signal::unix::Signal>,
    #[cfg(unix)]
    hangup: Option<tokio::signal::unix::Signal>,
}

impl ProcessSignals {
    /// Installs the handlers, because a program that has read the announcement of this process may send
    /// a signal at once. If a signal cannot be received, it is ignored. Must be called within a Tokio
    /// runtime.
    pub fn listen() -> Self {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            Self {
                interrupt: signal(SignalKind::interrupt()).ok(),
                terminate: signal(SignalKind::terminate()).ok(),
                hangup: signal(SignalKind::hangup()).ok(),
            }
        }
        #[cfg(not(unix))]
        Self {}
    }

    /// Receives the next signal. This method is cancel safe.
    #[cfg(unix)]
    pub async fn recv(&mut self) -> ProcessSignal {
        tokio::select! {
            () = received(&mut self.interrupt) => ProcessSignal::Interrupt,
            () = received(&mut self.terminate) => ProcessSignal::Terminate,
            () = received(&mut self.hangup) => ProcessSignal::Hangup,
        }
    }

    /// Receives the next request to stop. SIGHUP waits for [`recv`](Self::recv). This method is cancel
    /// safe.
    #[cfg(unix)]
    pub async fn recv_stop(&mut self) -> ProcessSignal {
        tokio::select! {
            () = received(&mut self.interrupt) => ProcessSignal::Interrupt,
            () = received(&mut self.terminate) => ProcessSignal::Terminate,
        }
    }

    /// Receives the next signal, which can only be Ctrl-C.
    #[cfg(not(unix))]
    pub async fn recv(&mut self) -> ProcessSignal {
        if tokio::signal::ctrl_c().await.is_err() {
            pending::<()>().await;
        }
        ProcessSignal::Interrupt
    }

    /// Receives the next request to stop.
    #[cfg(not(unix))]
    pub async fn recv_stop(&mut self) -> ProcessSignal {
        self.recv().await
    }
}

/// Completes when a signal arrives, and never if it cannot be received.
#[cfg(unix)]
async fn received(signal: &mut Option<tokio::signal::unix::Signal>) {
    let received = match signal {
        Some(signal) => signal.recv().await,
        None => None,
    };
    if received.is_none() {
        pending().await
    }
}

/// Completes when the process is requested to stop by Ctrl-C or by SIGTERM. The handlers are installed
/// by this call, not by the first poll. SIGHUP is ignored.
pub fn shutdown_signal() -> impl Future<Output = ()> {
    let mut signals = ProcessSignals::listen();
    async move {
        signals.recv_stop().await;
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

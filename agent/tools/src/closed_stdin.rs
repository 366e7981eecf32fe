//! Notices that the other end of stdin is closed, even while stdin is not read.

/// Completes when the other end of stdin is closed. Nothing is read from it.
pub fn closed_stdin() -> impl Future<Output = ()> {
    #[cfg(unix)]
    {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            wait();
            // The receiver is gone if the program ends for another reason.
            let _ = sender.send(());
        });
        async move { drop(receiver.await) }
    }
    #[cfg(not(unix))]
    std::future::pending()
}

/// Waits until the other end of stdin is closed. Nothing is read from it.
#[cfg(unix)]
pub fn wait() {
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::io::Errno;

    let stdin = std::io::stdin();
    loop {
        let mut watched = [PollFd::new(&stdin, PollFlags::empty())];
        match poll(&mut watched, None) {
            Err(Errno::INTR) => {}
            _ => return,
        }
    }
}

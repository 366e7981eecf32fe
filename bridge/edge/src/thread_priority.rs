//! The priority of threads that compute for long, below that of the threads that serve sockets.

/// The amount by which the nice value of such threads is raised. With it, a thread gets a tenth of
/// a processor that other threads need as well. Linux may let it run for some milliseconds more
/// when one of them wakes up.
#[cfg(target_os = "linux")]
const NICE: i32 = 10;

/// Lowers the priority of this thread. It cannot be raised again. Does nothing on systems other
/// than Linux, where threads do not have separate nice values.
pub fn lower_thread_priority() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::nice(NICE) {
        tracing::debug!(%error, "the priority of a thread cannot be lowered");
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::thread;

    use rustix::process::getpriority_process;

    use super::*;

    #[test]
    fn only_the_thread_itself_has_a_lower_priority() {
        let before = getpriority_process(None).unwrap();
        let thread = thread::spawn(|| {
            lower_thread_priority();
            getpriority_process(None).unwrap()
        });
        assert_eq!(thread.join().unwrap(), (before + NICE).min(19));
        assert_eq!(getpriority_process(None).unwrap(), before);
    }
}

//! Reports to the service manager that has started this process (systemd: `Type=notify-reload`,
//! sd_notify(3)). Without one, nothing happens.

use tokio_util::task::AbortOnDropHandle;

/// A state of which a service manager is notified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceState {
    /// The service accepts connections, or has finished a reload.
    Ready,
    /// The settings are being loaded again.
    Reloading,
    /// The service is stopping.
    Stopping,
}

/// Notifies the service manager.
#[cfg(target_os = "linux")]
pub fn notify_service_manager(state: ServiceState) {
    use sd_notify::NotifyState;
    let states = match state {
        ServiceState::Ready => vec![NotifyState::Ready],
        ServiceState::Reloading => {
            let mut states = vec![NotifyState::Reloading];
            states.extend(NotifyState::monotonic_usec_now());
            states
        }
        ServiceState::Stopping => vec![NotifyState::Stopping],
    };
    if let Err(error) = sd_notify::notify(&states) {
        tracing::debug!(%error, ?state, "the service manager cannot be notified");
    }
}

/// Does nothing: only Linux has such service managers.
#[cfg(not(target_os = "linux"))]
pub fn notify_service_manager(_: ServiceState) {}

/// Reports at half of the interval of the service manager's watchdog that the runtime makes progress,
/// until the returned handle is dropped. Returns `None` if the service has no watchdog.
#[cfg(target_os = "linux")]
pub fn start_watchdog() -> Option<AbortOnDropHandle<()>> {
    let interval = sd_notify::watchdog_enabled()? / 2;
    if interval.is_zero() {
        return None;
    }
    let task = tokio::spawn(async move {
        let mut ticks = tokio::time::interval(interval);
        loop {
            ticks.tick().await;
            let _ = sd_notify::notify(&[sd_notify::NotifyState::Watchdog]);
        }
    });
    Some(AbortOnDropHandle::new(task))
}

/// Returns `None`: only Linux has such service managers.
#[cfg(not(target_os = "linux"))]
pub fn start_watchdog() -> Option<AbortOnDropHandle<()>> {
    None
}

/// The variables of the environment with which a service manager addresses this process alone. Child
/// processes must not have them.
pub const SERVICE_MANAGER_VARIABLES: [&str; 6] = [
    "NOTIFY_SOCKET",
    "WATCHDOG_USEC",
    "WATCHDOG_PID",
    "LISTEN_FDS",
    "LISTEN_PID",
    "LISTEN_FDNAMES",
];

//! Passes events to the observer, without repetitions.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::directory::{DirectoryEvent, DirectoryObserver};

/// The events of one directory.
pub(super) struct Events {
    observer: Arc<dyn DirectoryObserver>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    is_connected: bool,
    /// The problems that were reported since the last connection.
    problems: Vec<String>,
}

/// The maximum number of different problems that are reported while they last.
const MAX_PROBLEMS: usize = 32;

/// Why the directory does not work.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Problem {
    /// Somebody has to change a setting, of the bridge or of NATS.
    Refused(String),
    /// It may pass.
    Failed(String),
}

impl Events {
    pub(super) fn new(observer: Arc<dyn DirectoryObserver>) -> Self {
        let state = Mutex::default();
        Self { observer, state }
    }

    /// The directory can be used.
    pub(super) fn connected(&self) {
        *self.lock() = State {
            is_connected: true,
            problems: Vec::new(),
        };
        self.observer.on_event(DirectoryEvent::Connected);
    }

    /// The connection was lost, or a watch.
    pub(super) fn away(&self) {
        let was_connected = std::mem::take(&mut self.lock().is_connected);
        if was_connected {
            self.observer.on_event(DirectoryEvent::Away);
        }
    }

    /// A record was written or removed.
    pub(super) fn record(&self, event: DirectoryEvent) {
        self.observer.on_event(event);
    }

    /// Reports a problem once, until the directory is connected again.
    pub(super) fn problem(&self, problem: Problem) {
        let (Problem::Refused(text) | Problem::Failed(text)) = &problem;
        {
            let mut state = self.lock();
            if state.problems.len() >= MAX_PROBLEMS || state.problems.contains(text) {
                return;
            }
            state.problems.push(text.clone());
        }
        match problem {
            Problem::Failed(text) => tracing::warn!("{text}"),
            Problem::Refused(text) => self.observer.on_event(DirectoryEvent::Refused(text)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Observer(Mutex<Vec<DirectoryEvent>>);

    impl DirectoryObserver for Observer {
        fn on_event(&self, event: DirectoryEvent) {
            self.0.lock().unwrap().push(event);
        }
    }

    #[test]
    fn a_problem_is_reported_once_until_the_next_connection() {
        let observer = Arc::new(Observer::default());
        let events = Events::new(Arc::clone(&observer) as Arc<dyn DirectoryObserver>);
        let refused = |text: &str| Problem::Refused(text.to_owned());
        events.away();
        for text in ["one", "two", "one"] {
            events.problem(refused(text));
        }
        events.problem(Problem::Failed("three".to_owned()));
        events.connected();
        events.away();
        events.away();
        events.problem(refused("one"));
        let event = |text: &str| DirectoryEvent::Refused(text.to_owned());
        let expected = [
            event("one"),
            event("two"),
            DirectoryEvent::Connected,
            DirectoryEvent::Away,
            event("one"),
        ];
        assert_eq!(*observer.0.lock().unwrap(), expected);
    }
}

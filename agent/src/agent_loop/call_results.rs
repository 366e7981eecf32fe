//! The results of calls as the model receives them, for a reader that shows them. The progress only
//! has the errors.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The results of the calls of one query.
#[derive(Debug, Default)]
pub(crate) struct CallResults {
    /// By the id of the call. `None` if they are not read.
    kept: Mutex<Option<HashMap<String, String>>>,
}

impl CallResults {
    /// Keeps the results of the calls that end from now on.
    pub(crate) fn keep(&self) {
        self.lock().get_or_insert_default();
    }

    /// Returns the result of a call that has ended. It is available once.
    pub(crate) fn take(&self, id: &str) -> Option<String> {
        self.lock().as_mut()?.remove(id)
    }

    /// Records the result of a call, before its end is reported.
    pub(super) fn record(&self, id: &str, text: &str) {
        if let Some(results) = &mut *self.lock() {
            results.insert(id.to_owned(), text.to_owned());
        }
    }

    /// Locks the results. A poisoned lock is used anyway, because no code panics while it holds the
    /// lock.
    fn lock(&self) -> MutexGuard<'_, Option<HashMap<String, String>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_recorded_for_readers_that_want_them() {
        let results = CallResults::default();
        results.record("1", "red");
        assert_eq!(results.take("1"), None);
        results.keep();
        results.record("2", "blue");
        assert_eq!(results.take("2").as_deref(), Some("blue"));
        assert_eq!(results.take("2"), None);
    }
}

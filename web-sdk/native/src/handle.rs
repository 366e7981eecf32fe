//! What was added.

use tokio::sync::watch;

use crate::definition::Registration;
use crate::events::{Event, EventSender};
use crate::status::ConnectError;

/// A tool, prompt, resource or template that was added. Dropping it changes nothing.
#[derive(Clone)]
pub struct Handle {
    key: u32,
    name: String,
    events: EventSender,
    registration: watch::Receiver<Registration>,
}

impl Handle {
    pub(crate) fn new(
        key: u32,
        name: String,
        events: EventSender,
        registration: watch::Receiver<Registration>,
    ) -> Self {
        Self {
            key,
            name,
            events,
            registration,
        }
    }

    /// The name, URI or template, as given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Waits until AI clients can use it, and returns the name that they see. While the connection is
    /// broken, they cannot: this waits until it is back, or fails if it does not come back.
    ///
    /// # Errors
    /// Fails if the bridge refuses the definition, or it was removed or replaced before.
    pub async fn registered(&self) -> Result<String, ConnectError> {
        let mut registration = self.registration.clone();
        let settled = registration
            .wait_for(|registration| *registration != Registration::Pending)
            .await;
        match settled.as_deref() {
            Ok(Registration::Registered(name)) => {
                Ok(name.clone().unwrap_or_else(|| self.name.clone()))
            }
            Ok(Registration::Rejected(error)) => Err(error.clone()),
            _ => Err(disconnected_or_removed(&self.name)),
        }
    }

    /// Removes it. Its calls that are running end as if it was still there.
    pub fn remove(&self) {
        self.events.send(Event::Removed(self.key));
    }

    /// Tells subscribed clients that the content of the resource changed.
    pub fn notify_updated(&self) {
        self.events.send(Event::ResourceUpdated(self.name.clone()));
    }
}

fn disconnected_or_removed(name: &str) -> ConnectError {
    ConnectError::new(
        "Removed",
        format!("`{name}` was removed, replaced, or never registered"),
    )
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handle")
            .field("name", &self.name)
            .field("registration", &*self.registration.borrow())
            .finish_non_exhaustive()
    }
}

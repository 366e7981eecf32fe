//! Handles to added items.

use tokio::sync::watch;

use crate::definition::Registration;
use crate::events::{Event, EventSender};
use crate::status::ConnectError;

/// A handle to an added tool, prompt, resource or template. Dropping it has no effect.
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

    /// Returns the name, URI or template, as given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Waits until AI clients can use the item, and returns the name that they see. While the
    /// connection is broken, this waits for a reconnect, and fails if there is none.
    ///
    /// # Errors
    /// Fails if the bridge rejects the definition, or if the item was removed or replaced first.
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

    /// Removes the item. Its running calls continue normally.
    pub fn remove(&self) {
        self.events.send(Event::Removed(self.key));
    }

    /// Notifies subscribed clients that the content of the resource has changed.
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

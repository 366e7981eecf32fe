//! Why an action failed.

/// The closed list of reasons why an action failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActionCode {
    /// Nothing matches, or the handle never existed.
    TargetNotFound,
    /// Several elements match.
    TargetAmbiguous,
    /// The element of the handle no longer exists.
    TargetStale,
    /// The element cannot be used now.
    TargetDisabled,
    /// The value cannot be changed.
    TargetReadOnly,
    /// The element is not shown.
    TargetHidden,
    /// Something else is in front of the element.
    TargetCovered,
    /// The app marks the element as private.
    TargetPrivate,
    /// The element does not accept a value.
    NotEditable,
    /// The control does not have such a choice.
    OptionNotFound,
    /// The page changed the value that was set.
    ValueRefused,
    /// The app does not have such an event.
    EventUnknown,
    /// The element does not have such a method.
    MethodUnknown,
    /// The driver cannot do this.
    ActionUnsupported,
    /// The action took too long.
    ActionTimeout,
    /// The app threw an error, or the driver failed.
    ActionFailed,
    /// The app does not have such a page.
    PageUnknown,
    /// The app's user or the app declined.
    Declined,
    /// The person at the page first had to answer a question, and did not.
    PersonAsked,
}

impl ActionCode {
    /// All codes.
    pub const ALL: [Self; 19] = [
        Self::TargetNotFound,
        Self::TargetAmbiguous,
        Self::TargetStale,
        Self::TargetDisabled,
        Self::TargetReadOnly,
        Self::TargetHidden,
        Self::TargetCovered,
        Self::TargetPrivate,
        Self::NotEditable,
        Self::OptionNotFound,
        Self::ValueRefused,
        Self::EventUnknown,
        Self::MethodUnknown,
        Self::ActionUnsupported,
        Self::ActionTimeout,
        Self::ActionFailed,
        Self::PageUnknown,
        Self::Declined,
        Self::PersonAsked,
    ];

    /// Returns the name of the code in logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::TargetNotFound => "TargetNotFound",
            Self::TargetAmbiguous => "TargetAmbiguous",
            Self::TargetStale => "TargetStale",
            Self::TargetDisabled => "TargetDisabled",
            Self::TargetReadOnly => "TargetReadOnly",
            Self::TargetHidden => "TargetHidden",
            Self::TargetCovered => "TargetCovered",
            Self::TargetPrivate => "TargetPrivate",
            Self::NotEditable => "NotEditable",
            Self::OptionNotFound => "OptionNotFound",
            Self::ValueRefused => "ValueRefused",
            Self::EventUnknown => "EventUnknown",
            Self::MethodUnknown => "MethodUnknown",
            Self::ActionUnsupported => "ActionUnsupported",
            Self::ActionTimeout => "ActionTimeout",
            Self::ActionFailed => "ActionFailed",
            Self::PageUnknown => "PageUnknown",
            Self::Declined => "Declined",
            Self::PersonAsked => "PersonAsked",
        }
    }

    /// Returns the code with the given name, or [`Self::ActionFailed`] if the name is not in the
    /// list.
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        let known = Self::ALL.into_iter().find(|code| code.name() == name);
        known.unwrap_or(Self::ActionFailed)
    }
}

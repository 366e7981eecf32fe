//! Why an action failed.

/// The closed list of reasons why an action failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActionCode {
    /// Nothing matches, or the handle never existed.
    TargetNotFound,
    /// Several elements match.
    TargetAmbiguous,
    /// The element of the handle is gone.
    TargetStale,
    /// The element cannot be used now.
    TargetDisabled,
    /// The value cannot be changed.
    TargetReadOnly,
    /// The element is not shown.
    TargetHidden,
    /// Something else is in front of the element.
    TargetCovered,
    /// The app keeps the element to itself.
    TargetPrivate,
    /// The element takes no value.
    NotEditable,
    /// The control has no such choice.
    OptionNotFound,
    /// The page changed the value that was set.
    ValueRefused,
    /// There is no such event.
    EventUnknown,
    /// There is no such method.
    MethodUnknown,
    /// The driver cannot do this.
    ActionUnsupported,
    /// The action took too long.
    ActionTimeout,
    /// The app threw an error, or the driver failed.
    ActionFailed,
    /// The app has no such page.
    PageUnknown,
    /// The app's user or the app declined.
    Declined,
    /// The person at the page had to answer something first, and did not.
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

    /// Returns the code of a name; what is not in the list is [`Self::ActionFailed`].
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        let known = Self::ALL.into_iter().find(|code| code.name() == name);
        known.unwrap_or(Self::ActionFailed)
    }
}

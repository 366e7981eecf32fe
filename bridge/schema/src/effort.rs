//! How much a thread may do to validate one value.

/// The maximum effort of a validation. It depends on where the validation runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// A few milliseconds at most: on a thread that serves sockets.
    Inline,
    /// Some ten milliseconds at most.
    Short,
    /// Up to [`MAX_COST`](crate::cost::MAX_COST) steps.
    Full,
}

/// The limits of an effort.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EffortLimits {
    /// The length of a text that is parsed, in bytes.
    pub(crate) bytes: usize,
    /// The cost of a validation, in steps.
    pub(crate) steps: u64,
    /// The size of a schema that is compiled, in values.
    pub(crate) schema_nodes: usize,
    /// The number of states of the patterns of a schema that is compiled.
    pub(crate) pattern_states: u64,
}

const INLINE: EffortLimits = EffortLimits {
    bytes: 64 * 1024,
    steps: 100_000,
    schema_nodes: 1_000,
    pattern_states: 2_000,
};

const SHORT: EffortLimits = EffortLimits {
    bytes: 1024 * 1024,
    steps: 1_000_000,
    schema_nodes: 10_000,
    pattern_states: 10_000,
};

impl Effort {
    /// The limits; `None` if only those for every validation apply.
    pub(crate) fn limits(self) -> Option<EffortLimits> {
        match self {
            Effort::Inline => Some(INLINE),
            Effort::Short => Some(SHORT),
            Effort::Full => None,
        }
    }
}

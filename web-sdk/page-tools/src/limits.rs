//! The limits of page tools, with their defaults.

/// How much a call may do, and how much a text may contain.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// The actions of a call (`maxActionsPerCall`).
    pub max_actions_per_call: usize,
    /// The milliseconds of an action (`actionTimeoutMs`).
    pub action_timeout_ms: f64,
    /// The milliseconds of all actions of a call (`callTimeoutMs`).
    pub call_timeout_ms: f64,
    /// The elements of a page text (`maxElements`).
    pub max_elements: usize,
    /// The bytes of a value (`maxValueBytes`).
    pub max_value_bytes: usize,
    /// The bytes of a page text (`maxPageBytes`).
    pub max_page_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_actions_per_call: 100,
            action_timeout_ms: 30_000.0,
            call_timeout_ms: 120_000.0,
            max_elements: 200,
            max_value_bytes: 4096,
            max_page_bytes: 65_536,
        }
    }
}

/// The characters of a name, an error or a description.
pub const MAX_NAME_CHARS: usize = 200;
/// The characters of a text.
pub const MAX_TEXT_CHARS: usize = 500;
/// The choices of a control that are shown.
pub const MAX_OPTIONS: usize = 20;
/// The characters of a node before its value: YAML reads no longer key.
pub const MAX_KEY_CHARS: usize = 1000;
/// The bytes up to which the view `auto` is the whole page.
pub const MAX_AUTO_PAGE_BYTES: usize = 8192;
/// The elements that are named when several are meant.
pub const MAX_CANDIDATES: usize = 5;
/// The warnings of an action, and the characters of each.
pub const MAX_WARNINGS: usize = 10;
/// See [`MAX_WARNINGS`].
pub const MAX_WARNING_CHARS: usize = 300;

/// Returns a number without its fraction: writing other numbers as text costs the wasm 10 KB.
pub(crate) fn whole(number: f64) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the number is cut to what fits"
    )]
    let whole = number.clamp(0.0, f64::from(u32::MAX)) as u32;
    whole
}

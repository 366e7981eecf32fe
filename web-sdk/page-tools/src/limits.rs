//! The limits of page tools, with their defaults.

/// The limits of a call and of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Maximum number of actions of a call (`maxActionsPerCall`).
    pub max_actions_per_call: usize,
    /// Time limit of an action, in milliseconds (`actionTimeoutMs`).
    pub action_timeout_ms: f64,
    /// Time limit of all actions of a call, in milliseconds (`callTimeoutMs`).
    pub call_timeout_ms: f64,
    /// Maximum number of elements in a page text (`maxElements`).
    pub max_elements: usize,
    /// Maximum size of a value, in bytes (`maxValueBytes`).
    pub max_value_bytes: usize,
    /// Maximum size of a page text, in bytes (`maxPageBytes`).
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

/// Maximum length of a name, an error or a description, in characters.
pub const MAX_NAME_CHARS: usize = 200;
/// Maximum length of a text, in characters.
pub const MAX_TEXT_CHARS: usize = 500;
/// Maximum number of choices shown for a control.
pub const MAX_OPTIONS: usize = 20;
/// Maximum length of a node before its value, in characters: YAML rejects longer keys.
pub const MAX_KEY_CHARS: usize = 1000;
/// Maximum size in bytes at which the view `auto` is the whole page.
pub const MAX_AUTO_PAGE_BYTES: usize = 8192;
/// Maximum number of elements listed when several match.
pub const MAX_CANDIDATES: usize = 5;
/// Maximum number of warnings of an action.
pub const MAX_WARNINGS: usize = 10;
/// Maximum length of a warning, in characters.
pub const MAX_WARNING_CHARS: usize = 300;
/// Maximum duration of `waitFor`, in milliseconds.
pub const MAX_WAIT_MS: u32 = 10_000;
/// Minimum and maximum number of steps of `drag`.
pub const DRAG_STEPS: [u32; 2] = [2, 50];
/// Maximum length of a page id, in characters.
pub const MAX_PAGE_ID_CHARS: usize = 2048;

/// Returns a number without its fraction: formatting other numbers would add 10 KB to the wasm.
pub(crate) fn whole(number: f64) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the number is cut to what fits"
    )]
    let whole = number.clamp(0.0, f64::from(u32::MAX)) as u32;
    whole
}

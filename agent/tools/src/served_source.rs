//! A source that is served to another program on its own, without an agent.
//!
//! The client decides who may call the tools, how often, and what is recorded, so a served source has
//! no profiles, approvals, rates or audit file. The other steps are those of an agent's calls.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use agent_secrets::SecretStore;
use serde_json::{Map, Value};

use crate::approval::Approval;
use crate::call_profile::CallProfile;
use crate::managed_source::ManagedSource;
use crate::output::CallOutput;
use crate::pipeline::{self, CallSteps};
use crate::source::{MAX_SOURCE_PROMPT_BYTES, SourceTool, ToolSource};
use crate::user_shares::UserShares;

/// The maximum number of calls that run at the same time.
const MAX_CALLS: usize = 16;

/// The time of a call with its wait for others.
const CALL_TIMEOUT: Duration = Duration::from_secs(120);

/// The maximum size of a result as a JSON string: with its frame, a message stays below 1 MiB, which
/// is the maximum of some clients.
const MAX_RESULT_BYTES: usize = 1000 * 1024;

/// The user of all calls. It has no secrets, so the shared ones are used.
const USER: &str = "plugin";

/// A source that is served on its own.
#[derive(Debug)]
pub struct ServedSource {
    source: ManagedSource,
    secrets: Option<Arc<SecretStore>>,
}

impl ServedSource {
    /// Creates a server of a source, which is started by its first call. Results do not contain the
    /// values of `secrets`.
    pub fn new(source: Arc<dyn ToolSource>, secrets: Option<Arc<SecretStore>>) -> Self {
        Self {
            source: ManagedSource::new(source, UserShares::new(MAX_CALLS, MAX_CALLS)),
            secrets,
        }
    }

    /// Returns the name of the source.
    pub fn name(&self) -> &str {
        self.source.name()
    }

    /// Returns the kind of the source: `filesystem` …
    pub fn kind(&self) -> &'static str {
        self.source.source.meta().kind
    }

    /// Returns the tools that the source has at the moment.
    pub fn tools(&self) -> Arc<[SourceTool]> {
        self.source.source.tools()
    }

    /// Returns the description of the source for a model.
    pub(crate) fn instructions(&self) -> Option<String> {
        let prompt = self.source.source.prompt()?;
        let end = prompt.floor_char_boundary(MAX_SOURCE_PROMPT_BYTES);
        Some(format!("This server has {}", prompt[..end].trim()))
    }

    /// Calls a tool. Dropping the future cancels the call.
    pub async fn call(&self, tool: &SourceTool, arguments: Map<String, Value>) -> CallOutput {
        let secrets = self.secrets.as_deref();
        let profile = CallProfile::served(&self.source, tool, USER, CALL_TIMEOUT, secrets);
        let mut steps = ServedCall { served: self, tool };
        let Ok(output) = pipeline::call(&profile, arguments, &mut steps).await;
        output
    }

    /// Ends everything that the source has started.
    pub async fn stop(&self) {
        self.source.source.stop().await;
    }
}

/// A call of another program.
struct ServedCall<'a> {
    served: &'a ServedSource,
    tool: &'a SourceTool,
}

impl CallSteps for ServedCall<'_> {
    type Output = CallOutput;
    type Error = Infallible;

    /// The other program asks its person itself.
    async fn ask_person(&mut self, _timeout: Duration) -> Approval {
        Approval::Denied
    }

    async fn begin(&mut self) {}

    async fn run(&mut self, arguments: Map<String, Value>) -> Result<CallOutput, Infallible> {
        let source = &self.served.source;
        Ok(source.call(&self.tool.name, arguments, USER).await)
    }

    fn shape(&mut self, mut output: CallOutput) -> CallOutput {
        truncate(&mut output.text);
        output
    }
}

/// Truncates a result that is too large, with a note.
fn truncate(text: &mut String) {
    let bytes = text.len();
    let mut json_bytes = 0;
    let cut = text.char_indices().find(|(_, character)| {
        json_bytes += json_bytes_of(*character);
        json_bytes > MAX_RESULT_BYTES
    });
    if let Some((end, _)) = cut {
        text.truncate(end);
        let missing = bytes - end;
        text.push_str(&format!(
            "\n[This result is cut: {missing} of its {bytes} bytes are missing.]"
        ));
    }
}

/// Returns the size of a character in a JSON string.
fn json_bytes_of(character: char) -> usize {
    match character {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        other => other.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;
    use serde_json::json;
    use tokio::time::Instant;

    use super::*;
    use crate::output::CallStatus;
    use crate::tests::SlowSource;

    fn slow_source() -> (Arc<SlowSource>, ServedSource) {
        let source = Arc::new(SlowSource::default());
        let served = ServedSource::new(Arc::clone(&source) as Arc<dyn ToolSource>, None);
        (source, served)
    }

    #[tokio::test]
    async fn sixteen_calls_run_at_the_same_time_and_others_wait() {
        let (source, served) = slow_source();
        let tool = served.tools()[0].clone();
        let calls = (0..MAX_CALLS + 1).map(|_| served.call(&tool, Map::new()));
        let ending = async {
            let running = source.begun.acquire_many(MAX_CALLS as u32).await;
            running.unwrap().forget();
            assert_eq!(source.begun.available_permits(), 0, "one call waits");
            source.ending.add_permits(MAX_CALLS + 1);
        };
        let (outputs, ()) = tokio::join!(join_all(calls), ending);
        assert!(outputs.iter().all(|output| output.text == "done"));
        assert_eq!(source.begun.available_permits(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_ends_within_its_time_also_if_it_waits_for_others() {
        let (_, served) = slow_source();
        let tool = served.tools()[0].clone();
        let forever = || Map::from_iter([("forever".to_owned(), true.into())]);
        let began_at = Instant::now();
        let calls = (0..MAX_CALLS + 1).map(|_| served.call(&tool, forever()));
        let outputs = join_all(calls).await;
        assert_eq!(began_at.elapsed().as_secs(), CALL_TIMEOUT.as_secs());
        let outcomes: Vec<_> = outputs.iter().map(|output| output.outcome).collect();
        assert_eq!(outcomes[..MAX_CALLS], [CallStatus::Timeout; MAX_CALLS]);
        // It may get the permit of another one at the moment at which its time is over.
        let last = [CallStatus::Timeout, CallStatus::Unavailable];
        assert!(last.contains(&outcomes[MAX_CALLS]));
        assert!(outputs[0].text.contains("within 2m"), "{}", outputs[0].text);
    }

    #[tokio::test]
    async fn wrong_arguments_are_refused_before_the_call() {
        let (source, served) = slow_source();
        let tool = served.tools()[0].clone();
        let arguments = Map::from_iter([("forever".to_owned(), 7.into())]);
        let output = served.call(&tool, arguments).await;
        assert_eq!(output.outcome, CallStatus::InvalidArguments);
        assert!(output.text.contains("forever"), "{}", output.text);
        assert_eq!(source.begun.available_permits(), 0);
    }

    #[test]
    fn a_result_is_cut_by_its_size_as_json() {
        let json_len = |text: &str| json!(text).to_string().len() - 2;
        for part in ["a", "é", "語", "\"", "\n", "\u{1}", "a\\é\u{7f}🙂"] {
            assert_eq!(
                part.chars().map(json_bytes_of).sum::<usize>(),
                json_len(part)
            );
            let mut text = part.repeat(MAX_RESULT_BYTES / json_len(part));
            let whole = text.clone();
            truncate(&mut text);
            assert!(text == whole, "{part:?} is cut");
            text.push_str(&part.repeat(2));
            let bytes = text.len();
            truncate(&mut text);
            let (kept, note) = text.rsplit_once('\n').unwrap();
            assert!(whole.starts_with(&kept[..whole.len().min(kept.len())]));
            let missing = bytes - kept.len();
            let expected =
                format!("[This result is cut: {missing} of its {bytes} bytes are missing.]");
            assert_eq!(note, expected);
            assert!(json_len(kept) <= MAX_RESULT_BYTES);
        }
    }

    #[test]
    fn instructions_are_cut_like_the_prompt_of_an_agent() {
        let (_, served) = slow_source();
        let instructions = served.instructions().unwrap();
        let text = instructions.strip_prefix("This server has ").unwrap();
        assert_eq!(text.len(), MAX_SOURCE_PROMPT_BYTES);
    }
}

//! The token of requests: a fixed one, or one that a command prints and renews while requests run.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::bearer_token::BearerToken;
use crate::config::Config;
use crate::connect_error::BridgeError;
use crate::renewal_schedule::{RenewalSchedule, remaining};
use crate::token_command::{TokenCommand, TokenCommandError};
use crate::token_redactor::TokenRedactor;

/// The maximum number of refusals that wait for the command. Further ones wait for these.
const MAX_REFUSALS: usize = 16;

/// The token of requests. Clones share it.
#[derive(Clone)]
pub(crate) enum TokenSource {
    /// The token of the configuration, if there is one.
    Fixed(Option<BearerToken>),
    /// The token of a command.
    Renewed(Arc<RenewedToken>),
}

/// The token of a command. Dropping it ends the task that runs the command.
pub(crate) struct RenewedToken {
    latest: watch::Receiver<Latest>,
    refusals: mpsc::Sender<Refusal>,
    _task: JoinSet<()>,
}

/// The outcome of the last run, and the last token.
#[derive(Clone, Default)]
struct Latest {
    token: Option<BearerToken>,
    failure: Option<TokenCommandError>,
}

/// A token that the bridge has refused.
struct Refusal {
    token: BearerToken,
    /// Dropped when the command has run, or does not run for this refusal.
    _done: oneshot::Sender<()>,
}

impl TokenSource {
    /// Returns the source of a configuration. If it is a command, its first run starts now.
    pub(crate) fn start(config: &Config) -> Self {
        let Some(command) = config.token_command.clone() else {
            return Self::Fixed(config.token.clone());
        };
        let (latest_sender, latest) = watch::channel(Latest::default());
        let (refusals, refusal_receiver) = mpsc::channel(MAX_REFUSALS);
        let renewal = Renewal {
            command,
            redactor: config.token_redactor(),
            latest: latest_sender,
            refusals: refusal_receiver,
            schedule: RenewalSchedule::default(),
        };
        let mut task = JoinSet::new();
        task.spawn(renewal.run());
        Self::Renewed(Arc::new(RenewedToken {
            latest,
            refusals,
            _task: task,
        }))
    }

    /// Returns whether the token is that of a command.
    pub(crate) fn is_renewed(&self) -> bool {
        matches!(self, Self::Renewed(_))
    }

    /// Returns the token of a request that begins now. Waits for the first run of a command.
    pub(crate) async fn token(&self) -> Result<BearerToken, BridgeError> {
        let renewed = match self {
            Self::Fixed(token) => return token.clone().ok_or(BridgeError::NoToken),
            Self::Renewed(renewed) => renewed,
        };
        let mut latest = renewed.latest.clone();
        let has_run = |latest: &Latest| latest.token.is_some() || latest.failure.is_some();
        match latest.wait_for(has_run).await.as_deref().cloned() {
            Ok(Latest {
                token: Some(token), ..
            }) => Ok(token),
            Ok(Latest {
                failure: Some(failure),
                ..
            }) => Err(BridgeError::TokenCommand(failure.to_string())),
            // The task ends with the process.
            _ => Err(BridgeError::NoToken),
        }
    }

    /// Returns another token after the bridge has refused this one, if there is one: it was renewed
    /// meanwhile, or the command runs once and prints it.
    pub(crate) async fn after_refusal(&self, refused: &BearerToken) -> Option<BearerToken> {
        let Self::Renewed(renewed) = self else {
            return None;
        };
        let (done_sender, done) = oneshot::channel();
        let refusal = Refusal {
            token: refused.clone(),
            _done: done_sender,
        };
        renewed.refusals.send(refusal).await.ok()?;
        // It is never sent to, but dropped.
        let _ = done.await;
        self.latest().filter(|token| token != refused)
    }

    /// Returns the last token of a command.
    pub(crate) fn latest(&self) -> Option<BearerToken> {
        match self {
            Self::Fixed(_) => None,
            Self::Renewed(renewed) => renewed.latest.borrow().token.clone(),
        }
    }

    /// Waits until the last token of a command is not `former`. Returns `false` if none is printed.
    pub(crate) async fn renewed(&self, former: Option<&BearerToken>) -> bool {
        let Self::Renewed(renewed) = self else {
            return false;
        };
        let mut latest = renewed.latest.clone();
        let is_other = |latest: &Latest| latest.token.as_ref() != former;
        latest.wait_for(is_other).await.is_ok()
    }

    /// Names the command where the user would otherwise look for a token in the configuration.
    pub(crate) fn explain(&self, error: BridgeError) -> BridgeError {
        match self {
            Self::Renewed(_) if error.is_auth_error() => BridgeError::TokenOfCommandRefused,
            _ => error,
        }
    }
}

/// The task that runs the command.
struct Renewal {
    command: TokenCommand,
    redactor: TokenRedactor,
    latest: watch::Sender<Latest>,
    refusals: mpsc::Receiver<Refusal>,
    schedule: RenewalSchedule,
}

impl Renewal {
    async fn run(mut self) {
        let mut refusal = None;
        loop {
            let delay = self.renew().await;
            drop(refusal.take());
            let due = delay.map(|delay| Instant::now() + delay);
            refusal = tokio::select! {
                () = sleep_until_due(due) => None,
                refusal = next_refusal(&mut self.refusals, &self.latest, &mut self.schedule) => {
                    let Some(refusal) = refusal else { return };
                    Some(refusal)
                }
            };
        }
    }

    /// Runs the command once. Returns the delay until it runs again, if a time is a reason.
    async fn renew(&mut self) -> Option<Duration> {
        let output = self.command.run().await;
        let token = output.and_then(|output| {
            // It is known before anything of the output is logged.
            self.redactor.learn(&output.lines());
            let (token, stderr) = (output.token(), output.stderr_end(&self.redactor));
            match &token {
                _ if stderr.is_empty() => {}
                Ok(_) => tracing::info!("the token command wrote: {stderr}"),
                Err(_) => tracing::warn!("the token command wrote: {stderr}"),
            }
            token
        });
        match token {
            Ok(token) => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH);
                let remaining = remaining(&token, now.unwrap_or_default());
                if remaining.is_some_and(|it| it.is_zero()) {
                    tracing::warn!(
                        "the token command printed a token that has expired: check the clock"
                    );
                }
                self.latest.send_replace(Latest {
                    token: Some(token),
                    failure: None,
                });
                self.schedule.after_token(remaining)
            }
            Err(failure) => {
                tracing::warn!("the token command failed: {failure}");
                self.latest
                    .send_modify(|latest| latest.failure = Some(failure));
                Some(self.schedule.after_failure())
            }
        }
    }
}

/// Waits for the refusal of the latest token for which the command must run. Returns `None` when no
/// request can be refused any more. This function is cancel safe.
async fn next_refusal(
    refusals: &mut mpsc::Receiver<Refusal>,
    latest: &watch::Sender<Latest>,
    schedule: &mut RenewalSchedule,
) -> Option<Refusal> {
    loop {
        let refusal = refusals.recv().await?;
        let is_latest = latest.borrow().token.as_ref() == Some(&refusal.token);
        if is_latest && schedule.runs_after_refusal(Instant::now()) {
            return Some(refusal);
        }
    }
}

/// Waits until a time. Without one it never ends.
async fn sleep_until_due(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}

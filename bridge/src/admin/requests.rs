//! Executes the requests of the operator, and logs them.

use std::sync::Arc;
use std::time::Duration;

use bridge_auth::{Denial, DenyList, RealmId};
use bridge_protocol::{CallId, SessionId};
use bridge_realm::realm::RealmEnd;

use super::administration::Administration;
use super::denials::Storage;
use super::listing::date;
use super::messages::{
    AdminAnswer, AdminRequest, DenyRequest, EndRequest, Ended, Listed, UserSelector,
};
use super::user_selector::{MIN_HASH_DIGITS, only_one, realm_name};
use crate::cluster::ClusterNode;

/// The maximum length of a subject or reason that is stored with a denial.
const MAX_STORED_CHARS: usize = 256;

impl Administration {
    /// Executes a request of the user with this id, and logs it with the target `audit`.
    ///
    /// # Errors
    ///
    /// The reason, and what to do.
    pub(super) async fn execute(
        self: &Arc<Self>,
        request: AdminRequest,
        uid: u32,
    ) -> Result<AdminAnswer, String> {
        let has_subjects = !self.authenticator.issuers().is_empty();
        let log = AuditLine::new(&request, uid, has_subjects);
        let outcome = match request {
            AdminRequest::List(request) => self.list(&request).await,
            AdminRequest::End(request) => self.end(request),
            AdminRequest::Deny(request) => self.deny(request).await,
            AdminRequest::Allow(user) => self.allow(&user).await,
        };
        log.write(&outcome);
        outcome
    }

    fn end(&self, request: EndRequest) -> Result<AdminAnswer, String> {
        let EndRequest { what, user, reason } = request;
        match what {
            Ended::Page(id) => self.end_page(&user, SessionId::from(id)),
            Ended::Client(id) => {
                let mut realms = self.select(&user)?;
                realms.retain(|realm| self.mcp.has_client(*realm, &id));
                if realms.is_empty() || !self.mcp.end_client(only_one(&realms)?, &id) {
                    return Err(format!(
                        "no MCP session has the id {id:?}: see `admin clients`"
                    ));
                }
                let message = "The MCP session has ended.";
                Ok(AdminAnswer::message(message.to_owned()))
            }
            Ended::Call(id) => {
                let call = CallId(id);
                let realm = self.find(&user, |realm| realm.has_call(&call))?;
                let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
                let reason = format!("the operator of the bridge has ended the call{reason}");
                self.hub.cancel_call(realm, &call, &reason);
                Ok(AdminAnswer::message("The call has ended.".to_owned()))
            }
            Ended::User => {
                let realm = self.select_one(&user)?;
                let ended = self.close(realm).ok_or(
                    "nothing fits, because this user has no page, MCP session or call now: check the \
                     spelling, and see `admin users`",
                )?;
                let message = format!("The user is {}. {ended}", realm_name(realm));
                Ok(AdminAnswer::message(message))
            }
        }
    }

    fn end_page(&self, user: &UserSelector, id: SessionId) -> Result<AdminAnswer, String> {
        let realm = self.find(user, |realm| realm.session(&id).is_some())?;
        self.hub.apply(realm, |realm, now| {
            let effects = realm.closed_by_operator(&id, now);
            ((), effects.unwrap_or_default())
        });
        self.hub.remove_if_empty(realm);
        let message = "The page has ended. It connects again when it is reloaded.";
        Ok(AdminAnswer::message(message.to_owned()))
    }

    async fn deny(self: &Arc<Self>, request: DenyRequest) -> Result<AdminAnswer, String> {
        let realm = self.select_one(&request.user)?;
        let denial = Denial {
            subject: request.user.subject.map(shorten),
            reason: request.reason.map(shorten),
            ..Denial::for_duration(Duration::from_secs(request.seconds))
        };
        let until = denial.until;
        let (denied, storage) = self
            .change_denials(move |list| list.deny(realm, denial))
            .await?;
        let version = denied.map_err(|full| full.to_string())?;
        // Those who connect from now on are refused, and who was just admitted is checked again.
        self.authenticator.reverify();
        let ended = self.close(realm).unwrap_or_else(|| {
            "Nothing of this user is connected to this bridge now, so check the spelling."
                .to_owned()
        });
        let name = realm_name(realm);
        let date = date(until);
        let message = format!("The user {name} is denied until {date}. {ended}");
        let storage = self.publish(realm, version, until, storage).await;
        Ok(with_warning(message, storage))
    }

    async fn allow(self: &Arc<Self>, user: &UserSelector) -> Result<AdminAnswer, String> {
        let realm = self.select_one(user)?;
        let (allowed, storage) = self.change_denials(move |list| list.allow(realm)).await?;
        let version =
            allowed.ok_or_else(|| format!("the user {} is not denied", realm_name(realm)))?;
        let storage = self.publish(realm, version, 0, storage).await;
        let message = format!(
            "The user {} may connect again. Pages that were refused must be reloaded.",
            realm_name(realm)
        );
        Ok(with_warning(message, storage))
    }

    /// Publishes a decision to the other bridges, if there are any. Their directory stores it too.
    async fn publish(&self, realm: RealmId, version: u64, until: u64, storage: Storage) -> Storage {
        match &self.cluster {
            None => storage,
            Some(cluster) if cluster.publish_denial(realm, version, until).await => Storage::Stored,
            Some(_) => Storage::Unpublished,
        }
    }

    /// Applies what other bridges decide, as if it had been decided here.
    pub(crate) async fn follow(self: Arc<Self>, cluster: Arc<ClusterNode>) {
        loop {
            let changed = cluster.changed_denials().await;
            self.authenticator.reverify();
            for realm in changed {
                let is_denied = self.denials.list().check(realm).is_err();
                // A bridge that starts gets all denials.
                let has_to_end = is_denied && self.hub.is_occupied(realm);
                if let Some(ended) = has_to_end.then(|| self.close(realm)).flatten() {
                    let realm = realm_name(realm);
                    tracing::info!(target: "audit", realm, "another bridge has denied a user. {ended}");
                }
            }
            // The list has changed already.
            if let Err(error) = self.change_denials(|_| ()).await {
                tracing::error!("{error}");
            }
        }
    }

    /// Changes the list of denials on a thread that may wait for the disk.
    async fn change_denials<T: Send + 'static>(
        self: &Arc<Self>,
        change: impl FnOnce(&DenyList) -> T + Send + 'static,
    ) -> Result<(T, Storage), String> {
        let this = Arc::clone(self);
        let changed = tokio::task::spawn_blocking(move || this.denials.change(change));
        changed
            .await
            .map_err(|error| format!("the list could not be changed: {error}"))
    }

    /// Ends everything of a realm. Returns what has ended, or `None` if nothing of it exists.
    fn close(&self, realm: RealmId) -> Option<String> {
        let exists = self.hub.all_realms().contains(&realm);
        let counts = self.hub.with_realm(realm, |realm| {
            [
                realm.session_count(),
                realm.call_count(),
                realm.query_count(),
            ]
        });
        let [pages, calls, queries] = counts.unwrap_or_default();
        let sessions = self.mcp.forget_clients(realm);
        self.hub.close_realm(&realm, RealmEnd::EndedByOperator);
        exists.then(|| {
            format!(
                "Ended: pages {pages}, MCP sessions {sessions}, calls {calls}, queries {queries}."
            )
        })
    }
}

fn shorten(text: String) -> String {
    text.chars().take(MAX_STORED_CHARS).collect()
}

fn with_warning(message: String, storage: Storage) -> AdminAnswer {
    AdminAnswer::message(match storage.warning() {
        Some(warning) => format!("{message} {warning}"),
        None => message,
    })
}

/// The line in the log that records who has done what.
struct AuditLine {
    uid: u32,
    action: &'static str,
    /// The id of what is ended.
    id: Option<String>,
    user: UserSelector,
    reason: Option<String>,
    seconds: Option<u64>,
}

impl AuditLine {
    /// `has_subjects` is whether users can be named by subjects. What cannot be a name may be a token that
    /// was given by mistake, and is not logged. A token may also be of hexadecimal digits, so the line has
    /// only the first ones.
    fn new(request: &AdminRequest, uid: u32, has_subjects: bool) -> Self {
        let (action, id, user) = match request {
            AdminRequest::List(request) => {
                let action = match request.what {
                    Listed::Users => "list users",
                    Listed::Pages => "list pages",
                    Listed::Clients => "list clients",
                    Listed::Calls => "list calls",
                    Listed::Denied => "list denied",
                };
                (action, None, &request.user)
            }
            AdminRequest::End(request) => {
                let (action, id) = match &request.what {
                    Ended::Page(id) => ("end page", Some(id)),
                    Ended::Client(id) => ("end client", Some(id)),
                    Ended::Call(id) => ("end call", Some(id)),
                    Ended::User => ("end user", None),
                };
                (action, id, &request.user)
            }
            AdminRequest::Deny(request) => ("deny", None, &request.user),
            AdminRequest::Allow(user) => ("allow", None, user),
        };
        let (reason, seconds) = match request {
            AdminRequest::End(request) => (request.reason.clone(), None),
            AdminRequest::Deny(request) => (request.reason.clone(), Some(request.seconds)),
            AdminRequest::List(_) | AdminRequest::Allow(_) => (None, None),
        };
        let is_hash = |hash: &String| hash.bytes().all(|digit| digit.is_ascii_hexdigit());
        let shorten_hash = |mut hash: String| {
            hash.truncate(MIN_HASH_DIGITS);
            hash
        };
        let user = UserSelector {
            subject: user.subject.clone().filter(|_| has_subjects),
            issuer: user.issuer.clone(),
            realm: user.realm.clone().filter(is_hash).map(shorten_hash),
        };
        Self {
            uid,
            action,
            id: id.cloned(),
            user,
            reason,
            seconds,
        }
    }

    fn write(self, outcome: &Result<AdminAnswer, String>) {
        let (outcome, text) = match outcome {
            Ok(answer) => ("ok", answer.message.as_deref()),
            Err(error) => ("failed", Some(error.as_str())),
        };
        tracing::info!(
            target: "audit",
            uid = self.uid,
            action = self.action,
            id = self.id,
            subject = self.user.subject,
            issuer = self.user.issuer,
            realm = self.user.realm,
            reason = self.reason,
            seconds = self.seconds,
            outcome,
            result = text,
            "admin"
        );
    }
}

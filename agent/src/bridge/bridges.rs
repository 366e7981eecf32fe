//! The bridges that the agent serves. Each is recognized by its credentials, which no page has. The users,
//! queries and tools of one bridge cannot be reached from another one.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, RwLock};

use bridge_edge::{HostOriginPolicy, OriginCheck, TokenHash};
use bridge_protocol::QueryCaller;
use bridge_settings::Secret;
use http::{HeaderMap, Uri};

use super::AgentBridge;
use crate::config::DEFAULT_BRIDGE_NAME;
use crate::credential::{CredentialError, CredentialSource};

/// The number of a bridge in the order of the configuration. The default is the first one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct BridgeId(usize);

/// The bridges that the agent serves: at least one.
#[derive(Debug)]
pub(crate) struct Bridges {
    all: Vec<ServedBridge>,
    /// The token that is valid for metrics only.
    metrics_token: Option<TokenHash>,
    /// Held during a reload: one that has read files earlier must not replace what a later one has read.
    reloading: Mutex<()>,
}

/// A bridge that the agent serves.
#[derive(Debug)]
pub(crate) struct ServedBridge {
    pub(crate) name: String,
    /// The connection to it.
    pub(crate) client: AgentBridge,
    /// The maximum number of its queries that run at the same time.
    pub(crate) max_queries: usize,
    /// The origins of its pages that may send queries to the agent directly.
    pub(crate) frontends: HostOriginPolicy,
    pub(crate) credentials: AcceptedCredentials,
}

/// The credentials that are valid for one bridge.
#[derive(Debug)]
pub(crate) struct AcceptedCredentials {
    source: CredentialSource,
    accepted: RwLock<Vec<TokenHash>>,
}

impl AcceptedCredentials {
    /// Loads the credentials.
    pub(crate) fn load(source: CredentialSource) -> Result<Self, CredentialError> {
        let accepted = RwLock::new(hashes(&source)?);
        Ok(Self { source, accepted })
    }

    /// Returns the hashes of the valid credentials.
    fn accepted(&self) -> Vec<TokenHash> {
        self.read(<[TokenHash]>::to_vec)
    }

    fn accepts(&self, token: TokenHash) -> bool {
        self.read(|accepted| accepted.contains(&token))
    }

    /// Reads the hashes. A poisoned lock is used anyway, because no code panics while it holds the lock.
    fn read<T>(&self, read: impl FnOnce(&[TokenHash]) -> T) -> T {
        read(&self.accepted.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn replace(&self, accepted: Vec<TokenHash>) {
        *self
            .accepted
            .write()
            .unwrap_or_else(PoisonError::into_inner) = accepted;
    }
}

fn hashes(source: &CredentialSource) -> Result<Vec<TokenHash>, CredentialError> {
    let credentials = source.load()?;
    let hashes = credentials.iter();
    Ok(hashes
        .map(|it| TokenHash::from_token(it.expose()))
        .collect())
}

impl Bridges {
    /// Checks that each credential belongs to one bridge only, and that none is `metrics_token`.
    pub(crate) fn new(
        all: Vec<ServedBridge>,
        metrics_token: Option<&Secret>,
    ) -> Result<Self, CredentialError> {
        let bridges = Self {
            all,
            metrics_token: metrics_token.map(|it| TokenHash::from_token(it.expose())),
            reloading: Mutex::default(),
        };
        for id in bridges.ids() {
            bridges.check(id, &bridges.get(id).credentials.accepted())?;
        }
        Ok(bridges)
    }

    fn ids(&self) -> impl Iterator<Item = BridgeId> + use<> {
        (0..self.all.len()).map(BridgeId)
    }

    /// Returns a bridge.
    pub(crate) fn get(&self, id: BridgeId) -> &ServedBridge {
        &self.all[id.0]
    }

    /// Returns the bridge that has this credential. All comparisons are of hashes, so that their
    /// duration reveals nothing about a credential.
    pub(crate) fn with_credential(&self, token: TokenHash) -> Option<BridgeId> {
        let mut ids = self.ids();
        ids.find(|id| self.get(*id).credentials.accepts(token))
    }

    /// Returns the bridge that can verify the token of a frontend: the only one, or the only one that has
    /// the origin of the request. The token is sent to no other bridge.
    pub(crate) fn of_frontend(&self, headers: &HeaderMap) -> Option<BridgeId> {
        if let [_] = self.all[..] {
            return Some(BridgeId(0));
        }
        let has_origin = |id: &BridgeId| {
            let origin = (self.get(*id).frontends).check_origin(&Uri::default(), headers);
            matches!(origin, OriginCheck::Allowed(_))
        };
        let mut fitting = self.ids().filter(has_origin);
        let first = fitting.next()?;
        fitting.next().is_none().then_some(first)
    }

    pub(crate) fn is_metrics_token(&self, token: TokenHash) -> bool {
        self.metrics_token == Some(token)
    }

    pub(crate) fn has_metrics_token(&self) -> bool {
        self.metrics_token.is_some()
    }

    /// Names the user of a caller so that no user of another bridge has the same name. Users of the
    /// bridge `default` have the names of an agent with one bridge. Names of bridges have no colon, so
    /// that the bridge can be read from each name.
    pub(crate) fn qualify(&self, id: BridgeId, caller: QueryCaller) -> QueryCaller {
        let name = &self.get(id).name;
        if name == DEFAULT_BRIDGE_NAME && !caller.user.contains(':') {
            return caller;
        }
        QueryCaller {
            user: format!("{name}:{}", caller.user),
            ..caller
        }
    }

    /// Loads the files with credentials again. A file that cannot be used changes nothing for its
    /// bridge, and nothing for others.
    ///
    /// # Errors
    ///
    /// The first error, after all files were loaded.
    pub(crate) fn reload(&self) -> Result<(), CredentialError> {
        let _one_at_a_time = self.reloading.lock();
        // A bridge may get a credential that a later one has given up.
        self.reload_each().or_else(|_| self.reload_each())
    }

    fn reload_each(&self) -> Result<(), CredentialError> {
        let reloaded = self.ids().map(|id| -> Result<(), CredentialError> {
            let credentials = &self.get(id).credentials;
            let accepted = hashes(&credentials.source)?;
            self.check(id, &accepted)?;
            credentials.replace(accepted);
            Ok(())
        });
        let outcomes: Vec<_> = reloaded.collect();
        outcomes.into_iter().collect()
    }

    /// Allows pages of these origins to send queries to the agent directly from now on, and no others of
    /// the bridge.
    pub(crate) fn replace_frontends(&self, name: &str, frontends: &HostOriginPolicy) {
        if let Some(bridge) = self.all.iter().find(|bridge| bridge.name == name) {
            bridge.frontends.replace(frontends);
        }
    }

    /// Returns the files with credentials, which can change while the agent runs.
    pub(super) fn credential_files(&self) -> Vec<PathBuf> {
        let files = self
            .all
            .iter()
            .filter_map(|it| it.credentials.source.file());
        files.map(Path::to_owned).collect()
    }

    /// Checks that no other bridge has one of these credentials.
    fn check(&self, id: BridgeId, accepted: &[TokenHash]) -> Result<(), CredentialError> {
        let name = || self.get(id).name.clone();
        if accepted.iter().any(|token| self.is_metrics_token(*token)) {
            return Err(CredentialError::MetricsToken(name()));
        }
        let others = self.ids().filter(|other| *other != id);
        let mut others = others.map(|other| self.get(other));
        let is_shared =
            |other: &&ServedBridge| accepted.iter().any(|it| other.credentials.accepts(*it));
        match others.find(is_shared) {
            Some(other) => Err(CredentialError::Ambiguous(name(), other.name.clone())),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
impl BridgeId {
    /// The number of a second bridge.
    pub(crate) const SECOND: Self = Self(1);
}

#[cfg(test)]
impl Bridges {
    /// Returns the only bridge of an agent.
    pub(crate) fn only(client: AgentBridge) -> Self {
        let credential = CredentialSource::Setting("token", Secret::random());
        Self::new(vec![tests::bridge("default", client, credential)], None).unwrap()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::LazyLock;

    use bridge_protocol::SessionId;
    use http::header::ORIGIN;
    use proptest::prelude::*;

    use super::*;

    pub(in super::super) fn bridge(
        name: &str,
        client: AgentBridge,
        source: CredentialSource,
    ) -> ServedBridge {
        let hosts = ["loopback".to_owned()];
        let origins = [format!("https://{name}.example")];
        let frontends = HostOriginPolicy::new("agent", &hosts, &origins).unwrap();
        ServedBridge {
            name: name.to_owned(),
            client,
            max_queries: usize::MAX,
            frontends: frontends.without_own_origin(),
            credentials: AcceptedCredentials::load(source).unwrap(),
        }
    }

    fn client() -> AgentBridge {
        static CLIENT: LazyLock<AgentBridge> = LazyLock::new(|| {
            let url = "http://127.0.0.1:9".parse().unwrap();
            AgentBridge::new(url).unwrap()
        });
        CLIENT.clone()
    }

    fn inline(token: &str) -> CredentialSource {
        CredentialSource::Setting("credential", Secret::from_trusted(token.to_owned()))
    }

    /// Returns bridges whose credentials are in files of this folder.
    pub(in super::super) fn with_files(folder: &Path, names: &[&str]) -> Bridges {
        let all = names.iter().map(|name| {
            let path = folder.join(name);
            std::fs::write(&path, credential(name, 1)).unwrap();
            bridge(
                name,
                client(),
                CredentialSource::File("credential_file", path),
            )
        });
        Bridges::new(all.collect(), None).unwrap()
    }

    pub(in super::super) fn credential(name: &str, number: usize) -> String {
        format!("credential-{number}-of-the-bridge-{name}\n")
    }

    pub(in super::super) fn has(bridges: &Bridges, credential: &str) -> Option<BridgeId> {
        bridges.with_credential(TokenHash::from_token(credential.trim()))
    }

    fn caller(user: &str) -> QueryCaller {
        QueryCaller {
            user: user.to_owned(),
            sub: None,
            roles: Vec::new(),
            self_made: false,
            app: String::new(),
            app_description: None,
            origin: None,
            session: SessionId::from("s"),
        }
    }

    #[test]
    fn the_credential_decides_about_the_bridge() {
        let of = |name: &str| inline(credential(name, 1).trim_end());
        let all = ["default", "shop"].map(|name| bridge(name, client(), of(name)));
        let bridges = Bridges::new(all.into(), None).unwrap();
        for (number, name) in ["default", "shop"].into_iter().enumerate() {
            assert_eq!(has(&bridges, &credential(name, 1)), Some(BridgeId(number)));
        }
        assert_eq!(has(&bridges, &credential("shop", 2)), None);
    }

    #[test]
    fn a_credential_that_does_not_decide_is_refused() {
        let token = "one-credential-of-two-bridges";
        let two = || ["a", "b"].map(|name| bridge(name, client(), inline(token)));
        let error = Bridges::new(two().into(), None).unwrap_err().to_string();
        assert!(
            error.contains("`a` and `b`") && !error.contains(token),
            "{error}"
        );
        let [one, _] = two();
        let metrics = Secret::from_trusted(token.to_owned());
        let error = Bridges::new(vec![one], Some(&metrics)).unwrap_err();
        assert!(error.to_string().contains("`metrics_token`"), "{error}");
    }

    #[test]
    fn a_reload_accepts_old_and_new_and_one_bad_file_changes_only_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let bridges = with_files(folder.path(), &["a", "b"]);
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).unwrap();
            bridges.reload().map_err(|error| error.to_string())
        };
        let [a, b] = [0, 1].map(|number| Some(BridgeId(number)));
        let [old, new] = [1, 2].map(|number| credential("a", number));
        write("a", &format!("{old}{new}")).unwrap();
        assert_eq!((has(&bridges, &old), has(&bridges, &new)), (a, a));
        write("a", &new).unwrap();
        assert_eq!((has(&bridges, &old), has(&bridges, &new)), (None, a));
        // While `a` has no credential, or that of `b`, the former stays valid and `b` can change.
        std::fs::write(folder.path().join("a"), "").unwrap();
        let error = write("b", &credential("b", 2)).unwrap_err();
        assert!(error.contains("no credential"), "{error}");
        let error = write("a", &credential("b", 2)).unwrap_err();
        assert!(error.contains("same credential"), "{error}");
        assert_eq!(has(&bridges, &new), a);
        assert_eq!(has(&bridges, &credential("b", 2)), b);
        assert_eq!(has(&bridges, &credential("b", 1)), None);
        write("b", &credential("b", 3)).unwrap();
        assert_eq!(has(&bridges, &credential("b", 2)), a, "it has moved");
    }

    #[test]
    fn a_frontend_belongs_to_the_bridge_of_its_origin() {
        let from = |origin: Option<&str>| {
            let origin = origin.map(|it| (ORIGIN, it.parse().unwrap()));
            origin.into_iter().collect::<HeaderMap>()
        };
        let [a, b] =
            ["a", "b"].map(|name| bridge(name, client(), inline(credential(name, 1).trim_end())));
        let two = Bridges::new(vec![a, b], None).unwrap();
        let same_origin = [1, 2].map(|number| {
            let credential = credential("a", number);
            bridge("a", client(), inline(credential.trim_end()))
        });
        let same_origin = Bridges::new(same_origin.into(), None).unwrap();
        let of_both = same_origin.of_frontend(&from(Some("https://a.example")));
        assert_eq!(of_both, None, "a user of which one?");
        let only = Bridges::only(client());
        for (origin, expected) in [
            (Some("https://a.example"), Some(BridgeId(0))),
            (Some("https://b.example"), Some(BridgeId(1))),
            (Some("https://c.example"), None),
            (None, None),
        ] {
            assert_eq!(two.of_frontend(&from(origin)), expected, "{origin:?}");
            assert_eq!(only.of_frontend(&from(origin)), Some(BridgeId(0)));
        }
    }

    #[test]
    fn users_of_a_single_bridge_have_their_names() {
        let only = Bridges::only(client());
        let qualified = only.qualify(BridgeId(0), caller("ada"));
        assert_eq!(qualified.user, "ada");
    }

    proptest! {
        /// Whatever names bridges give their users, those of two bridges differ.
        #[test]
        fn no_user_has_the_name_of_a_user_of_another_bridge(
            names in proptest::collection::vec("[ab:]{0,6}|(default|a|b-1):[ab:]{0,3}", 2),
            ids in proptest::collection::vec(0..3_usize, 2),
        ) {
            let all = ["default", "a", "b-1"];
            let all = all.map(|name| bridge(name, client(), inline(credential(name, 1).trim_end())));
            let bridges = Bridges::new(all.into(), None).unwrap();
            let user = |index: usize| {
                bridges.qualify(BridgeId(ids[index]), caller(&names[index])).user
            };
            let is_same = ids[0] == ids[1] && names[0] == names[1];
            prop_assert_eq!(user(0) == user(1), is_same);
        }
    }
}

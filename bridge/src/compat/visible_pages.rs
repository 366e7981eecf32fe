//! The pages that a request can see, and which of them it selects.

use bridge_compat::json_rpc::Meta;
use bridge_compat::page_entry::ListedPage;
use bridge_compat::page_selector::PageSelector;
use bridge_protocol::{QueryId, SessionId};
use bridge_realm::realm::{Realm, Session};

/// The pages of a token, or the page of a query.
#[derive(Clone, Copy)]
pub(super) struct VisiblePages<'a> {
    realm: &'a Realm,
    only: Option<&'a SessionId>,
    query: Option<&'a QueryId>,
}

type Page<'a> = (&'a SessionId, &'a Session);

impl<'a> VisiblePages<'a> {
    pub(super) fn new(
        realm: &'a Realm,
        only: Option<&'a SessionId>,
        query: Option<&'a QueryId>,
    ) -> Self {
        Self { realm, only, query }
    }

    /// Checks that the query of a request, if it has one, may call this tool. The error lists the
    /// allowed tools.
    pub(super) fn check_tool_allowed(self, tool: &str) -> Result<(), Vec<String>> {
        let Some(query) = self.query else {
            return Ok(());
        };
        let allowed = self.realm.check_tool_allowed(query, tool);
        allowed.map_err(|error| error.allowed)
    }

    /// The number of visible pages.
    pub(super) fn count(self) -> usize {
        match self.only {
            Some(id) => usize::from(self.realm.session(id).is_some()),
            None => self.realm.session_count(),
        }
    }

    /// The pages in the order in which they connected.
    pub(super) fn iter(self) -> impl Iterator<Item = Page<'a>> {
        let is_visible = move |(id, _): &Page<'a>| self.only.is_none_or(|only| *id == only);
        self.realm.iter_sessions().filter(is_visible)
    }

    /// The selected page; `None` also if the selector matches several pages.
    pub(super) fn selected(self, selector: &PageSelector) -> Option<Page<'a>> {
        match selector {
            PageSelector::Session(id) => {
                let found = self.realm.session(id);
                found.filter(|_| self.only.is_none_or(|only| only == id))
            }
            PageSelector::Any if self.count() == 1 => self.iter().next(),
            PageSelector::Any | PageSelector::Invalid => None,
        }
    }

    /// The page that `_meta` of a call names, under the key of this bridge or under `sessionId`.
    /// Clients other than those of mcp-web 0.1 put their own ids under `sessionId`, so an id there
    /// that does not belong to a current or recent page is ignored.
    pub(super) fn selector_from_meta(self, meta: &Meta<'_>) -> PageSelector {
        if meta.own_session.is_some() {
            return PageSelector::from_raw(meta.own_session);
        }
        match PageSelector::from_raw(meta.session()) {
            PageSelector::Session(id) if self.realm.knows_session_id(&id) => {
                PageSelector::Session(id)
            }
            _ => PageSelector::Any,
        }
    }

    /// Whether one of the pages has a tool of this name.
    pub(super) fn has_tool(self, name: &str) -> bool {
        self.iter().any(|(_, page)| page.tool(name).is_some())
    }

    /// The entries of all pages for clients.
    pub(super) fn entries(self) -> Vec<ListedPage> {
        self.iter()
            .map(|(id, page)| ListedPage::new(page.summary(id), self.tool_names(page)))
            .collect()
    }

    /// The names of the tools of a page, in the order of registration. For a query, only the tools
    /// that it may call.
    pub(super) fn tool_names(self, page: &Session) -> Vec<String> {
        let names = page.tools().map(|tool| tool.name());
        names
            .filter(|name| self.check_tool_allowed(name).is_ok())
            .map(str::to_owned)
            .collect()
    }
}

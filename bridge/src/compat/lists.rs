//! Collects the lists of the pages that a request can see. They are collected under the realm's
//! lock and written after the lock is released.

use std::collections::HashSet;

use bridge_auth::RealmId;
use bridge_compat::call_rejection::CallRejection;
use bridge_compat::lists::{ItemList, LIST_SESSIONS, ToolList};
use bridge_compat::page_entry::ListedPage;
use bridge_compat::page_selector::PageSelector;
use bridge_protocol::ErrorCode;
use bridge_realm::realm::Session;

use crate::budget::WorkOrder;
use crate::compat::visible_pages::VisiblePages;
use crate::hub::tool_list_work;

/// Lists the tools of the selected page or, if there are several pages and none is selected, those
/// of all pages. If several pages have a tool with the same name, the tool of the first page is
/// listed. Returns `None` if no page is selected and fewer than two are connected.
pub(super) fn tools(pages: VisiblePages<'_>, wanted: &PageSelector) -> Option<ToolList> {
    let (page, choices) = selected_or_choices(pages, wanted)?;
    // If a page has a tool with the name of the bridge's tool, the page's tool is listed instead.
    let has_list_sessions =
        pages.check_tool_allowed(LIST_SESSIONS).is_ok() && !pages.has_tool(LIST_SESSIONS);
    let tools = match page {
        Some(page) => {
            let tools = page.tools();
            let allowed = tools.filter(|tool| pages.check_tool_allowed(tool.name()).is_ok());
            allowed.cloned().collect()
        }
        None => {
            let mut names = HashSet::new();
            let all = pages.iter().flat_map(|(_, page)| page.tools());
            all.filter(|tool| names.insert(tool.name()))
                .cloned()
                .collect()
        }
    };
    Some(ToolList {
        tools,
        has_list_sessions,
        choices,
    })
}

/// The work of a token to write a list of tools; `None` if that is little.
pub(super) fn work_order(list: &ToolList, realm: RealmId) -> Option<WorkOrder> {
    let several = list.choices.is_some();
    tool_list_work(realm, &list.tools, |tool| tool.is_listing_cached(several))
}

/// Lists the resources of the selected page.
pub(super) fn resources(pages: VisiblePages<'_>, wanted: &PageSelector) -> Option<ItemList> {
    let (page, choices) = selected_or_choices(pages, wanted)?;
    let resources = page.into_iter().flat_map(Session::resources);
    Some(ItemList::resources(resources, choices))
}

/// Lists no prompts.
pub(super) fn prompts(pages: VisiblePages<'_>, wanted: &PageSelector) -> Option<ItemList> {
    let (_, choices) = selected_or_choices(pages, wanted)?;
    Some(ItemList::prompts(choices))
}

/// The selected page, or the pages that the client must choose from; `None` if no page is selected
/// and fewer than two are connected.
fn selected_or_choices<'a>(
    pages: VisiblePages<'a>,
    wanted: &PageSelector,
) -> Option<(Option<&'a Session>, Option<Vec<ListedPage>>)> {
    match pages.selected(wanted) {
        Some((_, page)) => Some((Some(page), None)),
        None if pages.count() < 2 => None,
        None => Some((None, Some(pages.entries()))),
    }
}

/// The selected page is not connected, or the client did not choose between several pages.
pub(super) fn unresolved_session(pages: VisiblePages<'_>) -> CallRejection {
    if pages.count() < 2 {
        CallRejection::from_code(ErrorCode::SessionNotFound)
    } else {
        CallRejection::session_not_specified(pages.entries())
    }
}

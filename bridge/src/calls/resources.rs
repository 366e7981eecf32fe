//! The MCP method `resources/read`.

use std::sync::Arc;

use bridge_protocol::{ErrorCode, Kind};
use serde_json::{Map, Value};

use super::call_record::{CallRecord, Recorded};
use super::{CallOptions, RoundOutcome, in_flight};
use crate::calls::delivery_limits::{enforce_contents_limit, parse_list};
use crate::counters::{CallKind, CountedEnd};
use crate::hub::Hub;
use bridge_mcp_results::page_object::AnswerList;
use bridge_mcp_results::request_error::RequestError;
use bridge_realm::realm::{CallOutcome, PageRequest, Realm, ResourceMatch, RoutingError};

/// Requests the contents of a resource from a page, and returns the page's MCP
/// `ReadResourceResult`.
pub(crate) async fn read_resource(
    hub: &Arc<Hub>,
    mut caller: CallOptions<'_>,
    uri: String,
) -> Recorded<Result<RoundOutcome<Map<String, Value>>, RequestError>> {
    let record = CallRecord::begin(hub, CallKind::Resource, &mut caller, &uri, || None);
    let outcome = run(hub, caller, uri).await;
    record.of(outcome, CountedEnd::from_round)
}

async fn run(
    hub: &Hub,
    mut caller: CallOptions<'_>,
    uri: String,
) -> Result<RoundOutcome<Map<String, Value>>, RequestError> {
    let what = format!("resource `{uri}`");
    let outcome = match caller.resume_token.take() {
        Some(resume_token) => in_flight::run_resumed(hub, &mut caller, resume_token).await?,
        None => {
            let target = caller.target();
            let route = |realm: &Realm| realm.route_resource(&uri, &target);
            let waited = caller.wait_for_item(hub, (Kind::Resource, &uri), &target);
            waited.await.map_err(RequestError::Failed)?;
            let found = hub.with_realm(caller.realm, route);
            let no_pages = || {
                let (name, available) = (uri.clone(), Vec::new());
                Err(RoutingError::NotFound { name, available })
            };
            let (session, matched) = found
                .unwrap_or_else(no_pages)
                .map_err(RequestError::not_routed(Kind::Resource))?;
            let template = match matched {
                ResourceMatch::Exact => None,
                ResourceMatch::Template(template, variables) => Some((template, variables)),
            };
            let uri = uri.clone();
            in_flight::run(
                hub,
                &mut caller,
                &session,
                PageRequest::Resource { uri, template },
            )
            .await
        }
    };
    match outcome {
        RoundOutcome::InputRequired {
            resume_token,
            requests,
        } => Ok(RoundOutcome::InputRequired {
            resume_token,
            requests,
        }),
        RoundOutcome::Complete(CallOutcome::Failed(failure))
            if failure.code == ErrorCode::ResourceNotFound =>
        {
            let why = failure.message;
            Err(RequestError::ResourceNotFound { uri, why })
        }
        RoundOutcome::Complete(CallOutcome::Failed(failure)) => Err(RequestError::Failed(failure)),
        RoundOutcome::Complete(CallOutcome::Answered(answer)) => {
            let contents = AnswerList::Contents { uri };
            let result = parse_list(hub, caller.realm, (&what, contents), answer).await?;
            let result = enforce_contents_limit(hub, &caller, &what, result, None).await?;
            Ok(RoundOutcome::Complete(result))
        }
    }
}

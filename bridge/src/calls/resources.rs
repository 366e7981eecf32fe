//! `resources/read`.

use bridge_protocol::{ErrorCode, Kind};
use serde_json::{Map, Value};

use super::fitting::{contents, object_with};
use super::{CallError, Caller, Outcome, attend, hint, no_route};
use crate::hub::Hub;
use crate::realm::{Ending, Request, RouteError, Served};

/// Has a page read a resource: the MCP `ReadResourceResult`, as the page wrote it.
pub(crate) async fn read_resource(
    hub: &Hub,
    mut caller: Caller<'_>,
    uri: String,
) -> Result<Outcome<Map<String, Value>>, CallError> {
    let what = format!("resource `{uri}`");
    let outcome = match caller.resumes.take() {
        Some(ticket) => attend::resume(hub, &mut caller, ticket).await?,
        None => {
            let found = hub.read(caller.realm, |realm| {
                realm.route_resource(&uri, &caller.target())
            });
            let (session, served) = match found.unwrap_or(Err(RouteError::NoSessions)) {
                Ok(found) => found,
                Err(RouteError::NoSessions) => {
                    let why = hint(Kind::Resource, &[]);
                    return Err(CallError::ResourceNotFound { uri, why });
                }
                Err(error) => return Err(no_route(Kind::Resource, error)),
            };
            let template = match served {
                Served::Itself => None,
                Served::Through(template, variables) => Some((template, variables)),
            };
            let uri = uri.clone();
            attend::start(
                hub,
                &mut caller,
                &session,
                Request::Resource { uri, template },
            )
            .await
        }
    };
    match outcome {
        Outcome::InputRequired { ticket, requests } => {
            Ok(Outcome::InputRequired { ticket, requests })
        }
        Outcome::Done(Ending::Failed(failure)) if failure.code == ErrorCode::ResourceNotFound => {
            let why = failure.message;
            Err(CallError::ResourceNotFound { uri, why })
        }
        Outcome::Done(Ending::Failed(failure)) => Err(CallError::Failed(failure)),
        Outcome::Done(Ending::Answered(answer)) => {
            let result = object_with(&what, "contents", answer).await?;
            let client = (caller.realm, caller.takes);
            let result = contents(hub, client, &what, result, None).await?;
            Ok(Outcome::Done(result))
        }
    }
}

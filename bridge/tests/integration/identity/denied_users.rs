//! Users of signed tokens to whom the operator denies access.

use bridge_protocol::ErrorCode;

use super::mock_issuer::*;
use crate::kit::operator::Operator;
use crate::kit::*;

#[tokio::test]
async fn a_denied_subject_is_refused_whatever_its_tokens() {
    let operator = Operator::new();
    let mut config = config_with_secret();
    config.admin.admin_socket = Some(operator.socket());
    let bridge = start_bridge_with(config).await;
    let key = Signer::hs256();
    let (ann, ben) = (key.token("ann"), key.token("ben"));
    let mut page = Page::connect(&bridge, "s", &ann).await;
    let mut other_page = Page::connect(&bridge, "s", &ben).await;
    let (users, _) = operator.list("users").await;
    let mut subjects: Vec<_> = users.iter().map(|it| it["subject"].clone()).collect();
    subjects.sort_by_key(ToString::to_string);
    assert_eq!(subjects, ["ann", "ben"]);

    let answer = operator.run("deny ann --for 2h --reason phone-lost").await;
    assert!(answer.contains("pages 1,"), "{answer}");
    assert!(answer.contains("set `state_dir`"), "{answer}");
    page.read_forever().await;
    let newer_token = key.sign(&claims("ann", ALL_SCOPES, 900.0));
    for token in [&ann, &newer_token] {
        assert_eq!(get_tools(&bridge.url(), token).await.0, 403);
        let mut refused = Page::open(&bridge, "s2", None).await;
        refused.authenticate("s2", token).await;
        let failure = refused.recv_authentication_failure().await;
        assert_eq!(failure.code, ErrorCode::AccessDenied);
        assert_eq!(refused.recv_close().await.0, 1008);
    }
    // Another subject is not affected.
    assert_eq!(get_tools(&bridge.url(), &ben).await.0, 200);
    assert!(other_page.renew(&ben).await.is_ok());
    let (denied, _) = operator.list("denied").await;
    assert_eq!(denied.len(), 1);
    assert_eq!(denied[0]["subject"], "ann");
    assert_eq!(denied[0]["reason"], "phone-lost");

    // A user with nothing here may be a mistake, but may also be denied in advance.
    let error = operator.error("end user typo").await;
    assert!(error.contains("nothing fits"), "{error}");
    assert!(error.contains("check the spelling"), "{error}");
    let answer = operator.run("deny typo").await;
    assert!(
        answer.contains(
            "Nothing of this user is connected to this bridge now, so check the spelling."
        ),
        "{answer}"
    );
    operator.run("allow typo").await;
    assert!(operator.error("allow ben").await.contains("is not denied"));
    operator.run("allow ann").await;
    assert_eq!(get_tools(&bridge.url(), &ann).await.0, 200);
}

//! Profiles and the tools that they allow, and the texts and records of the steps of a call.

use std::sync::atomic::Ordering;

use tokio::time::Instant;

use super::*;

const PROFILES: &str = "
[profiles.staff]
roles = ['staff']
allow = ['s-*']
deny = ['*-destroy']
grant = ['read', 'write', 'destructive']
ask = ['write']
rate = { read = '3/h' }

[profiles.anyone]
allow = ['s-read']
grant = ['read']
self_made = true
";

fn source() -> Arc<FakeSource> {
    Arc::new(FakeSource::new("s"))
}

fn access(source: &Arc<FakeSource>, caller: &QueryCaller) -> SourceAccess {
    let sources = sources(PROFILES, vec![Arc::clone(source) as _]);
    sources
        .access("default", Some(caller), None, &"q".into())
        .unwrap()
}

fn names(tools: &[Arc<OfferedTool>]) -> Vec<&str> {
    tools.iter().map(|tool| tool.name.as_str()).collect()
}

#[tokio::test]
async fn a_denied_tool_is_neither_offered_nor_called() {
    let access = access(&source(), &staff("ada"));
    assert_eq!(names(&access.tools().await), ["s-read", "s-write"]);
    for denied in ["s-destroy", "s-search"] {
        let output = call(&access, denied, json!({})).await;
        assert_eq!(output.outcome, CallStatus::Denied, "{denied}");
        assert!(
            output.text.contains("Do not request it again"),
            "{}",
            output.text
        );
    }
    let allowed = call(&access, "s-read", json!({ "text": "t" })).await;
    let expected = r#"{"tool":"read","arguments":{"text":"t"},"user":"ada"}"#;
    assert_eq!(allowed.text, expected);
}

#[tokio::test]
async fn the_first_profile_that_admits_the_caller_is_the_default() {
    let sources = sources(PROFILES, vec![source()]);
    let profile = |caller: Option<&QueryCaller>, requested: Option<&str>| {
        let access = sources.access("default", caller, requested, &"q".into());
        access.map(|access| access.profile().map(|profile| profile.name.clone()))
    };
    let ada = staff("ada");
    let self_made = QueryCaller {
        roles: Vec::new(),
        self_made: true,
        ..staff("eve")
    };
    let named = |name: &str| Some(name.to_owned());
    assert_eq!(profile(Some(&ada), None).unwrap(), named("staff"));
    assert_eq!(
        profile(Some(&ada), Some("anyone")).unwrap(),
        named("anyone")
    );
    assert_eq!(profile(Some(&self_made), None).unwrap(), named("anyone"));
    assert_eq!(profile(None, None).unwrap(), None);
    let refused = profile(Some(&self_made), Some("staff")).unwrap_err();
    assert_eq!(refused.code, bridge_protocol::ErrorCode::InsufficientScope);
    let unknown = profile(Some(&self_made), Some("root")).unwrap_err();
    assert_eq!(refused.message.replace("staff", "root"), unknown.message);
}

#[tokio::test]
async fn a_self_made_token_gets_no_source_unless_a_profile_allows_it() {
    let self_made = QueryCaller {
        self_made: true,
        ..staff("eve")
    };
    let only_staff = sources(
        "[profiles.staff]\nroles = ['staff']\nallow = ['*']\ngrant = ['read']",
        vec![source()],
    );
    let access = only_staff
        .access("default", Some(&self_made), None, &"q".into())
        .unwrap();
    assert!(access.tools().await.is_empty());
    let output = call(&access, "s-read", json!({})).await;
    assert_eq!(output.outcome, CallStatus::Denied);
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_refused_with_path_and_rule() {
    let access = access(&source(), &staff("ada"));
    let output = call(&access, "s-read", json!({ "text": 1, "more": true })).await;
    assert_eq!(output.outcome, CallStatus::InvalidArguments);
    assert!(
        output.text.contains("text") && output.text.contains("string"),
        "{}",
        output.text
    );
}

#[tokio::test]
async fn a_tool_without_approval_is_not_called() {
    let source = source();
    let access = access(&source, &staff("ada"));
    for (approval, text) in [
        (Approval::Denied, "The person did not approve this call."),
        (Approval::Expired, "Nobody approved this call within 2m."),
    ] {
        let output = call_after(&access, "s-write", json!({}), approval).await;
        assert_eq!(output.outcome, CallStatus::Denied);
        assert!(output.text.starts_with(text), "{}", output.text);
    }
    assert_eq!(source.max_running.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_rate_is_that_of_one_user_and_its_refusal_has_the_time_to_wait() {
    let source = source();
    let sources = sources(PROFILES, vec![Arc::clone(&source) as _]);
    let of = |user: &str| {
        sources
            .access("default", Some(&staff(user)), None, &"q".into())
            .unwrap()
    };
    for _ in 0..3 {
        assert!(!call(&of("ada"), "s-read", json!({})).await.is_error());
    }
    let output = call(&of("ada"), "s-read", json!({})).await;
    assert_eq!(output.outcome, CallStatus::RateLimited);
    assert!(
        output.text.contains("retryAfter: 1200 s"),
        "{}",
        output.text
    );
    assert!(!call(&of("bob"), "s-read", json!({})).await.is_error());
}

#[tokio::test]
async fn a_user_has_a_share_of_the_calls_that_run_at_the_same_time() {
    let source = source();
    let access = access(&source, &staff("ada"));
    let calls = (0..6).map(|_| call(&access, "s-write", json!({})));
    let outputs = futures_util::future::join_all(calls).await;
    assert!(outputs.iter().all(|output| !output.is_error()));
    assert_eq!(source.max_running.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_takes_too_long_may_have_happened_if_it_changes_something() {
    let source = Arc::new(FakeSource {
        hangs: true,
        ..FakeSource::new("s")
    });
    let access = access(&source, &staff("ada"));
    let started = Instant::now();
    let read = call(&access, "s-read", json!({})).await;
    assert_eq!(
        (read.outcome, started.elapsed()),
        (CallStatus::Timeout, TIMEOUT)
    );
    assert!(!read.text.contains("may have happened"), "{}", read.text);
    let write = call(&access, "s-write", json!({})).await;
    assert!(
        write.text.contains("It may have happened all the same"),
        "{}",
        write.text
    );
}

#[tokio::test]
async fn every_call_is_audited_also_one_that_is_refused_or_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let source = Arc::new(FakeSource {
        hangs: true,
        ..FakeSource::new("slow")
    });
    let audit = AuditLog::open(path.clone()).unwrap();
    let profiles = PROFILES.replace("s-*", "*");
    let sources = sources_with_audit(&profiles, vec![self::source(), source], audit);
    let access = sources
        .access("default", Some(&staff("ada")), None, &"query".into())
        .unwrap();
    call(&access, "s-read", json!({ "text": "t" })).await;
    call(&access, "s-destroy", json!({})).await;
    call(&access, "s-read", json!({ "text": 1 })).await;
    let cancelled = call(&access, "slow-read", json!({}));
    assert!(
        tokio::time::timeout(Duration::from_millis(1), cancelled)
            .await
            .is_err()
    );
    for approval in [Approval::Granted, Approval::Denied] {
        call_after(&access, "s-write", json!({}), approval).await;
    }
    sources.stop().await;
    let text = std::fs::read_to_string(path).unwrap();
    let lines: Vec<Value> = text
        .lines()
        .map(|it| serde_json::from_str(it).unwrap())
        .collect();
    let fields = |line: &Value| {
        ["source", "tool", "outcome"].map(|key| line[key].as_str().unwrap().to_owned())
    };
    let fields: Vec<_> = lines.iter().map(fields).collect();
    let expected = [
        ["s", "read", "ok"],
        ["s", "destroy", "denied"],
        ["s", "read", "invalid_args"],
        ["slow", "read", "cancelled"],
        ["s", "write", "ok"],
        ["s", "write", "denied"],
    ];
    assert_eq!(fields, expected.map(|line| line.map(str::to_owned)));
    assert_eq!(lines[0]["arguments"], json!({ "text": "t" }));
    let approvals = lines.iter().map(|line| line["approval"].as_str());
    let expected = [None, None, None, None, Some("granted"), Some("denied")];
    assert_eq!(approvals.collect::<Vec<_>>(), expected);
    for line in &lines {
        for (key, value) in [("user", "ada"), ("profile", "staff"), ("query", "query")] {
            assert_eq!(line[key], value, "{line}");
        }
    }
    let metrics = sources.records.metrics.encode(0);
    let denied = r#"tool_calls_total{source="s",outcome="denied"} 2"#;
    assert!(metrics.contains(denied), "{metrics}");
}

#[tokio::test]
async fn no_source_is_called_while_the_audit_file_cannot_be_written() {
    let source = source();
    let sources = sources_without_audit(PROFILES, vec![Arc::clone(&source) as _]).await;
    let access = sources
        .access("default", Some(&staff("ada")), None, &"q".into())
        .unwrap();
    let refused = call(&access, "s-write", json!({})).await;
    assert!(refused.text.contains("audit file"), "{}", refused.text);
    assert_eq!(source.max_running.load(Ordering::SeqCst), 0);
    let metrics = sources.records.metrics.encode(0);
    assert!(
        metrics.contains(r#"tool_calls_total{source="s",outcome="unavailable"} 1"#),
        "{metrics}"
    );
}

#[tokio::test]
async fn a_query_has_a_bounded_size_of_definitions() {
    let names: Vec<_> = (0..3000).map(|n| format!("tool_{n}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let sources = sources(
        "[profiles.all]\nallow = ['*']\ngrant = ['read']",
        vec![source(), Arc::new(FakeSource::with_names("huge", &names))],
    );
    let access = sources
        .access("default", Some(&staff("ada")), None, &"q".into())
        .unwrap();
    let tools = access.tools().await;
    let bytes: usize = tools.iter().map(|tool| tool.definition_bytes()).sum();
    let max_bytes = access::MAX_DEFINITION_BYTES;
    assert!(bytes <= max_bytes && bytes > max_bytes - 1000, "{bytes}");
    assert!(tools.len() < 3000 && tools[0].name == "s-read");
}

#[tokio::test]
async fn a_source_that_no_profile_can_allow_is_not_started() {
    let (wanted, other) = (source(), Arc::new(FakeSource::new("other")));
    let sources = sources(
        PROFILES,
        vec![Arc::clone(&wanted) as _, Arc::clone(&other) as _],
    );
    let access = sources
        .access("default", Some(&staff("ada")), None, &"q".into())
        .unwrap();
    access.tools().await;
    let starts = [&wanted, &other].map(|it| it.start_count.load(Ordering::SeqCst));
    assert_eq!(starts, [1, 0]);
}

#[tokio::test]
async fn the_system_prompt_names_the_sources_of_the_offered_tools() {
    let other = Arc::new(FakeSource::new("other"));
    let sources = sources(PROFILES, vec![source(), other]);
    let access = sources
        .access("default", Some(&staff("ada")), None, &"q".into())
        .unwrap();
    let tools = access.tools().await;
    assert_eq!(access.prompts(&tools), ["`s`: the source s"]);
    assert!(access.prompts(&[]).is_empty());
}

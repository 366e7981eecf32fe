//! Registration of definitions at the bridge, and the reports to their handles.

use super::*;

fn registered(id: &str, names: &[&str], errors: Vec<RegistrationFailure>) -> BridgeToPage<String> {
    BridgeToPage::Registered {
        registration_id: RegistrationId::from(id),
        items: names
            .iter()
            .map(|name| RegisteredItem {
                item: item(Kind::Tool, name),
                published_name: format!("{name}!"),
            })
            .collect(),
        errors,
    }
}

fn unregistered(id: &str) -> BridgeToPage<String> {
    registered(id, &[], vec![])
}

fn registered_report(key: u32, published_name: &str) -> Report<String> {
    Report::Registered {
        definition: DefinitionKey(key),
        published_name: Some(published_name.into()),
    }
}

fn removed_report(key: u32) -> Report<String> {
    Report::Removed(DefinitionKey(key))
}

fn dropped_report(key: u32) -> Report<String> {
    Report::Dropped(DefinitionKey(key))
}

/// Returns the sent messages that are registrations or unregistrations.
fn registrations(page: &TestPage) -> Vec<Message> {
    let is_registration = |message: &&Message| {
        matches!(
            message,
            PageToBridge::Register { .. } | PageToBridge::Unregister { .. }
        )
    };
    page.sent.iter().filter(is_registration).cloned().collect()
}

#[test]
fn tools_added_before_the_connection_are_one_batch() {
    let mut page = TestPage::new();
    page.add_tool(1, "a");
    page.add_tool(2, "b");
    page.dispatch(|page| page.connect());
    page.accept("b-1");
    assert_eq!(registrations(&page), [register("r1", &["a", "b"])]);
}

#[test]
fn tools_added_in_one_task_are_one_batch() {
    let mut page = TestPage::connected();
    page.add_tool(1, "a");
    page.add_tool(2, "b");
    assert_eq!(page.sent, []);
    assert!(page.flush_requested);
    page.flush();
    page.add_tool(3, "c");
    page.flush();
    assert_eq!(
        page.sent,
        [register("r1", &["a", "b"]), register("r2", &["c"])]
    );
}

#[test]
fn each_handle_gets_only_reports_of_its_tool() {
    let mut page = TestPage::connected();
    page.add_tool(1, "a");
    page.add_tool(2, "b");
    page.add_tool(3, "c");
    page.flush();
    let error = RegistrationFailure {
        index: 1,
        code: "ToolNameReserved".into(),
        message: "the name belongs to the bridge".into(),
    };
    page.receive(registered("r1", &["a", "c"], vec![error]));
    let failure = Failure::new("ToolNameReserved", "the name belongs to the bridge");
    let definition = DefinitionKey(2);
    assert_eq!(
        page.reports,
        [
            registered_report(1, "a!"),
            registered_report(3, "c!"),
            Report::Rejected {
                definition,
                failure
            }
        ]
    );
}

#[test]
fn unexpected_answers_are_ignored() {
    let mut page = TestPage::connected();
    page.add_tool(1, "a");
    page.flush();
    let stray = RegistrationFailure {
        index: 9,
        code: "X".into(),
        message: String::new(),
    };
    page.receive(registered("r9", &["a"], vec![]));
    assert_eq!(page.reports, []);
    page.receive(registered("r1", &["a"], vec![stray]));
    page.receive(registered("r1", &["a"], vec![]));
    assert_eq!(page.reports, [registered_report(1, "a!")]);
}

#[test]
fn a_removal_is_acknowledged() {
    let mut page = TestPage::connected();
    page.add_tool(1, "a");
    page.flush();
    page.clear();
    page.remove(1);
    page.flush();
    assert_eq!(page.sent, [unregister("r2", &["a"])]);
    assert_eq!(page.reports, [dropped_report(1)]);
    page.receive(unregistered("r2"));
    assert_eq!(page.reports, [dropped_report(1), removed_report(1)]);
}

#[test]
fn a_tool_never_sent_is_removed_without_a_message() {
    let mut page = TestPage::connected();
    page.add_tool(1, "a");
    page.remove(1);
    page.flush();
    assert_eq!(page.sent, []);
    assert_eq!(page.reports, [dropped_report(1), removed_report(1)]);
}

#[test]
fn adding_a_name_again_replaces_the_tool_and_disables_the_old_handle() {
    let mut page = TestPage::connected();
    page.add_tool(1, "a");
    page.add_tool(2, "b");
    page.flush();
    page.clear();
    page.add_tool(3, "a");
    page.remove(1);
    page.flush();
    assert_eq!(page.sent, [register("r2", &["a"])]);
    assert_eq!(
        page.reports,
        [dropped_report(1), removed_report(1), removed_report(1)]
    );
    page.receive(registered("r2", &["a"], vec![]));
    assert_eq!(page.reports.last(), Some(&registered_report(3, "a!")));
    page.clear();
    page.break_and_retry();
    page.accept("b-1");
    assert_eq!(registrations(&page), [register("r3", &["a", "b"])]);
}

#[test]
fn removed_and_added_again_in_one_task_is_a_replacement() {
    let mut page = TestPage::connected();
    page.add_tool(1, "a");
    page.flush();
    page.clear();
    page.remove(1);
    page.add_tool(2, "a");
    page.flush();
    assert_eq!(page.sent, [register("r2", &["a"])]);
    assert_eq!(page.reports, [dropped_report(1), removed_report(1)]);
}

#[test]
fn all_tools_are_resent_in_one_batch_after_a_reconnect() {
    let mut page = TestPage::connected();
    page.add_tool(1, "a");
    page.flush();
    page.add_tool(2, "b");
    page.flush();
    page.clear();
    page.break_and_retry();
    page.accept("b-1");
    assert_eq!(registrations(&page), [register("r3", &["a", "b"])]);
    page.receive(registered("r3", &["a", "b"], vec![]));
    assert!(page.reports.contains(&registered_report(2, "b!")));
}

#[test]
fn a_tool_removed_without_a_connection_is_not_listed_afterwards() {
    let mut page = TestPage::connected();
    page.add_tool(1, "a");
    page.add_tool(2, "b");
    page.flush();
    page.close(1006);
    page.remove(1);
    assert_eq!(page.reports.last(), Some(&removed_report(1)));
    page.clear();
    page.dispatch(|page| page.timer_fired(0.0));
    page.accept("b-1");
    assert_eq!(
        registrations(&page),
        [unregister("r2", &["a"]), register("r3", &["b"])]
    );
}

#[test]
fn removals_are_not_sent_to_another_bridge() {
    let mut page = TestPage::connected();
    page.add_tool(1, "a");
    page.add_tool(2, "b");
    page.flush();
    page.close(1006);
    page.remove(1);
    page.clear();
    page.dispatch(|page| page.timer_fired(0.0));
    page.accept("b-2");
    assert_eq!(registrations(&page), [register("r2", &["b"])]);
}

#[test]
fn an_unacknowledged_removal_is_resent() {
    let mut page = TestPage::connected();
    page.add_tool(1, "a");
    page.flush();
    page.remove(1);
    page.flush();
    page.clear();
    page.break_and_retry();
    assert!(
        page.reports.contains(&removed_report(1)),
        "no client can call it without a connection"
    );
    page.accept("b-1");
    assert_eq!(registrations(&page), [unregister("r3", &["a"])]);
}

#[test]
fn batches_are_split_by_frame_size_and_too_large_definitions_rejected() {
    let mut page = TestPage::connected();
    let sizes = [4000, 4000, 4000, 9500];
    for (key, size) in (1..).zip(sizes) {
        let definition = sized_json("x".repeat(size));
        let name = format!("t{key}");
        page.dispatch(|page| {
            page.definition_added(
                DefinitionKey(key),
                item(Kind::Tool, &name),
                definition,
                false,
            )
        });
    }
    page.flush();
    let batches: Vec<_> = page
        .sent
        .iter()
        .map(|message| match message {
            PageToBridge::Register { items, .. } => items.len(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(batches, [2, 1]);
    let [
        Report::Rejected {
            definition,
            failure,
        },
    ] = &page.reports[..]
    else {
        panic!("{:?}", page.reports);
    };
    assert_eq!(*definition, DefinitionKey(4));
    assert!(failure.message.contains("9500 bytes; at most 8928"));
}

#[test]
fn items_of_different_kinds_may_share_a_name() {
    let mut page = TestPage::connected();
    page.add(1, Kind::Tool, "x");
    page.add(2, Kind::Prompt, "x");
    page.flush();
    let both = Message::Register {
        registration_id: RegistrationId::from("r1"),
        items: [Kind::Tool, Kind::Prompt]
            .map(|kind| Definition {
                kind,
                json: r#"{"name":"x"}"#.into(),
            })
            .into(),
    };
    assert_eq!(page.sent, [both]);
    page.clear();
    page.remove(2);
    page.flush();
    let prompt = Message::Unregister {
        registration_id: RegistrationId::from("r2"),
        items: vec![item(Kind::Prompt, "x")],
    };
    assert_eq!(page.sent, [prompt]);
}

#[test]
fn late_answers_for_a_replaced_definition_carry_its_own_key() {
    let mut page = TestPage::connected();
    page.add_tool(1, "a");
    page.flush();
    page.add_tool(2, "a");
    page.flush();
    page.clear();
    page.receive(registered("r1", &["a"], vec![]));
    let former = Report::Registered {
        definition: DefinitionKey(1),
        published_name: None,
    };
    assert_eq!(page.reports, [former]);
    page.receive(registered("r2", &["a"], vec![]));
    assert_eq!(page.reports.last(), Some(&registered_report(2, "a!")));
}

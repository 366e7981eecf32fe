//! Clients subscribe to resources, and pages change the resources.

use bridge_protocol::Item;

use super::*;
use crate::definition::MAX_URI_BYTES;
use crate::realm::client_events::REALM_SUBSCRIPTION_FACTOR;

fn client(id: u64) -> ConnectedClient {
    ConnectedClient {
        id,
        info: ClientInfo {
            name: "client".to_owned(),
            version: None,
            title: None,
        },
        protocol_version: String::new(),
    }
}

const CARDS: &str = "board://cards";
const CLIENT: ClientId = ClientId(1);

impl Harness {
    /// Creates a page with a resource and a template, and a client.
    fn with_resources() -> Self {
        let mut scene = Harness::with_page();
        let effects = scene.realm.client_connected(CLIENT, client(1)).unwrap();
        scene.apply(effects);
        let items = [
            (Kind::Resource, r#"{"uri":"board://cards","name":"cards"}"#),
            (
                Kind::ResourceTemplate,
                r#"{"uriTemplate":"board://cards/{id}","name":"card"}"#,
            ),
        ];
        let items = items
            .into_iter()
            .flat_map(|(kind, definition)| parse_definition(kind, definition.to_owned()))
            .collect();
        let effects = scene.realm.items_registered(
            &TAB.into(),
            FIRST_CONNECTION,
            "r".into(),
            items,
            scene.now,
        );
        scene.apply(effects);
        scene
    }

    fn subscribe(&mut self, uri: &str) -> Result<(), Refusal> {
        let effects = self.realm.resource_subscribed(CLIENT, uri.to_owned())?;
        self.apply(effects);
        Ok(())
    }

    fn update(&mut self, uri: &str) {
        let effects = self
            .realm
            .resource_updated(&TAB.into(), FIRST_CONNECTION, uri);
        self.apply(effects);
    }

    fn updated_uris(&self) -> Vec<&str> {
        let uris = self.effects.iter().filter_map(|effect| match effect {
            Effect::ResourceUpdated {
                client: CLIENT,
                uri,
            } => Some(uri.as_str()),
            _ => None,
        });
        uris.collect()
    }

    fn sent_subscriptions(&self) -> Vec<String> {
        let mut sent = self.effects.iter().filter_map(|effect| match effect {
            Effect::Send {
                message: BridgeToPage::Subscriptions(message),
                ..
            } => Some(message.uris.clone()),
            _ => None,
        });
        sent.next_back().unwrap_or_default()
    }
}

#[test]
fn registering_resources_changes_only_the_resource_list() {
    let scene = Harness::with_resources();
    let changed = |kind| {
        let wanted = |effect: &Effect| matches!(effect, Effect::ListChanged(k) if *k == kind);
        scene.effects.iter().any(wanted)
    };
    assert!(changed(Kind::Resource));
    assert!(!changed(Kind::Tool) && !changed(Kind::Prompt));
}

#[test]
fn only_subscribers_are_notified_of_an_update() {
    let mut scene = Harness::with_resources();
    scene.update(CARDS);
    assert!(scene.updated_uris().is_empty());
    scene.subscribe(CARDS).unwrap();
    assert_eq!(scene.sent_subscriptions(), [CARDS]);
    scene.update(CARDS);
    assert_eq!(scene.updated_uris(), [CARDS]);
    let effects = scene.realm.resource_unsubscribed(CLIENT, CARDS);
    scene.apply(effects);
    assert_eq!(scene.sent_types(FIRST_CONNECTION), ["subscriptions"]);
    scene.update(CARDS);
    assert!(scene.updated_uris().is_empty());
}

#[test]
fn a_template_serves_matching_uris() {
    let mut scene = Harness::with_resources();
    scene.subscribe("board://cards/7").unwrap();
    assert_eq!(scene.sent_subscriptions(), ["board://cards/7"]);
    scene.update("board://cards/7");
    assert_eq!(scene.updated_uris(), ["board://cards/7"]);
    let (_, served) = scene
        .realm
        .route_resource("board://cards/7", &SessionTarget::Any)
        .unwrap();
    let ResourceMatch::Template(template, variables) = served else {
        panic!("served as {served:?}")
    };
    assert_eq!(template, "board://cards/{id}");
    assert_eq!(variables["id"], "7");
    let (_, served) = scene
        .realm
        .route_resource(CARDS, &SessionTarget::Any)
        .unwrap();
    assert!(matches!(served, ResourceMatch::Exact));
}

#[test]
fn a_page_cannot_update_a_resource_that_it_does_not_serve() {
    let mut scene = Harness::with_resources();
    scene.subscribe("other://thing").unwrap();
    assert!(scene.sent_subscriptions().is_empty());
    scene.update("other://thing");
    assert!(scene.updated_uris().is_empty());
}

#[test]
fn a_reconnected_page_is_sent_subscriptions_after_registering() {
    let mut scene = Harness::with_resources();
    scene.subscribe(CARDS).unwrap();
    scene.disconnect(FIRST_CONNECTION, Disconnect::ConnectionLost);
    scene.connect(SECOND_CONNECTION);
    let items = parse_definition(
        Kind::Resource,
        r#"{"uri":"board://cards","name":"cards"}"#.to_owned(),
    );
    let effects =
        scene
            .realm
            .items_registered(&TAB.into(), SECOND_CONNECTION, "r".into(), items, scene.now);
    scene.apply(effects);
    assert_eq!(
        scene.sent_types(SECOND_CONNECTION),
        ["registered", "subscriptions"]
    );
}

#[test]
fn the_sessions_resource_changes_with_the_pages() {
    let mut scene = Harness::with_resources();
    scene.subscribe("sessions://list").unwrap();
    scene.register(FIRST_CONNECTION, &["added"]);
    assert_eq!(scene.updated_uris(), ["sessions://list"]);
    scene.disconnect(FIRST_CONNECTION, Disconnect::ConnectionLost);
    assert_eq!(scene.updated_uris(), ["sessions://list"]);
    scene.connect(SECOND_CONNECTION);
    assert_eq!(scene.updated_uris(), ["sessions://list"]);
    scene.disconnect(SECOND_CONNECTION, Disconnect::DocumentGone);
    assert_eq!(scene.updated_uris(), ["sessions://list"]);
}

#[test]
fn too_many_subscriptions_are_rejected_naming_the_setting() {
    let mut scene = Harness::with_resources();
    scene.subscribe("a:1").unwrap();
    scene.subscribe("a:2").unwrap();
    scene.subscribe("a:2").unwrap();
    let refusal = scene.subscribe("a:3").unwrap_err();
    assert!(refusal.message.contains("max_subscriptions"));
}

#[test]
fn too_long_uris_and_too_many_realm_subscriptions_are_rejected() {
    let mut scene = Harness::with_resources();
    let long = format!("a:{}", "x".repeat(MAX_URI_BYTES));
    assert!(scene.subscribe(&long).unwrap_err().message.contains("8192"));
    let effects = scene.realm.client_disconnected(CLIENT);
    scene.apply(effects);
    // The limit of the realm needs more clients than `TEST_LIMITS` allows.
    Arc::make_mut(&mut scene.realm.limits).clients = 100;
    let most = REALM_SUBSCRIPTION_FACTOR * TEST_LIMITS.subscriptions_per_client;
    for n in 0..=most {
        let id = ClientId(n as u64 + 10);
        scene.realm.client_connected(id, client(id.0)).unwrap();
        let subscribed = scene.realm.resource_subscribed(id, format!("a:{n}"));
        assert_eq!(subscribed.is_err(), n == most);
        // A URI that another client is subscribed to does not count again.
        scene
            .realm
            .resource_subscribed(id, "a:0".to_owned())
            .unwrap();
    }
    scene.realm.check_invariants();
}

#[test]
fn a_uri_stays_subscribed_while_another_client_or_template_holds_it() {
    let mut scene = Harness::with_resources();
    let other = ClientId(2);
    scene.realm.client_connected(other, client(2)).unwrap();
    scene.subscribe("board://cards/7").unwrap();
    let effects = scene
        .realm
        .resource_subscribed(other, "board://cards/7".to_owned());
    assert!(effects.unwrap().is_empty());
    let effects = scene.realm.client_disconnected(other);
    scene.apply(effects);
    let template = |text: &str| {
        let definition = format!(r#"{{"uriTemplate":"{text}","name":"all"}}"#);
        parse_definition(Kind::ResourceTemplate, definition)
    };
    let effects = scene.realm.items_registered(
        &TAB.into(),
        FIRST_CONNECTION,
        "r".into(),
        template("{+all}"),
        scene.now,
    );
    scene.apply(effects);
    for (name, left) in [("board://cards/{id}", true), ("{+all}", false)] {
        let item = Item {
            kind: Kind::ResourceTemplate,
            name: name.to_owned(),
        };
        let effects =
            scene
                .realm
                .items_unregistered(&TAB.into(), FIRST_CONNECTION, "r".into(), vec![item]);
        scene.apply(effects);
        scene.update("board://cards/7");
        assert_eq!(scene.updated_uris().is_empty(), !left, "{name}");
    }
}

#[test]
fn builtin_resources_are_not_served_by_page_templates() {
    let mut scene = Harness::with_resources();
    let all = parse_definition(
        Kind::ResourceTemplate,
        r#"{"uriTemplate":"{+all}","name":"all"}"#.to_owned(),
    );
    let effects =
        scene
            .realm
            .items_registered(&TAB.into(), FIRST_CONNECTION, "r".into(), all, scene.now);
    scene.apply(effects);
    scene.subscribe("sessions://list").unwrap();
    assert!(scene.sent_subscriptions().is_empty());
    scene.update("sessions://list");
    assert!(scene.updated_uris().is_empty());
}

//! Clients subscribe to resources, pages change them.

use bridge_protocol::Item;

use super::*;
use crate::realm::clients::SUBSCRIPTION_TIMES;
use crate::uri_template::MAX_URI_BYTES;

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
const ONE: ClientId = ClientId(1);

impl Scene {
    /// A page with a resource and a template, and a client.
    fn with_resources() -> Self {
        let mut scene = Scene::with_page();
        let effects = scene.realm.client_connected(ONE, client(1)).unwrap();
        scene.then(effects);
        let items = [
            (Kind::Resource, r#"{"uri":"board://cards","name":"cards"}"#),
            (
                Kind::ResourceTemplate,
                r#"{"uriTemplate":"board://cards/{id}","name":"card"}"#,
            ),
        ];
        let items = items
            .into_iter()
            .flat_map(|(kind, definition)| parse(kind, definition.to_owned()))
            .collect();
        let effects = scene
            .realm
            .items_registered(&TAB.into(), FIRST, "r".into(), items);
        scene.then(effects);
        scene
    }

    fn subscribe(&mut self, uri: &str) -> Result<(), Refusal> {
        let effects = self.realm.subscribed(ONE, uri.to_owned())?;
        self.then(effects);
        Ok(())
    }

    fn update(&mut self, uri: &str) {
        let effects = self.realm.resource_updated(&TAB.into(), FIRST, uri);
        self.then(effects);
    }

    fn told_updated(&self) -> Vec<&str> {
        let told = self.effects.iter().filter_map(|effect| match effect {
            Effect::ResourceUpdated { client: ONE, uri } => Some(uri.as_str()),
            _ => None,
        });
        told.collect()
    }

    fn told_subscriptions(&self) -> Vec<String> {
        let mut told = self.effects.iter().filter_map(|effect| match effect {
            Effect::Send {
                message: BridgeToPage::Subscriptions(told),
                ..
            } => Some(told.uris.clone()),
            _ => None,
        });
        told.next_back().unwrap_or_default()
    }
}

#[test]
fn registering_resources_changes_their_list_alone() {
    let scene = Scene::with_resources();
    let changed = |kind| {
        let wanted = |effect: &Effect| matches!(effect, Effect::ListChanged(k) if *k == kind);
        scene.effects.iter().any(wanted)
    };
    assert!(changed(Kind::Resource));
    assert!(!changed(Kind::Tool) && !changed(Kind::Prompt));
}

#[test]
fn only_subscribers_hear_of_an_update() {
    let mut scene = Scene::with_resources();
    scene.update(CARDS);
    assert!(scene.told_updated().is_empty());
    scene.subscribe(CARDS).unwrap();
    assert_eq!(scene.told_subscriptions(), [CARDS]);
    scene.update(CARDS);
    assert_eq!(scene.told_updated(), [CARDS]);
    let effects = scene.realm.unsubscribed(ONE, CARDS);
    scene.then(effects);
    assert_eq!(scene.sent(FIRST), ["subscriptions"]);
    scene.update(CARDS);
    assert!(scene.told_updated().is_empty());
}

#[test]
fn a_template_serves_the_uris_that_fit_it() {
    let mut scene = Scene::with_resources();
    scene.subscribe("board://cards/7").unwrap();
    assert_eq!(scene.told_subscriptions(), ["board://cards/7"]);
    scene.update("board://cards/7");
    assert_eq!(scene.told_updated(), ["board://cards/7"]);
    let (_, served) = scene
        .realm
        .route_resource("board://cards/7", &Target::Any)
        .unwrap();
    let Served::Through(template, variables) = served else {
        panic!("served as {served:?}")
    };
    assert_eq!(template, "board://cards/{id}");
    assert_eq!(variables["id"], "7");
    let (_, served) = scene.realm.route_resource(CARDS, &Target::Any).unwrap();
    assert!(matches!(served, Served::Itself));
}

#[test]
fn a_page_cannot_update_what_it_does_not_serve() {
    let mut scene = Scene::with_resources();
    scene.subscribe("other://thing").unwrap();
    assert!(scene.told_subscriptions().is_empty());
    scene.update("other://thing");
    assert!(scene.told_updated().is_empty());
}

#[test]
fn a_page_that_is_back_hears_of_the_subscriptions_after_registering() {
    let mut scene = Scene::with_resources();
    scene.subscribe(CARDS).unwrap();
    scene.end(FIRST, Parting::Broken);
    scene.connect(SECOND);
    let items = parse(
        Kind::Resource,
        r#"{"uri":"board://cards","name":"cards"}"#.to_owned(),
    );
    let effects = scene
        .realm
        .items_registered(&TAB.into(), SECOND, "r".into(), items);
    scene.then(effects);
    assert_eq!(scene.sent(SECOND), ["registered", "subscriptions"]);
}

#[test]
fn the_sessions_resource_changes_with_the_pages() {
    let mut scene = Scene::with_resources();
    scene.subscribe("sessions://list").unwrap();
    scene.register(FIRST, &["added"]);
    assert_eq!(scene.told_updated(), ["sessions://list"]);
    scene.end(FIRST, Parting::Broken);
    assert_eq!(scene.told_updated(), ["sessions://list"]);
    scene.connect(SECOND);
    assert_eq!(scene.told_updated(), ["sessions://list"]);
    scene.end(SECOND, Parting::Gone);
    assert_eq!(scene.told_updated(), ["sessions://list"]);
}

#[test]
fn too_many_subscriptions_are_refused_with_the_setting() {
    let mut scene = Scene::with_resources();
    scene.subscribe("a:1").unwrap();
    scene.subscribe("a:2").unwrap();
    scene.subscribe("a:2").unwrap();
    let refusal = scene.subscribe("a:3").unwrap_err();
    assert!(refusal.message.contains("max_subscriptions"));
}

#[test]
fn a_uri_that_is_too_long_and_too_many_of_all_clients_are_refused() {
    let mut scene = Scene::with_resources();
    let long = format!("a:{}", "x".repeat(MAX_URI_BYTES));
    assert!(scene.subscribe(&long).unwrap_err().message.contains("8192"));
    let effects = scene.realm.client_left(ONE);
    scene.then(effects);
    // More clients than LIMITS lets in would be needed: these never left the list.
    Arc::make_mut(&mut scene.realm.limits).clients = 100;
    let most = SUBSCRIPTION_TIMES * LIMITS.subscriptions_per_client;
    for n in 0..=most {
        let id = ClientId(n as u64 + 10);
        scene.realm.client_connected(id, client(id.0)).unwrap();
        let subscribed = scene.realm.subscribed(id, format!("a:{n}"));
        assert_eq!(subscribed.is_err(), n == most);
        // What others follow already costs nothing.
        scene.realm.subscribed(id, "a:0".to_owned()).unwrap();
    }
    scene.realm.check_invariants();
}

#[test]
fn what_a_second_client_or_template_still_holds_stays() {
    let mut scene = Scene::with_resources();
    let other = ClientId(2);
    scene.realm.client_connected(other, client(2)).unwrap();
    scene.subscribe("board://cards/7").unwrap();
    let effects = scene.realm.subscribed(other, "board://cards/7".to_owned());
    assert!(effects.unwrap().is_empty());
    let effects = scene.realm.client_left(other);
    scene.then(effects);
    let template = |text: &str| {
        let definition = format!(r#"{{"uriTemplate":"{text}","name":"all"}}"#);
        parse(Kind::ResourceTemplate, definition)
    };
    let effects = scene
        .realm
        .items_registered(&TAB.into(), FIRST, "r".into(), template("{+all}"));
    scene.then(effects);
    for (name, left) in [("board://cards/{id}", true), ("{+all}", false)] {
        let item = Item {
            kind: Kind::ResourceTemplate,
            name: name.to_owned(),
        };
        let effects = scene
            .realm
            .items_unregistered(&TAB.into(), FIRST, "r".into(), vec![item]);
        scene.then(effects);
        scene.update("board://cards/7");
        assert_eq!(scene.told_updated().is_empty(), !left, "{name}");
    }
}

#[test]
fn the_bridges_own_resources_are_no_pages_even_where_a_template_fits() {
    let mut scene = Scene::with_resources();
    let all = parse(
        Kind::ResourceTemplate,
        r#"{"uriTemplate":"{+all}","name":"all"}"#.to_owned(),
    );
    let effects = scene
        .realm
        .items_registered(&TAB.into(), FIRST, "r".into(), all);
    scene.then(effects);
    scene.subscribe("sessions://list").unwrap();
    assert!(scene.told_subscriptions().is_empty());
    scene.update("sessions://list");
    assert!(scene.told_updated().is_empty());
}

//! The contract with the directory in memory, and the faults that tests can cause in it.

use bridge_cluster::{
    Away, DenialKey, DirectoryEvent, InMemoryDirectory, NodeId, NotWritten, RealmKey,
};

use crate::contract::{Events, Node, check_contract};

const REALM: RealmKey = RealmKey::from_bytes([1; 20]);

fn connect(directory: &InMemoryDirectory, number: u8) -> Node {
    let id = NodeId::from_bytes([number; 16]);
    let (observer, events) = Events::new();
    let connection = directory.connect(id, std::sync::Arc::new(observer));
    Node {
        id,
        directory: connection,
        events,
    }
}

#[tokio::test]
async fn the_directory_in_memory_keeps_the_contract() {
    let directory = InMemoryDirectory::default();
    let (mut one, mut two) = (connect(&directory, 1), connect(&directory, 2));
    let end_lease = async |node| directory.end_lease(node);
    check_contract(&mut one, &mut two, end_lease).await;
}

#[tokio::test]
async fn a_node_that_is_cut_off_reads_and_writes_nothing() {
    let directory = InMemoryDirectory::default();
    let (mut one, mut two) = (connect(&directory, 1), connect(&directory, 2));
    directory.cut(one.id);
    one.events.wait_for(&DirectoryEvent::Away).await;
    assert_eq!(one.directory.find(&REALM).await, Err(Away));
    assert_eq!(one.directory.listens(&two.id).await, Err(Away));
    let created = one.directory.create(&REALM, String::new()).await;
    assert_eq!(created, Err(NotWritten));
    assert_eq!(two.directory.listens(&one.id).await, Ok(false));
    assert_eq!(two.directory.find(&REALM).await, Ok(None));
    two.directory
        .announce(&two.id, "two".to_owned(), None)
        .await
        .unwrap();
    assert_eq!(one.events.drain(), []);
    directory.restore(one.id);
    one.events.wait_for(&DirectoryEvent::Connected).await;
    let announced = DirectoryEvent::NodeAnnounced(two.id, "two".to_owned());
    one.events.wait_for(&announced).await;
    two.events.wait_for(&announced).await;
}

#[tokio::test]
async fn denials_are_sent_to_a_node_before_it_is_connected() {
    let directory = InMemoryDirectory::default();
    let one = connect(&directory, 1);
    let denial = DenialKey::from_bytes([1; 20]);
    one.directory.deny(&denial, "one".to_owned()).await.unwrap();
    let mut two = connect(&directory, 2);
    let before = two.events.before(&DirectoryEvent::Connected).await;
    assert_eq!(
        before,
        [DirectoryEvent::DenialWritten(denial, "one".to_owned())]
    );
}

#[tokio::test]
async fn a_write_whose_answer_is_lost_is_performed() {
    let directory = InMemoryDirectory::default();
    let one = connect(&directory, 1);
    directory.lose_answers(one.id, 1);
    let created = one.directory.create(&REALM, "one".to_owned()).await;
    assert_eq!(created, Err(NotWritten));
    let stored = one.directory.find(&REALM).await.unwrap().unwrap();
    assert_eq!(stored.record, "one");
    assert!(
        one.directory
            .replace(&REALM, "two".to_owned(), stored.revision)
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn a_delayed_write_is_performed_only_if_it_still_fits() {
    let directory = InMemoryDirectory::default();
    let (one, two) = (connect(&directory, 1), connect(&directory, 2));
    directory.delay_writes(one.id, 2);
    for realm in [REALM, RealmKey::from_bytes([2; 20])] {
        let created = one.directory.create(&realm, "late".to_owned()).await;
        assert_eq!(created, Err(NotWritten));
        assert_eq!(one.directory.find(&realm).await, Ok(None));
    }
    two.directory
        .create(&REALM, "two".to_owned())
        .await
        .unwrap();
    directory.perform_delayed_writes();
    let record = async |realm| one.directory.find(&realm).await.unwrap().unwrap().record;
    assert_eq!(record(REALM).await, "two");
    assert_eq!(record(RealmKey::from_bytes([2; 20])).await, "late");
}

#[tokio::test]
async fn a_restart_without_data_connects_all_nodes_again() {
    let directory = InMemoryDirectory::default();
    let mut one = connect(&directory, 1);
    let revision = one
        .directory
        .create(&REALM, "one".to_owned())
        .await
        .unwrap();
    one.events.drain();
    directory.restart_empty();
    one.events.wait_for(&DirectoryEvent::Connected).await;
    assert_eq!(one.directory.find(&REALM).await, Ok(None));
    let replaced = one
        .directory
        .replace(&REALM, "one".to_owned(), revision)
        .await;
    assert_eq!(replaced, Err(NotWritten));
    assert!(one.directory.create(&REALM, "one".to_owned()).await.is_ok());
}

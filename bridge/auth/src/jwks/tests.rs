//! Tests with an issuer in memory, in paused time.

use std::net::{IpAddr, Ipv4Addr};

use futures_util::future::join_all;
use tokio::time::advance;

use super::*;
use crate::algorithm::Algorithm;

const REFRESH: Duration = Duration::from_secs(600);
const MAX_AGE: Duration = Duration::from_secs(3600);

/// How an issuer answers.
#[derive(Clone, Debug)]
enum Answer {
    Keys(Vec<&'static str>),
    Failure,
    Never,
}

/// An issuer with configurable keys that counts the fetches.
#[derive(Clone)]
struct FakeIssuer(Arc<Mutex<(Answer, usize)>>);

impl FakeIssuer {
    fn new(answer: Answer) -> Self {
        Self(Arc::new(Mutex::new((answer, 0))))
    }

    fn answer_with(&self, answer: Answer) {
        self.0.lock().unwrap().0 = answer;
    }

    fn fetch_count(&self) -> usize {
        self.0.lock().unwrap().1
    }

    async fn fetch(self) -> Option<Vec<Arc<VerificationKey>>> {
        advance(Duration::from_millis(1)).await;
        let answer = {
            let mut state = self.0.lock().unwrap();
            state.1 += 1;
            state.0.clone()
        };
        let key = |kid: &str| VerificationKey::from_secret(Some(kid.to_owned()), &[7; 32]);
        match answer {
            Answer::Keys(kids) => {
                let keys = kids.into_iter().map(|kid| Arc::new(key(kid).unwrap()));
                Some(keys.collect())
            }
            Answer::Failure => None,
            Answer::Never => std::future::pending().await,
        }
    }

    fn spawn_refresher(&self) -> JwksRefresher {
        let issuer = self.clone();
        JwksRefresher::spawn(REFRESH, MAX_AGE, move || issuer.clone().fetch())
    }
}

fn address(number: u32) -> ClientAddress {
    ClientAddress::from(IpAddr::from(Ipv4Addr::from_bits(number)))
}

/// Looks a key up for a client. Returns the time that it took.
async fn find(
    refresher: &JwksRefresher,
    waits: &KeyWaits,
    client: u32,
    kid: &str,
) -> (Result<(), KeyLookupError>, Duration) {
    let name = KeyName {
        kid: Some(kid),
        algorithm: Algorithm::Hs256,
    };
    let begin = Instant::now();
    let found = refresher.find_key(name, &[], waits, address(client)).await;
    (found.map(|_| ()), begin.elapsed())
}

#[tokio::test(start_paused = true)]
async fn made_up_keys_cause_one_fetch_in_5_s_and_delay_no_rotation_longer() {
    let issuer = FakeIssuer::new(Answer::Keys(vec!["old"]));
    let (refresher, waits) = (issuer.spawn_refresher(), KeyWaits::default());
    assert_eq!(find(&refresher, &waits, 1, "old").await.0, Ok(()));
    let (begin, mut made_up) = (Instant::now(), 0);
    for rotation in ["first", "second", "third"] {
        let kids: Vec<_> = (0..10_000).map(|it| format!("{rotation}-{it}")).collect();
        let stranger = join_all(kids.iter().map(|kid| find(&refresher, &waits, 6, kid)));
        issuer.answer_with(Answer::Keys(vec!["old", rotation]));
        // Polled after the stranger, so that the stranger has taken all its places.
        let user = find(&refresher, &waits, 1, rotation);
        let (strangers, (found, waited)) = tokio::join!(biased; stranger, user);
        assert_eq!(found, Ok(()), "{rotation}");
        assert!(
            waited <= MISS_INTERVAL + Duration::from_secs(1),
            "{waited:?}"
        );
        made_up += strangers.iter().filter(|(found, _)| found.is_err()).count();
    }
    assert_eq!(made_up, 30_000);
    let fetches = issuer.fetch_count() as u64;
    assert!(fetches >= 4, "{fetches}");
    let intervals = begin.elapsed().as_secs() / MISS_INTERVAL.as_secs();
    assert!(
        fetches <= intervals + 2,
        "{fetches} in {:?}",
        begin.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn all_tokens_wait_for_the_first_fetch() {
    let issuer = FakeIssuer::new(Answer::Keys(vec!["key"]));
    let (refresher, waits) = (issuer.spawn_refresher(), KeyWaits::default());
    let users = (0..2_000).map(|_| find(&refresher, &waits, 1, "key"));
    for (found, waited) in join_all(users).await {
        assert_eq!(found, Ok(()));
        assert!(waited < MISS_INTERVAL, "{waited:?}");
    }
    assert_eq!(issuer.fetch_count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_key_that_a_fetch_did_not_bring_is_refused_at_once_until_the_next_one() {
    let issuer = FakeIssuer::new(Answer::Keys(vec!["old"]));
    let (refresher, waits) = (issuer.spawn_refresher(), KeyWaits::default());
    let unknown = Err(KeyLookupError::NotFound);
    let (found, waited) = find(&refresher, &waits, 1, "new").await;
    assert_eq!(found, unknown);
    assert!(
        waited <= MISS_INTERVAL + Duration::from_secs(1),
        "{waited:?}"
    );
    let fetches = issuer.fetch_count();
    for _ in 0..100 {
        let (found, waited) = find(&refresher, &waits, 1, "new").await;
        assert_eq!((found, waited), (unknown, Duration::ZERO));
    }
    assert_eq!(issuer.fetch_count(), fetches);
    // The issuer publishes the key later than it uses it.
    issuer.answer_with(Answer::Keys(vec!["old", "new"]));
    advance(MISS_INTERVAL).await;
    assert_eq!(find(&refresher, &waits, 1, "new").await.0, Ok(()));
    assert_eq!(issuer.fetch_count(), fetches + 1);
}

#[tokio::test(start_paused = true)]
async fn while_fetches_fail_known_keys_are_used_until_they_are_too_old() {
    let issuer = FakeIssuer::new(Answer::Keys(vec!["old"]));
    let (refresher, waits) = (issuer.spawn_refresher(), KeyWaits::default());
    assert_eq!(find(&refresher, &waits, 1, "old").await.0, Ok(()));
    issuer.answer_with(Answer::Failure);
    let unavailable = Err(KeyLookupError::Unavailable);
    assert_eq!(find(&refresher, &waits, 1, "new").await.0, unavailable);
    let (found, waited) = find(&refresher, &waits, 1, "new").await;
    assert_eq!((found, waited), (unavailable, Duration::ZERO));
    assert_eq!(find(&refresher, &waits, 1, "old").await.0, Ok(()));
    assert!(refresher.failures() >= 1 && refresher.has_keys());
    let age = refresher.age();
    advance(MAX_AGE).await;
    assert!(refresher.age() >= age + MAX_AGE);
    assert_eq!(find(&refresher, &waits, 1, "old").await.0, unavailable);
    assert!(!refresher.has_keys());
    issuer.answer_with(Answer::Keys(vec!["old"]));
    let mut snapshots = refresher.snapshot.clone();
    while snapshots.borrow_and_update().last_failed {
        snapshots.changed().await.unwrap();
    }
    assert_eq!(find(&refresher, &waits, 1, "old").await.0, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn a_failed_first_fetch_is_repeated_with_growing_delays() {
    let issuer = FakeIssuer::new(Answer::Failure);
    let (refresher, waits) = (issuer.spawn_refresher(), KeyWaits::default());
    let unavailable = Err(KeyLookupError::Unavailable);
    assert_eq!(find(&refresher, &waits, 1, "key").await.0, unavailable);
    let mut snapshots = refresher.snapshot.clone();
    let begin = Instant::now();
    while snapshots.borrow_and_update().failures < 8 {
        snapshots.changed().await.unwrap();
    }
    // 1 + 2 + 4 + 8 + 16 + 30 + 30 s at most, and half of it at least.
    let elapsed = begin.elapsed().as_secs();
    assert!((40..=95).contains(&elapsed), "{elapsed}");
    issuer.answer_with(Answer::Keys(vec!["key"]));
    while snapshots.borrow_and_update().last_failed {
        snapshots.changed().await.unwrap();
    }
    assert_eq!(find(&refresher, &waits, 1, "key").await.0, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn a_token_waits_for_a_slow_issuer_only_for_a_limited_time() {
    let issuer = FakeIssuer::new(Answer::Never);
    let (refresher, waits) = (issuer.spawn_refresher(), KeyWaits::default());
    let (found, waited) = find(&refresher, &waits, 1, "key").await;
    assert_eq!(found, Err(KeyLookupError::Unavailable));
    assert!(waited >= KEY_WAIT_LIMIT, "{waited:?}");
    assert_eq!(issuer.fetch_count(), 1);
}

#[tokio::test(start_paused = true)]
async fn keys_are_fetched_again_after_the_refresh_interval() {
    let issuer = FakeIssuer::new(Answer::Keys(vec!["one"]));
    let (refresher, waits) = (issuer.spawn_refresher(), KeyWaits::default());
    assert_eq!(find(&refresher, &waits, 1, "one").await.0, Ok(()));
    issuer.answer_with(Answer::Keys(vec!["two"]));
    let mut snapshots = refresher.snapshot.clone();
    let begin = Instant::now();
    while snapshots.borrow_and_update().ended < 2 {
        snapshots.changed().await.unwrap();
    }
    assert!(begin.elapsed() >= REFRESH - Duration::from_secs(1));
    assert_eq!(find(&refresher, &waits, 1, "two").await.0, Ok(()));
    assert_eq!(issuer.fetch_count(), 2, "the tokens wanted no other one");
}

//! The id of an HTTP request: in each line of the log about the request, in its response, and in its
//! errors.
//!
//! The id is ambient: [`HttpRequestId::scope`] sets it while the futures of a request are polled, so that
//! no function between the request and a line of the log has to pass it on.

use std::cell::RefCell;
use std::fmt;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use bridge_edge::TrustedProxy;
use http::{HeaderMap, HeaderName, HeaderValue};
use pin_project_lite::pin_project;

/// The header with the id, in requests of trusted proxies and in all responses.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The maximum length of an id that a proxy sends.
const MAX_CHARS: usize = 64;

/// An odd number, whose multiples are all different: 2^64 divided by the golden ratio.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

thread_local! {
    /// The request that this thread serves now.
    static CURRENT: RefCell<Option<HttpRequestId>> = const { RefCell::new(None) };
}

/// The id of an HTTP request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HttpRequestId {
    /// An id of the bridge. It is formatted only where it is used.
    Generated(u64),
    /// The id that a trusted proxy has sent.
    FromProxy(Arc<str>),
}

/// Generates the ids of one bridge. They are different, and those of another run cannot be guessed.
#[derive(Debug)]
pub(crate) struct HttpRequestIds {
    seed: u64,
    count: AtomicU64,
}

impl HttpRequestIds {
    pub(crate) fn new() -> Self {
        let (seed, _) = uuid::Uuid::new_v4().as_u64_pair();
        Self {
            seed,
            count: AtomicU64::new(0),
        }
    }

    /// Returns the id of a request: that of a trusted proxy, if it sends a valid one, or a new one.
    pub(crate) fn of_request(
        &self,
        peer: IpAddr,
        headers: &HeaderMap,
        trusted: &[TrustedProxy],
    ) -> HttpRequestId {
        let from_proxy = TrustedProxy::includes(trusted, peer)
            .then(|| headers.get(REQUEST_ID)?.to_str().ok())
            .flatten();
        match from_proxy.filter(|id| is_valid(id)) {
            Some(id) => HttpRequestId::FromProxy(id.into()),
            None => self.generate(),
        }
    }

    fn generate(&self) -> HttpRequestId {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        HttpRequestId::Generated(mix(self.seed.wrapping_add(count.wrapping_mul(STEP))))
    }
}

/// Mixes the bits of a number, so that consecutive ones differ much. Different numbers have different
/// results: this is the output function of SplitMix64.
fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// Whether an id needs no escape in a header, in JSON and in a line of a log.
fn is_valid(id: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=MAX_CHARS).contains(&id.len()) && id.bytes().all(is_allowed)
}

impl HttpRequestId {
    /// Returns the id of the request that this thread serves now.
    pub(crate) fn current() -> Option<Self> {
        // A thread that ends has no request any more.
        CURRENT.try_with(|id| id.borrow().clone()).ok().flatten()
    }

    /// Returns the value of the header for the request that this thread serves now.
    pub(crate) fn current_header() -> HeaderValue {
        Self::current().map_or(HeaderValue::from_static("none"), |id| id.to_header())
    }

    /// The id in the headers of a peer that has chosen it, or an id that says that there was none.
    pub(crate) fn from_trusted(headers: &HeaderMap) -> Self {
        let id = headers.get(REQUEST_ID).and_then(|id| id.to_str().ok());
        Self::FromProxy(id.filter(|id| is_valid(id)).unwrap_or("none").into())
    }

    /// Serves this request while a future is polled.
    pub(crate) fn scope<F: Future>(self, future: F) -> InHttpRequest<F> {
        InHttpRequest {
            id: Some(self),
            future,
        }
    }

    /// Serves this request while a function runs.
    pub(crate) fn run<T>(self, f: impl FnOnce() -> T) -> T {
        let mut id = Some(self);
        let _entered = Entered::new(&mut id);
        f()
    }

    /// Returns the value of the header.
    pub(crate) fn to_header(&self) -> HeaderValue {
        // An id has only characters that a header may have.
        HeaderValue::try_from(self.to_string()).unwrap_or(HeaderValue::from_static("invalid"))
    }
}

impl fmt::Display for HttpRequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Generated(id) => write!(f, "{id:016x}"),
            Self::FromProxy(id) => f.write_str(id),
        }
    }
}

/// Returns the id of the HTTP request that this thread serves now, for the lines of a log about it. It
/// has up to 64 letters, digits, `-`, `_` and `.`.
pub fn current_request_id() -> Option<String> {
    HttpRequestId::current().map(|id| id.to_string())
}

/// Continues the request that this thread serves now in another future, which may run elsewhere.
pub(crate) fn in_current_request<F: Future>(future: F) -> InHttpRequest<F> {
    InHttpRequest {
        id: HttpRequestId::current(),
        future,
    }
}

/// Continues the request that this thread serves now in a function, which may run elsewhere.
pub(crate) fn run_in_current_request<T>(f: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let id = HttpRequestId::current();
    move || match id {
        Some(id) => id.run(f),
        None => f(),
    }
}

pin_project! {
    /// A future of a request.
    pub(crate) struct InHttpRequest<F> {
        id: Option<HttpRequestId>,
        #[pin]
        future: F,
    }
}

impl<F: Future> Future for InHttpRequest<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let scope = self.project();
        let _entered = Entered::new(scope.id);
        scope.future.poll(context)
    }
}

/// Makes this thread serve a request until it is dropped. The ids are swapped, and not copied.
struct Entered<'a>(&'a mut Option<HttpRequestId>);

impl<'a> Entered<'a> {
    fn new(id: &'a mut Option<HttpRequestId>) -> Self {
        CURRENT.with_borrow_mut(|current| std::mem::swap(current, id));
        Self(id)
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        CURRENT.with_borrow_mut(|current| std::mem::swap(current, self.0));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::pin::pin;
    use std::task::Waker;

    use super::*;

    fn of_request(peer: &str, id: &str) -> HttpRequestId {
        let mut headers = HeaderMap::new();
        headers.insert(REQUEST_ID, HeaderValue::from_str(id).unwrap());
        let trusted = ["10.0.0.0/8".parse().unwrap()];
        HttpRequestIds::new().of_request(peer.parse().unwrap(), &headers, &trusted)
    }

    #[test]
    fn only_a_trusted_proxy_names_the_id_and_only_a_harmless_one() {
        let longest = "x".repeat(MAX_CHARS);
        for id in ["0af7651916cd43dd8448eb211c80319c", "a-b_c.D9", &longest] {
            assert_eq!(of_request("10.1.2.3", id).to_string(), id);
            assert_ne!(of_request("192.0.2.1", id).to_string(), id);
        }
        let too_long = "x".repeat(MAX_CHARS + 1);
        for id in ["", "a b", "a\"b", "a\\b", "é", "a,b", "{}", &too_long] {
            let Ok(header) = HeaderValue::from_bytes(id.as_bytes()) else {
                continue;
            };
            let mut headers = HeaderMap::new();
            headers.insert(REQUEST_ID, header);
            let trusted = ["10.0.0.0/8".parse().unwrap()];
            let peer = "10.1.2.3".parse().unwrap();
            let chosen = HttpRequestIds::new().of_request(peer, &headers, &trusted);
            assert!(matches!(chosen, HttpRequestId::Generated(_)), "{id:?}");
        }
    }

    #[test]
    fn generated_ids_differ_and_have_one_length() {
        let ids = HttpRequestIds::new();
        let texts: HashSet<_> = (0..10_000).map(|_| ids.generate().to_string()).collect();
        assert_eq!(texts.len(), 10_000);
        assert!(texts.iter().all(|id| id.len() == 16 && is_valid(id)));
        assert_ne!(
            HttpRequestIds::new().generate(),
            HttpRequestIds::new().generate()
        );
    }

    #[test]
    fn the_id_is_current_while_a_future_of_the_request_is_polled() {
        let [outer, inner] = [1, 2].map(HttpRequestId::Generated);
        #[expect(
            clippy::async_yields_async,
            reason = "the other future is polled outside"
        )]
        let mut nested = pin!(outer.clone().scope(async {
            assert_eq!(HttpRequestId::current(), Some(outer.clone()));
            inner
                .clone()
                .run(|| assert_eq!(HttpRequestId::current(), Some(inner.clone())));
            assert_eq!(HttpRequestId::current(), Some(outer.clone()));
            in_current_request(async { HttpRequestId::current() })
        }));
        let mut context = Context::from_waker(Waker::noop());
        let Poll::Ready(elsewhere) = nested.as_mut().poll(&mut context) else {
            panic!("pending");
        };
        assert_eq!(HttpRequestId::current(), None);
        let mut elsewhere = pin!(elsewhere);
        assert_eq!(
            elsewhere.as_mut().poll(&mut context),
            Poll::Ready(Some(outer.clone()))
        );
        assert_eq!(HttpRequestId::current(), None);
    }
}

//! Servers that are silent, gone, or send malformed or endless data.

use std::path::Path;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::super::super::tests::all_slots;
use super::super::limited_stream::MAX_RECEIVED_BYTES;
use super::*;

const UNAVAILABLE: &str = "the database cannot be used at the moment: do without it";

async fn listen() -> (TcpListener, Database) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let settings = format!(
        "url = 'postgres://narrow@127.0.0.1:{port}/shop'\npassword = 'hunter2'\n\
         tables = ['orders']\ntimeout = '60s'"
    );
    (listener, open(Path::new("/"), &settings).unwrap())
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_unavailable() {
    let shop = Shop::create().await;
    let database = shop.source("nobody", LISTED);
    assert_eq!(query_error(&database, "SELECT 1").await, UNAVAILABLE);
    let (listener, database) = listen().await;
    drop(listener);
    assert_eq!(query_error(&database, "SELECT 1").await, UNAVAILABLE);
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_is_unavailable_after_three_seconds() {
    let (_listener, database) = listen().await;
    let start = tokio::time::Instant::now();
    assert_eq!(query_error(&database, "SELECT 1").await, UNAVAILABLE);
    assert_eq!(start.elapsed().as_secs(), 3);
}

#[tokio::test]
async fn a_server_that_sends_too_much_is_disconnected() {
    let (listener, database) = listen().await;
    let flood = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        // An error of 2 GiB.
        stream.write_all(b"E\x7f\xff\xff\xff").await.unwrap();
        let mut sent = 0;
        while stream.write_all(&[b'x'; 65536]).await.is_ok() {
            sent += 65536;
        }
        sent
    };
    let (error, sent) = tokio::join!(query_error(&database, "SELECT 1"), flood);
    assert_eq!(error, UNAVAILABLE);
    // The buffers of the system hold some of the bytes.
    assert!(sent < 2 * MAX_RECEIVED_BYTES, "{sent}");
}

#[tokio::test]
async fn an_error_of_a_statement_may_be_long() {
    let shop = Shop::create().await;
    let database = shop.source("narrow", LISTED);
    for (bytes, expected) in [
        (1000, "does not have the form of its type"),
        (100_000_000, "needs too much memory"),
    ] {
        let sql = format!("SELECT repeat('x', {bytes})::int");
        let error = query_error(&database, &sql).await;
        assert!(error.contains(expected), "{error}");
    }
}

/// Completes the login of a client: AuthenticationOk, BackendKeyData and ReadyForQuery.
async fn accept_login(stream: &mut tokio::net::TcpStream) {
    stream.write_all(b"R\0\0\0\x08\0\0\0\0").await.unwrap();
    let key = b"K\0\0\0\x0c\0\0\0\x01\0\0\0\x02";
    stream.write_all(key).await.unwrap();
    stream.write_all(b"Z\0\0\0\x05I").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_server_that_sends_a_byte_a_minute_ends_no_later_than_a_silent_one() {
    for is_logged_in in [false, true] {
        let (listener, database) = listen().await;
        let slow_server = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            if is_logged_in {
                accept_login(&mut stream).await;
            }
            for byte in b"R\0\0\0\x08\0\0\0\0".iter().cycle() {
                tokio::time::sleep(Duration::from_secs(60)).await; // sleep: a server that sends a byte a minute
                if stream.write_all(&[*byte]).await.is_err() {
                    break;
                }
            }
        };
        let start = tokio::time::Instant::now();
        let error = tokio::select! {
            error = query_error(&database, "SELECT 1") => error,
            () = slow_server => unreachable!("the client has gone"),
        };
        let expected = if is_logged_in {
            "the call took too long"
        } else {
            UNAVAILABLE
        };
        assert!(error.starts_with(expected), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
        assert_eq!(start.elapsed().as_secs(), if is_logged_in { 60 } else { 3 });
    }
}

#[tokio::test]
async fn notices_without_end_and_a_result_that_is_cut_off_end_a_call() {
    let notice = b"N\0\0\0\x1eSWARNING\0C01000\0Mhunter2\0\0";
    // ParseComplete, ParameterDescription and a RowDescription that is cut off.
    let cut_off = b"1\0\0\0\x04t\0\0\0\x06\0\0T\0\0\0\x20\0\x01a".to_vec();
    let too_much = "the statement is too long, or needs too much memory";
    for (sent, expected) in [
        (notice.repeat(10_000), &[UNAVAILABLE, too_much][..]),
        (notice.repeat(1_000_000), &[UNAVAILABLE, too_much]),
        (cut_off, &[UNAVAILABLE]),
    ] {
        let (listener, database) = listen().await;
        let serving = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            accept_login(&mut stream).await;
            // The client may have gone before it has read all.
            let _ = stream.write_all(&sent).await;
        };
        let (error, ()) = tokio::join!(query_error(&database, "SELECT 1"), serving);
        let is_expected = expected.iter().any(|start| error.starts_with(start));
        assert!(is_expected, "{error}");
    }
}

/// The server accepts any login, and answers nothing.
#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_holds_a_slot_for_two_more_seconds() {
    let (listener, database) = listen().await;
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        accept_login(&mut stream).await;
        let (mut cancelling, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        cancelling.read_to_end(&mut request).await.unwrap();
        (stream, request)
    });
    let start = tokio::time::Instant::now();
    let error = query_error(&database, "SELECT 1").await;
    assert!(error.starts_with("the call took too long"), "{error}");
    assert_eq!(start.elapsed().as_secs(), 60);
    all_slots(&database).await;
    assert_eq!(start.elapsed().as_secs(), 62);
    let (_stream, request) = server.await.unwrap();
    // A CancelRequest for the process and the key of the server.
    let expected = b"\0\0\0\x10\x04\xd2\x16\x2e\0\0\0\x01\0\0\0\x02";
    assert_eq!(request, expected);
}

#[tokio::test]
async fn a_message_about_a_statement_is_cut() {
    let shop = Shop::create().await;
    let database = shop.source("narrow", LISTED);
    let error = query_error(&database, &format!("SELECT '{}'::int", "x".repeat(1000))).await;
    let expected = "the SQL cannot be used: invalid input syntax for type integer: \"xxx";
    assert!(
        error.starts_with(expected) && error.ends_with("x…"),
        "{error}"
    );
    assert_eq!(
        error.len(),
        "the SQL cannot be used: ".len() + 300 + "…".len()
    );
}

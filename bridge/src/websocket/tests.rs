//! Tests of the socket over connections in memory.

use futures_util::FutureExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::read_turns::{MAX_BYTES_PER_TURN, MAX_FRAMES_PER_TURN};
use super::*;

const MAX_MESSAGE_SIZE: usize = 1024 * 1024;

/// A socket whose peer may send as many frames as it likes.
fn new_socket<S: AsyncRead + AsyncWrite + Unpin>(io: S) -> WebSocket<S> {
    socket_with_rate(io, u32::MAX)
}

fn socket_with_rate<S>(io: S, frames_per_second: u32) -> WebSocket<S>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let limits = SocketLimits {
        max_message_bytes: MAX_MESSAGE_SIZE,
        frames_per_second,
    };
    WebSocket::new(io, limits)
}

/// Encodes a frame as a client sends it.
fn client_frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    match payload.len() {
        length @ 0..=125 => bytes.push(0x80 | length as u8),
        length => {
            bytes.push(0x80 | 126);
            bytes.extend_from_slice(&(length as u16).to_be_bytes());
        }
    }
    let mask = [0x11, 0x22, 0x33, 0x44];
    bytes.extend_from_slice(&mask);
    bytes.extend(
        payload
            .iter()
            .enumerate()
            .map(|(n, byte)| byte ^ mask[n % 4]),
    );
    bytes
}

/// TLS holds what it has taken until it is flushed, and so does this connection.
#[tokio::test]
async fn frames_do_not_stay_in_a_connection_that_buffers() {
    let (near, mut far) = duplex(64 * 1024);
    let mut socket = new_socket(tokio::io::BufWriter::new(near));
    socket.queue_text("text".to_owned());
    let flush = std::future::poll_fn(|cx| socket.poll_flush(cx));
    flush.await.unwrap();
    let mut frame = [0; 6];
    let received = far.read_exact(&mut frame).now_or_never();
    received.expect("the frame was sent").unwrap();
    assert_eq!(&frame[2..], b"text");
}

async fn recv_all(bytes: &[u8]) -> Vec<Result<Frame, SocketError>> {
    let (near, mut far) = duplex(64 * 1024);
    let mut socket = new_socket(near);
    far.write_all(bytes).await.unwrap();
    drop(far);
    let mut received = Vec::new();
    loop {
        let next = socket.next().await;
        let is_last = next.is_err();
        received.push(next);
        if is_last {
            return received;
        }
    }
}

/// Returns a socket that has received a long message and then the bytes `follows`.
async fn socket_after_long_message(follows: &[u8]) -> WebSocket<tokio::io::DuplexStream> {
    let (near, mut far) = duplex(64 * 1024);
    let mut socket = new_socket(near);
    let long = vec![b'x'; 20_000];
    far.write_all(&client_frame(0x81, &long)).await.unwrap();
    far.write_all(follows).await.unwrap();
    assert_eq!(socket.next().await, Ok(text_frame(&"x".repeat(20_000))));
    let mut cx = Context::from_waker(std::task::Waker::noop());
    assert!(socket.poll_next(&mut cx).is_pending());
    far.write_all(&client_frame(0x80, b"end")).await.unwrap();
    // The socket accepts a continuation frame only if `follows` has begun a message.
    let next = socket.next().await;
    assert_eq!(next.is_ok(), !follows.is_empty(), "{next:?}");
    socket
}

fn text_frame(text: &str) -> Frame {
    Frame::Text(text.into())
}

#[tokio::test]
async fn the_buffer_shrinks_only_between_messages() {
    // Between messages the protocol's state is reset. A continuation frame is then an error.
    let socket = socket_after_long_message(&[]).await;
    assert!(!socket.buffer_grown);
    let socket = socket_after_long_message(&client_frame(0x01, b"begun ")).await;
    assert!(socket.buffer_grown);
}

#[tokio::test]
async fn a_tiny_frame_costs_no_large_buffer_however_many_come_at_once() {
    let flood = client_frame(0x81, b"x").repeat(10_000);
    let (near, mut far) = duplex(flood.len());
    let mut socket = new_socket(near);
    far.write_all(&flood).await.unwrap();
    assert_eq!(socket.next().await, Ok(text_frame("x")));
    assert!(socket.buffer.inbound.len() > 50_000);
    // As many bytes are filled with zeros for each frame.
    let zeros = socket.protocol.get_config().read_buffer_size;
    assert!(zeros <= LONG_READ_BUFFER_BYTES, "{zeros}");
}

#[tokio::test]
async fn a_frame_sent_byte_by_byte_is_received() {
    let (near, mut far) = duplex(64 * 1024);
    let mut socket = new_socket(near);
    let expected = "y".repeat(300);
    let bytes = client_frame(0x81, expected.as_bytes());
    let sent = tokio::spawn(async move {
        for byte in bytes {
            far.write_all(&[byte]).await.unwrap();
            tokio::task::yield_now().await;
        }
        far
    });
    assert_eq!(socket.next().await, Ok(text_frame(&expected)));
    drop(sent.await.unwrap());
    assert_eq!(socket.next().await, Err(SocketError::Disconnected));
}

#[tokio::test]
async fn messages_round_trip_with_tokio_tungstenite() {
    let (near, far) = duplex(1000);
    let mut socket = new_socket(near);
    let mut peer = WebSocketStream::from_raw_socket(far, Role::Client, None).await;
    for length in [0, 1, 125, 126, 65_535, 65_536, 300_000] {
        let text = "é".repeat(length / 2);
        let there = async {
            use futures_util::SinkExt;
            peer.send(Message::text(text.clone())).await.unwrap();
        };
        let ((), frame) = tokio::join!(there, socket.next());
        assert_eq!(frame, Ok(Frame::Text(text.as_str().into())));
        drop(frame);
        socket.queue_text(text.clone());
        let back = async {
            use futures_util::StreamExt;
            peer.next().await.unwrap().unwrap()
        };
        let flush = std::future::poll_fn(|cx| socket.poll_flush(cx));
        let (flushed, frame) = tokio::join!(flush, back);
        assert_eq!(flushed, Ok(()));
        assert_eq!(frame, Message::text(text));
        assert_eq!(
            socket.buffer.outbound.capacity() + socket.buffer.inbound.capacity(),
            0
        );
    }
}

#[tokio::test]
async fn control_frames_may_come_between_fragments() {
    let mut bytes = client_frame(0x01, b"one ");
    bytes.extend(client_frame(0x89, b"are you there"));
    bytes.extend(client_frame(0x80, "messäge".as_bytes()));
    bytes.extend(client_frame(0x8a, b""));
    bytes.extend(client_frame(0x88, &[0x03, 0xe9, b'b', b'y', b'e']));
    let (near, mut far) = duplex(1);
    let mut socket = new_socket(near);
    let sending = tokio::spawn(async move {
        far.write_all(&bytes).await.unwrap();
        far
    });
    assert_eq!(socket.next().await, Ok(Frame::PingPong));
    assert_eq!(socket.next().await, Ok(Frame::Text("one messäge".into())));
    assert_eq!(socket.next().await, Ok(Frame::PingPong));
    assert_eq!(socket.next().await, Ok(Frame::Close(Some(1001))));
    let mut far = sending.await.unwrap();
    let flushing = tokio::spawn(async move {
        let flushed = std::future::poll_fn(|cx| socket.poll_flush(cx)).await;
        assert_eq!(flushed, Ok(()));
    });
    let mut answers = Vec::new();
    far.read_to_end(&mut answers).await.unwrap();
    let (pong, close) = answers.split_at(15);
    assert_eq!(pong, b"\x8a\x0dare you there");
    assert_eq!(close[..4], [0x88, 0x05, 0x03, 0xe9]);
    flushing.await.unwrap();
}

#[tokio::test]
async fn protocol_violations_disconnect() {
    let unmasked = [0x81, 0x02, b'h', b'i'];
    let long_ping = client_frame(0x89, &[b'x'; 126]);
    let cases: [&[u8]; 9] = [
        b"GET / HTTP/1.1\r\n\r\n",
        &unmasked,
        &long_ping,
        &client_frame(0x09, b""),
        &client_frame(0xc1, b"compressed"),
        &client_frame(0x83, b"an opcode that is none"),
        &client_frame(0x80, b"goes on with nothing"),
        &client_frame(0x81, b"\xff\xfe"),
        &client_frame(0x88, b"\x03"),
    ];
    for bytes in cases {
        assert_eq!(
            recv_all(bytes).await,
            [Err(SocketError::Disconnected)],
            "{bytes:?}"
        );
    }
    let mut twice = client_frame(0x01, b"one");
    twice.extend(client_frame(0x81, b"another before its end"));
    assert_eq!(recv_all(&twice).await, [Err(SocketError::Disconnected)]);
}

#[tokio::test]
async fn message_size_is_limited_by_declared_and_received_length() {
    let mut claim = vec![0x81, 0xff];
    claim.extend_from_slice(&(MAX_MESSAGE_SIZE as u64).to_be_bytes());
    claim.extend_from_slice(&[0; 4]);
    let (near, mut far) = duplex(64);
    let mut socket = new_socket(near);
    far.write_all(&claim).await.unwrap();
    let nothing = futures_util::poll!(std::pin::pin!(socket.next()));
    assert!(nothing.is_pending());

    claim[2..10].copy_from_slice(&(MAX_MESSAGE_SIZE as u64 + 1).to_be_bytes());
    assert_eq!(recv_all(&claim).await, [Err(SocketError::MessageTooLarge)]);
    let mut pieces = client_frame(0x01, &[b'x'; 60_000]);
    for _ in 0..18 {
        pieces.extend(client_frame(0x00, &[b'x'; 60_000]));
    }
    let (near, mut far) = duplex(64);
    let mut socket = new_socket(near);
    let sending = tokio::spawn(async move { far.write_all(&pieces).await });
    assert_eq!(socket.next().await, Err(SocketError::MessageTooLarge));
    drop(socket);
    let _ = sending.await.unwrap();
}

#[tokio::test]
async fn unread_pongs_are_bounded() {
    let (near, mut far) = duplex(64);
    let mut socket = new_socket(near);
    let flood = client_frame(0x89, &[b'x'; 125]).repeat(1_000);
    let sending = tokio::spawn(async move {
        far.write_all(&flood).await.unwrap();
        far
    });
    for _ in 0..1_000 {
        assert_eq!(socket.next().await, Ok(Frame::PingPong));
    }
    assert!(
        socket.unsent_bytes() <= MAX_UNSENT_REPLY_BYTES + 127,
        "{}",
        socket.unsent_bytes()
    );
    drop(sending.await.unwrap());
}

#[tokio::test]
async fn a_close_frame_is_sent_after_queued_messages() {
    let (near, far) = duplex(1000);
    let mut socket = new_socket(near);
    let mut peer = WebSocketStream::from_raw_socket(far, Role::Client, None).await;
    let text = "x".repeat(2 * MAX_UNSENT_REPLY_BYTES);
    socket.queue_text(text.clone());
    socket.queue_close(1012, "back soon");
    let reading = async {
        use futures_util::{SinkExt, StreamExt};
        assert_eq!(peer.next().await.unwrap().unwrap(), Message::text(text));
        match peer.next().await.unwrap().unwrap() {
            Message::Close(Some(frame)) => assert_eq!(u16::from(frame.code), 1012),
            other => panic!("{other}"),
        }
        peer.flush().await.unwrap();
        // As a browser does at this point.
        drop(peer);
    };
    let both = async { tokio::join!(socket.flush_and_drain(), reading) };
    let within = std::time::Duration::from_secs(10);
    tokio::time::timeout(within, both).await.unwrap();
}

#[tokio::test]
async fn a_long_close_reason_is_truncated() {
    let (near, mut far) = duplex(1024);
    let mut socket = new_socket(near);
    socket.queue_close(1008, &"ü".repeat(100));
    socket.try_flush().await;
    let mut frame = [0; 126];
    far.read_exact(&mut frame).await.unwrap();
    assert_eq!(frame[..4], [0x88, 124, 0x03, 0xf0]);
    assert_eq!(std::str::from_utf8(&frame[4..]).unwrap(), "ü".repeat(61));
}

/// Reads a socket to its end as the task of a page does. Returns the number of frames, and how often
/// the task was polled.
async fn read_to_end(socket: &mut WebSocket<tokio::io::DuplexStream>) -> (usize, usize) {
    let (mut frames, mut polls) = (0, 0);
    std::future::poll_fn(|cx| {
        polls += 1;
        loop {
            match ready!(socket.poll_next(cx)) {
                Ok(_) => frames += 1,
                Err(_) => return Poll::Ready(()),
            }
        }
    })
    .await;
    (frames, polls)
}

/// Returns a socket whose peer has sent these bytes and disconnected.
async fn socket_after(bytes: &[u8], frames_per_second: u32) -> WebSocket<tokio::io::DuplexStream> {
    let (near, mut far) = duplex(bytes.len());
    far.write_all(bytes).await.unwrap();
    socket_with_rate(near, frames_per_second)
}

#[tokio::test]
async fn a_socket_yields_to_other_tasks_during_a_flood_of_tiny_frames() {
    const COUNT: usize = 10_000;
    let min_polls = COUNT / MAX_FRAMES_PER_TURN as usize;
    let cases = [
        ("pings", client_frame(0x89, b""), COUNT),
        ("pongs", client_frame(0x8a, b""), COUNT),
        ("texts", client_frame(0x81, b""), COUNT),
        ("continuation frames", client_frame(0x00, b""), 0),
    ];
    for (kind, frame, messages) in cases {
        let mut bytes = frame.repeat(COUNT);
        if messages == 0 {
            bytes.splice(0..0, client_frame(0x01, b"begun"));
        }
        let mut socket = socket_after(&bytes, u32::MAX).await;
        let (frames, polls) = read_to_end(&mut socket).await;
        assert_eq!(frames, messages, "{kind}");
        assert!(polls >= min_polls, "{polls} polls for {COUNT} {kind}");
    }
}

#[tokio::test]
async fn a_socket_yields_to_other_tasks_during_a_long_message() {
    let part = client_frame(0x00, &[b'x'; 60_000]);
    let mut bytes = client_frame(0x01, b"begun");
    bytes.extend(part.repeat(17));
    bytes.extend(client_frame(0x80, b""));
    let mut socket = socket_after(&bytes, u32::MAX).await;
    let (frames, polls) = read_to_end(&mut socket).await;
    assert_eq!(frames, 1);
    let min_polls = bytes.len() / (MAX_BYTES_PER_TURN + READ_BUFFER_BYTES);
    assert!(polls > min_polls, "{polls} polls");
}

#[tokio::test(start_paused = true)]
async fn frames_above_the_rate_are_read_later_and_none_is_lost() {
    for kind in [0x81, 0x89, 0x8a] {
        let bytes = client_frame(kind, b"").repeat(1_000);
        let mut socket = socket_after(&bytes, 100).await;
        let start = tokio::time::Instant::now();
        let (frames, _) = read_to_end(&mut socket).await;
        assert_eq!(frames, 1_000);
        // The first hundred are read at once.
        let seconds = start.elapsed().as_secs_f64();
        assert!((8.9..9.2).contains(&seconds), "{seconds} s");
    }
}

#[tokio::test(start_paused = true)]
async fn empty_continuation_frames_count_as_frames() {
    let mut bytes = client_frame(0x01, b"begun");
    bytes.extend(client_frame(0x00, b"").repeat(999));
    bytes.extend(client_frame(0x80, b""));
    let mut socket = socket_after(&bytes, 100).await;
    let start = tokio::time::Instant::now();
    assert_eq!(socket.next().await, Ok(text_frame("begun")));
    let seconds = start.elapsed().as_secs_f64();
    assert!((8.9..9.2).contains(&seconds), "{seconds} s");
}

#[tokio::test(start_paused = true)]
async fn a_socket_is_read_through_when_nothing_waits_for_its_rate() {
    let (near, mut far) = duplex(64 * 1024);
    let mut socket = socket_with_rate(near, 100);
    let burst = client_frame(0x81, b"").repeat(300);
    far.write_all(&burst).await.unwrap();
    for _ in 0..299 {
        assert_eq!(socket.next().await, Ok(text_frame("")));
        assert!(!socket.is_read_through());
    }
    assert_eq!(socket.next().await, Ok(text_frame("")));
    let nothing = futures_util::poll!(std::pin::pin!(socket.next()));
    assert!(nothing.is_pending());
    assert!(socket.is_read_through());
}

#[tokio::test]
async fn a_peer_that_sends_on_after_the_close_frame_is_disconnected() {
    let (near, mut far) = duplex(64 * 1024);
    let mut socket = new_socket(near);
    socket.queue_close(1008, "refused");
    let feeding = tokio::spawn(async move {
        let flood = client_frame(0x89, b"").repeat(1_000);
        let mut sent = 0;
        while far.write_all(&flood).await.is_ok() {
            sent += flood.len();
        }
        sent
    });
    let within = std::time::Duration::from_secs(10);
    let drained = tokio::time::timeout(within, socket.flush_and_drain());
    drained.await.unwrap();
    drop(socket);
    let sent = feeding.await.unwrap();
    let max_bytes = MAX_MESSAGE_SIZE + MAX_DRAIN_BYTES + 64 * 1024;
    assert!(sent <= max_bytes, "{sent} bytes");
}

#[tokio::test]
async fn drained_bytes_are_counted_by_the_cost_of_reading_them() {
    let (near, mut far) = duplex(1);
    let mut socket = new_socket(near);
    let feeding = tokio::spawn(async move {
        let mut sent = 0;
        while far.write_all(b"x").await.is_ok() {
            sent += 1;
        }
        sent
    });
    socket.flush_and_drain().await;
    drop(socket);
    let sent = feeding.await.unwrap();
    let max_reads = (MAX_MESSAGE_SIZE + MAX_DRAIN_BYTES) / MIN_DRAIN_COST_BYTES;
    assert!(sent <= max_reads + 1, "{sent} bytes one by one");
}

#[tokio::test]
async fn the_message_size_can_be_raised() {
    let (near, mut far) = duplex(64 * 1024);
    let limits = |max_message_bytes| SocketLimits {
        max_message_bytes,
        frames_per_second: 100,
    };
    let mut socket = WebSocket::new(near, limits(1_000));
    let text = "x".repeat(1_000);
    far.write_all(&client_frame(0x81, text.as_bytes()))
        .await
        .unwrap();
    assert_eq!(socket.next().await, Ok(text_frame(&text)));
    socket.set_limits(limits(1_001));
    let text = "x".repeat(1_001);
    far.write_all(&client_frame(0x81, text.as_bytes()))
        .await
        .unwrap();
    assert_eq!(socket.next().await, Ok(text_frame(&text)));
    // Only the header of a longer frame.
    let header = [0x81, 0x80 | 126, 0x03, 0xea, 0, 0, 0, 0];
    far.write_all(&header).await.unwrap();
    assert_eq!(socket.next().await, Err(SocketError::MessageTooLarge));
}

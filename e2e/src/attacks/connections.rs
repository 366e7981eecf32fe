//! Guesses at tokens, and connections for nothing.

use anyhow::ensure;
use tokio::io::AsyncWriteExt;

use super::Attacker;
use super::client::{numbered_token, tool_call};

/// The number of connections that guess at tokens.
const GUESSING: usize = 8;

/// The number of connections that are opened and closed at the same time.
const CONNECTING: usize = 64;

/// Sends requests with tokens that the bridge does not list, as fast as they are refused.
pub(super) async fn token_guesses(attacker: &Attacker) {
    let part = |attacker: Attacker, peer| async move {
        let mut connection = attacker.connect_client().await?;
        for number in 0.. {
            let token = numbered_token(1_000 * number + peer);
            let request = tool_call(attacker.address(), &token, "any", "{}");
            let status = connection.request(&request).await?.status;
            // After a few guesses, the bridge does not look at further ones.
            ensure!(matches!(status, 401 | 429), "status {status}");
            attacker.count(1);
            if attacker.is_trial() {
                break;
            }
        }
        Ok(())
    };
    attacker.repeat(GUESSING, part).await;
}

/// Opens connections and closes them at once: every second one with half a request. They are reset,
/// so that the attacker does not run out of ports.
pub(super) async fn connections(attacker: &Attacker) {
    let part = |attacker: Attacker, _| async move {
        for number in 0.. {
            let mut socket = attacker.connect().await?;
            if number % 2 == 1 {
                socket.write_all(b"POST /mcp HTTP/1.1\r\nHost: ").await?;
            }
            socket.set_zero_linger()?;
            drop(socket);
            attacker.count(1);
            if attacker.is_trial() {
                break;
            }
        }
        Ok(())
    };
    attacker.repeat(CONNECTING, part).await;
}

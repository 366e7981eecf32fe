//! Heartbeats, which the scripts of a page answer, and signs of life in between.
//!
//! The realm sends them. The outbox of a connection aborts it when the page has been silent for
//! several of them.

use bridge_protocol::{BridgeToPage, Heartbeat, SessionId};

use super::{ConnectionId, Effect, Effects, Now, Phase, Realm};

impl Realm {
    /// Sends the next heartbeat.
    pub(super) fn heartbeat_due(
        &mut self,
        id: &SessionId,
        connection: ConnectionId,
        now: Now,
    ) -> Effects {
        let next = now.instant + self.limits.heartbeat_interval;
        let heartbeat = self.update_session(id, |session| {
            let answers_heartbeats = session.abilities().answers_heartbeats;
            let Phase::Connected {
                heartbeat_due,
                sequence,
                acked_sequence,
                answer_count,
                ..
            } = &mut session.phase
            else {
                return None;
            };
            *heartbeat_due = next;
            // An unanswered heartbeat is not repeated, because heartbeats would queue up in a
            // frozen tab.
            (answers_heartbeats && *sequence == *acked_sequence).then(|| {
                *sequence += 1;
                Heartbeat {
                    sequence: *sequence,
                    answers: *answer_count,
                }
            })
        });
        Effects::from([match heartbeat.flatten() {
            Some(heartbeat) => Effect::Send {
                connection,
                message: BridgeToPage::Heartbeat(heartbeat),
            },
            // The pong shows that the connection works, and the ping prevents proxies from closing
            // it.
            None => Effect::Ping { connection },
        }])
    }

    /// The page has answered a heartbeat.
    pub fn heartbeat_answered(
        &mut self,
        id: &SessionId,
        connection: ConnectionId,
        heartbeat: Heartbeat,
    ) {
        if let Some(session) = self.session_on(id, connection)
            && let Phase::Connected {
                sequence,
                acked_sequence,
                ..
            } = &mut session.phase
        {
            *acked_sequence = heartbeat.sequence.clamp(*acked_sequence, *sequence);
        }
    }

    /// A message of the page has arrived, so its scripts are running.
    pub fn page_message_received(&mut self, id: &SessionId, connection: ConnectionId) {
        if let Some(session) = self.session_on(id, connection) {
            session.mark_responsive();
        }
    }

    /// A part of a message has arrived, so the page is responsive and is sending a large message.
    pub fn part_arrived(&mut self, id: &SessionId, connection: ConnectionId, now: Now) {
        if let Some(session) = self.session_on(id, connection) {
            session.mark_responsive();
            session.last_part_at = Some(now.instant);
        }
    }
}

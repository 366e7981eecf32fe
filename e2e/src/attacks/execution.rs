//! Which attack is carried out how.

use super::{
    Attack, Attacker, body_flood, calls, closed_apps, connections, page_frames, pools,
    registrations, stranger_frames, unread_answers, validation,
};

/// Carries out an attack, and returns how often the attacker did what it does.
pub async fn run(attacker: &Attacker, attack: Attack) -> u64 {
    match attack {
        Attack::Activity => stranger_frames::activity(attacker, 2).await,
        Attack::ManyStrangers => stranger_frames::activity(attacker, 500).await,
        Attack::Continuations => stranger_frames::continuations(attacker).await,
        Attack::Pings => stranger_frames::pings(attacker).await,
        Attack::RefusedOrigin => stranger_frames::refused_origin(attacker).await,
        Attack::LongFirstFrames => stranger_frames::long_frames(attacker).await,
        Attack::PagePings => page_frames::pings(attacker).await,
        Attack::PageContinuations => page_frames::continuations(attacker).await,
        Attack::PageMessages => page_frames::messages(attacker).await,
        Attack::OpenBodies => body_flood::open_without_token(attacker).await,
        Attack::OpenMcpBodies => body_flood::open_with_token(attacker).await,
        Attack::OpenCompatBodies => body_flood::open_compat(attacker).await,
        Attack::LongBodies => body_flood::long_bodies(attacker).await,
        Attack::ReferenceRegistrations => registrations::references(attacker).await,
        Attack::LargestRegistrations => registrations::largest(attacker).await,
        Attack::RecursiveRegistrations => registrations::recursive(attacker).await,
        Attack::Validation => validation::validation(attacker).await,
        Attack::Tokens => pools::tokens(attacker).await,
        Attack::McpSessions => pools::mcp_sessions(attacker).await,
        Attack::SilentSockets => pools::silent_sockets(attacker).await,
        Attack::KeptResults => unread_answers::kept_results(attacker).await,
        Attack::ClosedApps => closed_apps::closed_apps(attacker).await,
        Attack::UnreadAnswers => unread_answers::unread_answers(attacker).await,
        Attack::UnreadStreams => unread_answers::unread_streams(attacker).await,
        Attack::TokenGuesses => connections::token_guesses(attacker).await,
        Attack::Connections => connections::connections(attacker).await,
        Attack::AbandonedCalls => calls::abandoned(attacker).await,
        Attack::UnansweredCalls => calls::unanswered(attacker).await,
        Attack::Calls => calls::flood(attacker).await,
    }
    attacker.actions()
}

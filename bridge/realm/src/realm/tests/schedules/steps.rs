//! The steps of a schedule.

use proptest::prelude::*;

use super::queries::{QueryStep, any_query_step};

/// A step of a page, of a client or of the time.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Connect {
        tab: u8,
    },
    ConnectBasic {
        tab: u8,
        /// Whether the page sends a name, which another page may already have.
        named: bool,
    },
    /// Connects with a token that expires after this number of seconds.
    ConnectUntil {
        tab: u8,
        seconds: u8,
    },
    ChangeUser {
        tab: u8,
    },
    Renew {
        tab: u8,
        seconds: u8,
    },
    Freeze {
        tab: u8,
    },
    SendPart {
        tab: u8,
    },
    Check {
        tab: u8,
        call: u8,
    },
    Register {
        tab: u8,
        tools: Vec<u8>,
    },
    Unregister {
        tab: u8,
        tool: u8,
    },
    Call {
        tab: u8,
    },
    Receive {
        call: u8,
    },
    Arm {
        call: u8,
        /// Whether the state is larger than it may be.
        too_large: bool,
    },
    Disarm {
        call: u8,
    },
    /// The document reports its end. It hands over the calls that this number selects.
    Leave {
        tab: u8,
        hands_over: u8,
    },
    /// Another document of the session connects, perhaps from another origin.
    ConnectDocument {
        tab: u8,
        document: u8,
        foreign: bool,
    },
    /// Registers a tool with another definition.
    RegisterChanged {
        tab: u8,
    },
    /// The arguments of a call are validated for the tool of its new document.
    Validate {
        call: u8,
        valid: bool,
    },
    Answer {
        call: u8,
    },
    AnswerFromOldConnection {
        call: u8,
    },
    Cancel {
        call: u8,
    },
    Ask {
        call: u8,
        key: u8,
    },
    AnswerAsClient {
        call: u8,
        key: u8,
    },
    Park {
        call: u8,
    },
    Resume {
        call: u8,
        key: u8,
    },
    ConnectClient {
        id: u8,
    },
    Subscribe {
        client: u8,
        uri: u8,
    },
    Update {
        tab: u8,
        uri: u8,
    },
    DisconnectClient {
        id: u8,
    },
    Disconnect {
        tab: u8,
        gone: bool,
    },
    DisconnectOld {
        tab: u8,
    },
    Query(QueryStep),
    Wait {
        seconds: u8,
    },
    Stop,
    Close {
        is_final: bool,
    },
    ExpireTokens,
}

/// Returns steps of all kinds.
pub(super) fn any_step() -> impl Strategy<Value = Step> {
    let tab = 0..3u8;
    let call = any::<u8>();
    prop_oneof![
        3 => tab.clone().prop_map(|tab| Step::Connect { tab }),
        2 => (tab.clone(), any::<bool>()).prop_map(|(tab, named)| Step::ConnectBasic { tab, named }),
        2 => (tab.clone(), 0..60u8)
            .prop_map(|(tab, seconds)| Step::ConnectUntil { tab, seconds }),
        1 => (tab.clone(), 0..60u8).prop_map(|(tab, seconds)| Step::Renew { tab, seconds }),
        1 => tab.clone().prop_map(|tab| Step::ChangeUser { tab }),
        1 => tab.clone().prop_map(|tab| Step::Freeze { tab }),
        1 => tab.clone().prop_map(|tab| Step::SendPart { tab }),
        1 => (tab.clone(), call).prop_map(|(tab, call)| Step::Check { tab, call }),
        2 => (tab.clone(), prop::collection::vec(0..6u8, 0..4))
            .prop_map(|(tab, tools)| Step::Register { tab, tools }),
        1 => (tab.clone(), 0..6u8).prop_map(|(tab, tool)| Step::Unregister { tab, tool }),
        6 => tab.clone().prop_map(|tab| Step::Call { tab }),
        3 => call.prop_map(|call| Step::Receive { call }),
        4 => (call, 0..8u8).prop_map(|(call, size)| Step::Arm { call, too_large: size == 0 }),
        1 => call.prop_map(|call| Step::Disarm { call }),
        3 => (tab.clone(), any::<u8>())
            .prop_map(|(tab, hands_over)| Step::Leave { tab, hands_over }),
        3 => (tab.clone(), 0..3u8, 0..8u8).prop_map(|(tab, document, origin)| {
            Step::ConnectDocument { tab, document, foreign: origin == 0 }
        }),
        1 => tab.clone().prop_map(|tab| Step::RegisterChanged { tab }),
        2 => (call, 0..4u8).prop_map(|(call, valid)| Step::Validate { call, valid: valid > 0 }),
        4 => call.prop_map(|call| Step::Answer { call }),
        1 => call.prop_map(|call| Step::AnswerFromOldConnection { call }),
        2 => call.prop_map(|call| Step::Cancel { call }),
        3 => (call, 0..3u8).prop_map(|(call, key)| Step::Ask { call, key }),
        2 => (call, 0..3u8).prop_map(|(call, key)| Step::AnswerAsClient { call, key }),
        2 => call.prop_map(|call| Step::Park { call }),
        2 => (call, 0..3u8).prop_map(|(call, key)| Step::Resume { call, key }),
        1 => (0..2u8).prop_map(|id| Step::ConnectClient { id }),
        1 => (0..2u8, 0..3u8).prop_map(|(client, uri)| Step::Subscribe { client, uri }),
        1 => (tab.clone(), 0..3u8).prop_map(|(tab, uri)| Step::Update { tab, uri }),
        1 => (0..2u8).prop_map(|id| Step::DisconnectClient { id }),
        2 => (tab.clone(), any::<bool>()).prop_map(|(tab, gone)| Step::Disconnect { tab, gone }),
        1 => tab.prop_map(|tab| Step::DisconnectOld { tab }),
        12 => any_query_step().prop_map(Step::Query),
        3 => (0..30u8).prop_map(|seconds| Step::Wait { seconds }),
        1 => Just(Step::Stop),
        1 => any::<bool>().prop_map(|is_final| Step::Close { is_final }),
        1 => Just(Step::ExpireTokens),
    ]
}

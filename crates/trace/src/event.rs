//! One row of the table of events, and its vocabulary.

use std::num::NonZeroU32;

/// A text of an event, kept once by the writer ([`crate::writer::EventWriter::text`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Text(NonZeroU32);

impl Text {
    /// The text with this number, counted from 0.
    pub(crate) fn new(number: u32) -> Self {
        Self(NonZeroU32::MIN.saturating_add(number))
    }

    /// Its number, counted from 0.
    pub(crate) fn number(self) -> u32 {
        self.0.get() - 1
    }
}

macro_rules! vocabulary {
    ($(#[$about:meta])* $name:ident { $($(#[$meta:meta])* $member:ident = $text:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum $name { $($(#[$meta])* $member,)+ }

        impl $name {
            /// Every one, in the order of their numbers.
            pub const ALL: &[Self] = &[$(Self::$member,)+];

            /// The word in the table.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$member => $text,)+ }
            }
        }
    };
}

vocabulary! {
    /// Where the program or kernel ran that wrote the trace.
    Vantage {
        /// At the client.
        Client = "client",
        /// At the server.
        Server = "server",
        /// Neither the trace nor its caller names it.
        Unknown = "unknown",
    }
}

vocabulary! {
    /// The source of a row.
    Source {
        /// A QUIC stack's own log.
        Qlog = "qlog",
        /// Records of the kernel's TCP.
        Tcp = "tcp",
        /// Chromium's log of its network.
        Netlog = "netlog",
        /// The link's packet log, joined with one of the others.
        Link = "link",
        /// A stated rule.
        Derived = "derived",
        /// A capture of packets.
        Capture = "capture",
    }
}

vocabulary! {
    /// What happened.
    Kind {
        /// A packet left.
        PacketSent = "packet_sent",
        /// A packet arrived.
        PacketReceived = "packet_received",
        /// A packet is newly acknowledged.
        PacketAcked = "packet_acked",
        /// The sender declared a packet lost.
        PacketLost = "packet_lost",
        /// Declared lost, but delivered.
        PacketSpurious = "packet_spurious",
        /// Declared lost, but delivered, and the receiver gave no sign of it.
        PacketRefused = "packet_refused",
        /// TCP sent a segment again.
        PacketRetransmitted = "packet_retransmitted",
        /// Received and thrown away.
        PacketDiscarded = "packet_discarded",
        /// The sender's numbers.
        Metrics = "metrics",
        /// The state of congestion control as the stack reports it.
        CongestionState = "congestion_state",
        /// The loss timer was set, expired or was cancelled.
        LossTimer = "loss_timer",
        /// A probe or retransmission timeout fired.
        Pto = "pto",
        /// The sender ran into a limit.
        Blocked = "blocked",
        /// The application limits the sender, or no longer does.
        AppLimited = "app_limited",
        /// A step in the connection's life.
        Milestone = "milestone",
        /// Parameters of one end or of loss recovery.
        Parameters = "parameters",
        /// A state of the one vocabulary was entered.
        State = "state",
        /// A part of a stream arrived.
        StreamData = "stream_data",
    }
}

vocabulary! {
    /// The packet number space, or the form of a packet without a number.
    Space {
        /// Initial packets.
        Initial = "initial",
        /// Handshake packets.
        Handshake = "handshake",
        /// 0-RTT packets: they share their numbers with 1-RTT ones.
        ZeroRtt = "0rtt",
        /// 1-RTT packets.
        OneRtt = "1rtt",
        /// Retry packets.
        Retry = "retry",
        /// Version negotiation packets.
        VersionNegotiation = "version_negotiation",
    }
}

/// A row of the table; values that its kind does not have are `None`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "docs/reference/traces.md has the columns")]
pub struct Event {
    /// Nanoseconds since the trace's reference.
    pub time_ns: i64,
    pub vantage: Vantage,
    pub source: Source,
    pub kind: Kind,
    /// Which connection of the account this is, from 0.
    pub connection: u32,
    pub flow: Option<Text>,
    pub space: Option<Space>,
    /// QUIC's; of TCP the 32-bit sequence number.
    pub packet_number: Option<i64>,
    /// The path of Multipath QUIC, if the trace names paths.
    pub path: Option<i64>,
    pub size_bytes: Option<i64>,
    pub name: Option<Text>,
    pub detail: Option<Text>,
    pub stream: Option<i64>,
    pub value: Option<f64>,
    pub cwnd_bytes: Option<i64>,
    pub ssthresh_bytes: Option<i64>,
    pub in_flight_bytes: Option<i64>,
    pub srtt_ns: Option<i64>,
    pub rttvar_ns: Option<i64>,
    pub min_rtt_ns: Option<i64>,
    pub latest_rtt_ns: Option<i64>,
    /// Bits per second.
    pub pacing_bps: Option<i64>,
    pub pto_count: Option<i64>,
    pub acked_bytes: Option<i64>,
}

impl Event {
    /// Returns an event of the first connection without further values.
    #[must_use]
    pub fn new(time_ns: i64, vantage: Vantage, source: Source, kind: Kind) -> Self {
        Self {
            time_ns,
            vantage,
            source,
            kind,
            connection: 0,
            flow: None,
            space: None,
            packet_number: None,
            path: None,
            size_bytes: None,
            name: None,
            detail: None,
            stream: None,
            value: None,
            cwnd_bytes: None,
            ssthresh_bytes: None,
            in_flight_bytes: None,
            srtt_ns: None,
            rttvar_ns: None,
            min_rtt_ns: None,
            latest_rtt_ns: None,
            pacing_bps: None,
            pto_count: None,
            acked_bytes: None,
        }
    }
}

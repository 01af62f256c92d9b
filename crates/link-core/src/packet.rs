//! A packet as it arrives, and the decisions about it.

use std::fmt;

/// Which way a packet goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum DirectionName {
    /// Client to server.
    Up = 0,
    /// Server to client.
    Down = 1,
}

impl fmt::Display for DirectionName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Up => "up",
            Self::Down => "down",
        })
    }
}

/// The transport protocol of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Transport {
    /// UDP, so QUIC.
    Udp,
    /// TCP.
    Tcp,
    /// `ICMPv4` or `ICMPv6`.
    Icmp,
    /// Anything else, and what could not be read.
    #[default]
    Other,
}

/// A packet as it arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PacketInfo {
    /// Size of the IP packet.
    pub size_bytes: u32,
    /// Its transport protocol.
    pub transport: Transport,
    /// Its flow: a hash of protocol, addresses and ports, the same for both directions of a connection.
    pub flow: u64,
    /// The ECN codepoint of its IP header: 0 not capable, 1 ECT(1), 2 ECT(0), 3 congestion experienced.
    pub ecn: u8,
}

impl PacketInfo {
    /// A packet of that size of which nothing else matters.
    #[must_use]
    pub fn of_size(size_bytes: u32) -> Self {
        Self { size_bytes, ..Self::default() }
    }
}

/// Changes to the packet's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Edits {
    /// A queue has marked it: set the codepoint "congestion experienced".
    pub mark_ce: bool,
    /// The codepoint with which it leaves, where a middlebox has written one; a mark behind that is in it.
    pub ecn: Option<u8>,
    /// 0, or random bits that choose the bit to flip.
    pub corrupt: u64,
    /// 0, or the MTU to report to the sender of a packet that was dropped for its size.
    pub icmp_mtu: u32,
    /// How many times the NAT has given the client's UDP flows new ports; 0 leaves them as they are.
    pub nat_epoch: u32,
}

/// What surgery did to a packet that was not dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Operated {
    /// Whether a stage would have dropped or corrupted it.
    pub forgiven: bool,
    /// How much later it leaves.
    pub held_ns: u64,
}

/// The decision about a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It leaves at `due_ns`.
    Deliver {
        /// When it leaves, on the clock of the arrivals.
        due_ns: u64,
    },
    /// It is dropped by the stage of that index, for that reason.
    Drop {
        /// Index of the stage in its direction, from 0.
        stage: usize,
        /// `loss`, `queue`, …: one of [`crate::stages::StageSpec::drop_reasons`].
        reason: &'static str,
    },
}

/// A packet's whole fate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fate {
    /// Delivered when, or dropped why.
    pub verdict: Verdict,
    /// Bytes in the first bottleneck's queue when the packet reached it, without the packet; 0 if it reached none.
    pub queue_bytes: u64,
    /// Packets in that queue.
    pub queue_packets: u32,
    /// How long the packet waited in queues until its transmission began, all bottlenecks together.
    pub queued_ns: u64,
    /// Changes to its bytes.
    pub edits: Edits,
    /// What surgery did to it, but for a drop, which is the verdict.
    pub operated: Operated,
}

/// A decision of a direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A stage has made one more copy of packet `number`: one more fate will come for it.
    Copied {
        /// Number of the packet in its direction, from 0.
        number: u64,
    },
    /// The fate of a packet or of a copy is known.
    Decided {
        /// Number of the packet in its direction, from 0.
        number: u64,
        /// 0 for the packet itself, from 1 for its copies.
        copy: u16,
        /// Its fate.
        fate: Fate,
    },
}

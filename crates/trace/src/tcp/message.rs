//! The state of a socket from `sock_diag`: `struct inet_diag_msg` (`include/uapi/linux/inet_diag.h`) and its attributes, of which
//! `struct tcp_info` (tcp.h) grows with the kernel: fields that one lacks are None.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const MESSAGE_BYTES: usize = 72;
const FAMILY_INET: u8 = 2;
const FAMILY_INET6: u8 = 10;
const INFO: u16 = 2;
const CONGESTION: u16 = 4;
const SKMEMINFO: u16 = 7;
const BBR_INFO: u16 = 16;
const SNDBUF: usize = 12; // the fourth number of SKMEMINFO

/// Both ends of a connection, as a socket sees them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ends {
    /// The socket's own.
    pub local: SocketAddr,
    /// The other's.
    pub remote: SocketAddr,
}

/// A socket's answer.
pub struct Message<'a> {
    /// Which socket.
    pub cookie: u64,
    /// Its addresses.
    pub ends: Ends,
    info: &'a [u8],
    /// Its congestion control.
    pub congestion_control: Option<&'a str>,
    memory: &'a [u8],
    /// Pacing gain and window gain of BBR, in 256ths.
    pub bbr_gains: Option<(u32, u32)>,
}

impl<'a> Message<'a> {
    /// Reads an answer; None where it is none.
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let family = *bytes.first()?;
        let port = |at: usize| Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?));
        let end = |at: usize, port: u16| Some(SocketAddr::new(address(family, bytes.get(at..at + 16)?)?, port));
        let ends = Ends { local: end(8, port(4)?)?, remote: end(24, port(6)?)? };
        let cookie = u64::from_ne_bytes(*bytes.get(44..)?.first_chunk()?);
        let mut message = Self { cookie, ends, info: &[], congestion_control: None, memory: &[], bbr_gains: None };
        let mut rest = bytes.get(MESSAGE_BYTES..)?;
        while let Some((kind, value, after)) = attribute(rest) {
            match kind {
                INFO => message.info = value,
                CONGESTION => {
                    message.congestion_control =
                        std::str::from_utf8(value).ok().map(|name| name.trim_end_matches('\0'));
                }
                SKMEMINFO => message.memory = value,
                BBR_INFO => message.bbr_gains = Some((word(value, 12)?, word(value, 16)?)),
                _ => {}
            }
            rest = after;
        }
        Some(message)
    }

    /// Whether it came with `tcp_info`.
    pub fn has_info(&self) -> bool {
        !self.info.is_empty()
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.info.get(at).copied()
    }

    fn word(&self, at: usize) -> Option<i64> {
        word(self.info, at).map(i64::from)
    }

    fn long(&self, at: usize) -> Option<u64> {
        Some(u64::from_ne_bytes(*self.info.get(at..)?.first_chunk()?))
    }

    /// Open, Disorder, CWR, Recovery, Loss as numbers from 0.
    pub fn congestion_state(&self) -> Option<u8> {
        self.byte(1)
    }

    /// Retransmission timeouts in a row.
    pub fn backoff(&self) -> Option<i64> {
        self.byte(4).map(i64::from)
    }

    /// Whether the last rate sample was taken while the application gave too little.
    pub fn app_limited(&self) -> Option<bool> {
        self.byte(7).map(|bits| bits & 1 == 1)
    }

    /// Bytes of payload of a full segment.
    pub fn mss(&self) -> Option<i64> {
        self.word(16).filter(|mss| *mss > 0)
    }

    /// Bytes in flight as the kernel counts segments: sent and not acknowledged, without those that arrived out of order
    /// or count as lost, with those sent again. Where there are none of these three, to the byte.
    pub fn in_flight_bytes(&self, mss: i64) -> Option<i64> {
        let (sacked, lost, again) = (self.word(28)?, self.word(32)?, self.word(36)?);
        let most = (self.word(24)? - sacked - lost + again).saturating_mul(mss);
        let counts = (self.long(200), self.long(208), self.bytes_acked());
        if let ((0, 0, 0), (Some(sent), Some(sent_again), Some(acked))) = ((sacked, lost, again), counts) {
            let unacknowledged = (sent as i64).saturating_sub(sent_again as i64).saturating_sub(acked);
            return Some(unacknowledged.clamp(0, most.max(0)));
        }
        Some(most)
    }

    /// Smoothed round trip, µs.
    pub fn rtt_us(&self) -> Option<i64> {
        self.word(68).filter(|rtt| *rtt > 0)
    }

    /// Its mean deviation, µs.
    pub fn rttvar_us(&self) -> Option<i64> {
        self.rtt_us().and_then(|_| self.word(72))
    }

    /// The least round trip, µs.
    pub fn min_rtt_us(&self) -> Option<i64> {
        self.word(148).filter(|rtt| *rtt > 0 && *rtt < i64::from(u32::MAX))
    }

    /// The threshold, segments.
    pub fn ssthresh(&self) -> Option<i64> {
        self.word(76)
    }

    /// The window, segments.
    pub fn cwnd(&self) -> Option<i64> {
        self.word(80)
    }

    /// Retransmissions so far.
    pub fn retransmissions(&self) -> Option<i64> {
        self.word(100)
    }

    /// Bytes per second; None where it does not pace.
    pub fn pacing_rate(&self) -> Option<i64> {
        self.long(104).filter(|rate| *rate > 0 && *rate != u64::MAX).and_then(|rate| i64::try_from(rate).ok())
    }

    /// Bytes acknowledged so far.
    pub fn bytes_acked(&self) -> Option<i64> {
        self.long(120).map(|bytes| bytes as i64)
    }

    /// µs in which the receiver's window held it back, so far.
    pub fn receive_window_limited_us(&self) -> Option<u64> {
        self.long(176)
    }

    /// µs in which its own send buffer did.
    pub fn send_buffer_limited_us(&self) -> Option<u64> {
        self.long(184)
    }

    /// The receiver's window, bytes.
    pub fn send_window(&self) -> Option<i64> {
        self.word(228)
    }

    /// The most that its send buffer holds, bytes.
    pub fn send_buffer(&self) -> Option<i64> {
        word(self.memory, SNDBUF).map(i64::from)
    }

    /// Retransmission timeouts so far.
    pub fn timeouts(&self) -> Option<i64> {
        Some(i64::from(u16::from_ne_bytes(*self.info.get(240..)?.first_chunk()?)))
    }
}

/// An address of either family; one of IPv4 inside IPv6 is one of IPv4.
pub fn address(family: u8, bytes: &[u8]) -> Option<IpAddr> {
    match family {
        FAMILY_INET => Some(Ipv4Addr::from(*bytes.first_chunk::<4>()?).into()),
        FAMILY_INET6 => Some(Ipv6Addr::from(*bytes.first_chunk::<16>()?).to_canonical()),
        _ => None,
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Kind and value of the first attribute, and what follows.
fn attribute(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = usize::from(u16::from_ne_bytes(*bytes.first_chunk()?));
    let kind = u16::from_ne_bytes(*bytes.get(2..)?.first_chunk()?);
    let value = bytes.get(4..length)?;
    Some((kind, value, bytes.get(length.next_multiple_of(4)..).unwrap_or_default()))
}

//! What the rows of a connection depend on and only the whole file shows: which end is the client, at which end the
//! capture was taken, how long segments are on the wire.

use std::net::SocketAddr;

use crate::capture::packet::{Packet, Transport};
use crate::capture::tcp::segment::Segment;
use crate::event::Vantage;

/// An end whose part of the round trip is so many times shorter than the other's is where the capture was taken.
const TCP_RATIO: i64 = 8;
/// QUIC's first packets cost more computing.
const QUIC_RATIO: i64 = 3;
/// Initial values of the count of hops: no router was between the capture and an end that sends these.
const LONG: u8 = 0x80;
const SPIN: u8 = 0x20;
const FIRST_HOPS: [u8; 3] = [64, 128, 255];
/// A packet that is seen at several interfaces: at the second one this share of the first one's, or more.
const COPIED_SHARE: f64 = 0.5;
const MOST_INTERFACES: usize = 16;
const TIMESTAMPS_BYTES: i64 = 12;
const USUAL_SEGMENT_BYTES: i64 = 1460;
const LONGEST_USUAL_BYTES: i64 = 1500;

/// One direction of a connection.
#[derive(Default)]
struct Side {
    packets: u64,
    data_bytes: u64,
    longest: usize,
    hops: Option<(u8, u8)>,
    /// The newest own time and when it was first seen.
    time: Option<(u32, i64)>,
    /// Of QUIC: its spin bit, and when that last changed.
    spin: Option<(bool, Option<i64>)>,
    /// The shortest time from a packet to this end until its answer passed.
    portion_ns: Option<i64>,
    segment_size: Option<u16>,
    has_timestamps: bool,
    interfaces: Vec<(u32, u64)>,
}

/// All that a pass over the file learns of one connection.
pub struct Facts {
    transport: Transport,
    ends: [SocketAddr; 2],
    /// Which of the ends opened it, if that was seen.
    opener: Option<usize>,
    sides: [Side; 2],
    opened_ns: Option<i64>,
    answered_ns: Option<i64>,
    handshake_ns: Option<[i64; 2]>,
    /// The scales of both windows are known.
    pub scales: [Option<u8>; 2],
    synchronised: [bool; 2],
}

/// How the rows of a connection are made.
pub struct Decision {
    /// The ends, the client's first.
    pub client: SocketAddr,
    pub server: SocketAddr,
    /// Where the capture was taken.
    pub vantage: Vantage,
    /// Whether rows are those that the client would log.
    pub as_client: bool,
    /// Whether the lower address is the client's.
    pub client_is_low: bool,
    /// The one interface for packets of the client and of the server, if they are seen at several.
    pub interfaces: [Option<u32>; 2],
    /// Data bytes of a segment on the wire.
    pub segment_bytes: i64,
    /// How the windows of client and server are scaled: `None` if it is unknown.
    pub scales: [Option<u8>; 2],
    /// The round trip of the handshake.
    pub handshake_ns: Option<i64>,
    pub notes: Vec<String>,
}

impl Facts {
    /// A connection begins with this packet.
    pub fn new(packet: &Packet) -> Self {
        let (low, high) = (packet.source.min(packet.destination), packet.source.max(packet.destination));
        Self {
            transport: packet.transport,
            ends: [low, high],
            opener: None,
            sides: [Side::default(), Side::default()],
            opened_ns: None,
            answered_ns: None,
            handshake_ns: None,
            scales: [None; 2],
            synchronised: [false; 2],
        }
    }

    fn packet(&mut self, packet: &Packet, ascends: bool, interface: u32, data_bytes: usize) -> usize {
        let from = usize::from(!ascends);
        let side = &mut self.sides[from];
        side.packets += 1;
        side.data_bytes += data_bytes as u64;
        side.longest = side.longest.max(data_bytes);
        let (least, most) = side.hops.unwrap_or((packet.hops, packet.hops));
        side.hops = Some((least.min(packet.hops), most.max(packet.hops)));
        match side.interfaces.iter().position(|(known, _)| *known == interface) {
            Some(at) => side.interfaces[at].1 += 1,
            None if side.interfaces.len() < MOST_INTERFACES => side.interfaces.push((interface, 1)),
            None => {}
        }
        from
    }

    /// A segment of TCP.
    pub fn segment(&mut self, packet: &Packet, segment: &Segment, ascends: bool, interface: u32, time_ns: i64) {
        let from = self.packet(packet, ascends, interface, segment.data_bytes);
        if segment.opens() {
            let is_answer = segment.acknowledges();
            self.opener = Some(if is_answer { 1 - from } else { from });
            self.sides[from].segment_size = segment.segment_size;
            self.scales[from] = segment.window_scale;
            self.synchronised[from] = true;
            if is_answer { self.answered(time_ns) } else { self.opened(time_ns) }
        } else if self.opener == Some(from) {
            self.completed(time_ns);
        }
        if let Some((own, echoed)) = segment.timestamps {
            let [side, other] = self.pair(from);
            side.has_timestamps = true;
            if side.time.is_none_or(|(known, _)| own.wrapping_sub(known) as i32 > 0) {
                side.time = Some((own, time_ns));
            }
            if let Some((_, seen_ns)) = other.time.filter(|(known, _)| *known == echoed) {
                side.passed(time_ns - seen_ns);
            }
        }
    }

    /// A datagram of QUIC.
    pub fn datagram(&mut self, packet: &Packet, opens: bool, ascends: bool, interface: u32, time_ns: i64) {
        let from = self.packet(packet, ascends, interface, packet.length.saturating_sub(8));
        if let Some(first) = packet.bytes.get(8).filter(|first| **first & LONG == 0) {
            self.spun(from, first & SPIN != 0, time_ns);
        }
        if opens && self.opener.is_none() {
            self.opener = Some(from);
        }
        match self.opener {
            Some(opener) if opener == from && self.answered_ns.is_none() => self.opened(time_ns),
            Some(opener) if opener == from => self.completed(time_ns),
            Some(_) => self.answered(time_ns),
            None => {}
        }
    }

    /// A client turns the spin bit when the server's turn arrives, and a server when the client's does.
    fn spun(&mut self, from: usize, bit: bool, time_ns: i64) {
        let [side, other] = self.pair(from);
        let turned = side.spin.is_some_and(|(known, _)| known != bit);
        let before_ns = side.spin.and_then(|(_, turned_ns)| turned_ns);
        side.spin = Some((bit, if turned { Some(time_ns) } else { before_ns }));
        if let (true, Some((_, Some(other_ns)))) = (turned, other.spin) {
            if before_ns.is_none_or(|before_ns| before_ns < other_ns) {
                side.passed(time_ns - other_ns);
            }
        }
    }

    fn pair(&mut self, from: usize) -> [&mut Side; 2] {
        let [low, high] = &mut self.sides;
        if from == 0 { [low, high] } else { [high, low] }
    }

    fn opened(&mut self, time_ns: i64) {
        if self.answered_ns.is_none() {
            self.opened_ns = Some(time_ns);
        }
    }

    fn answered(&mut self, time_ns: i64) {
        if self.handshake_ns.is_none() && self.answered_ns.is_none() {
            self.answered_ns = Some(time_ns);
        }
    }

    fn completed(&mut self, time_ns: i64) {
        if let (None, Some(opened_ns), Some(answered_ns)) = (self.handshake_ns, self.opened_ns, self.answered_ns) {
            self.handshake_ns = Some([time_ns - answered_ns, answered_ns - opened_ns]);
        }
    }

    /// Decides how rows are made; `wanted` is the end that the user names.
    pub fn decide(&self, wanted: Vantage) -> Decision {
        let mut notes = Vec::new();
        let client = self.client(&mut notes);
        let of = |end: usize| (client + end) % 2;
        let sides = [&self.sides[of(0)], &self.sides[of(1)]];
        let (vantage, how) = match wanted {
            Vantage::Unknown => self.place(sides),
            named => (named, String::new()),
        };
        if !how.is_empty() {
            notes.push(how);
        }
        let one_sided = sides.iter().position(|side| side.packets == 0);
        let as_client = match (vantage, one_sided) {
            (Vantage::Client, _) => true,
            (Vantage::Server, _) => false,
            // Data of one direction alone has the rows of its receiver: nothing is known of its sender's reasons.
            (Vantage::Unknown, Some(absent)) => absent == 0,
            (Vantage::Unknown, None) => sides[0].data_bytes > sides[1].data_bytes,
        };
        if let Some(absent) = one_sided {
            let seen = if absent == 0 { "server" } else { "client" };
            notes.push(format!(
                "The capture has packets of the {seen} alone: round trips, and why the sender waits, cannot be known."
            ));
        }
        let scales = [self.scales[of(0)], self.scales[of(1)]];
        let both = self.synchronised == [true; 2];
        let is_tcp = self.transport == Transport::Tcp;
        if is_tcp && !both {
            notes.push("The handshake is not in the capture, so the scale of the receive windows is unknown.".into());
        }
        // Windows are scaled only if both ends ask for it (RFC 7323, 2.2).
        let agreed = scales.iter().all(Option::is_some);
        let scales = if !both {
            [None; 2]
        } else if agreed {
            scales
        } else {
            [Some(0); 2]
        };
        let interfaces = [0, 1].map(|end| Self::interface(sides[end], (end == 0) == as_client));
        if interfaces.iter().any(Option::is_some) {
            notes.push(
                "Its packets were seen at several interfaces: those at the interface next to the end are read.".into(),
            );
        }
        Decision {
            client: self.ends[client],
            server: self.ends[of(1)],
            vantage,
            as_client,
            client_is_low: client == 0,
            interfaces,
            segment_bytes: self.segment_bytes(),
            scales,
            handshake_ns: self.handshake_ns.map(|portions| portions.iter().sum()),
            notes,
        }
    }

    fn client(&self, notes: &mut Vec<String>) -> usize {
        self.opener.unwrap_or_else(|| {
            // Servers have the well-known ports.
            let server = usize::from(self.ends[1].port() < self.ends[0].port());
            notes.push(format!(
                "No handshake says which end is the client: {} is taken for the server.",
                self.ends[server]
            ));
            1 - server
        })
    }

    fn place(&self, sides: [&Side; 2]) -> (Vantage, String) {
        let ratio = if self.transport == Transport::Tcp { TCP_RATIO } else { QUIC_RATIO };
        let by_handshake = self.handshake_ns.map(|portions| portions.map(|portion| portion.max(0)));
        let by_times = sides[0].portion_ns.zip(sides[1].portion_ns).map(|(client, server)| [client, server]);
        let later = if self.transport == Transport::Tcp { "timestamps" } else { "spin bit" };
        let mut between = None;
        for (way, portions) in [("handshake", by_handshake), (later, by_times)] {
            let Some([client_ns, server_ns]) = portions else { continue };
            let [of_client, of_server] = [client_ns, server_ns].map(|ns| ns as f64 / 1e6);
            let shown =
                format!("by its {way}, the client answers after {of_client:.3} ms, the server after {of_server:.3} ms");
            if client_ns.saturating_mul(ratio) <= server_ns {
                return (Vantage::Client, format!("The capture was taken at the client: {shown}."));
            }
            if server_ns.saturating_mul(ratio) <= client_ns {
                return (Vantage::Server, format!("The capture was taken at the server: {shown}."));
            }
            between = Some(shown);
        }
        if let Some(shown) = between {
            let lacks = "Its round trips lack the sender's part of the path.";
            return (Vantage::Unknown, format!("The capture was taken between the ends: {shown}. {lacks}"));
        }
        let near =
            sides.map(|side| side.hops.is_some_and(|(least, most)| least == most && FIRST_HOPS.contains(&least)));
        match near {
            [true, false] => (
                Vantage::Client,
                "The capture was taken at the client: no router has counted down the hops of its packets.".into(),
            ),
            [false, true] => (
                Vantage::Server,
                "The capture was taken at the server: no router has counted down the hops of its packets.".into(),
            ),
            _ => (Vantage::Unknown, "At which end the capture was taken cannot be known: --vantage names it.".into()),
        }
    }

    /// The interface next to an end, of those that see the same packets: its own packets are seen there first, and
    /// those of the other end last.
    fn interface(side: &Side, is_own: bool) -> Option<u32> {
        let most = side.interfaces.iter().map(|(_, count)| *count).max()?;
        let mut copies = side.interfaces.iter().filter(|(_, count)| *count as f64 >= COPIED_SHARE * most as f64);
        let count = copies.clone().count();
        if count < 2 {
            return None;
        }
        if is_own { copies.next() } else { copies.next_back() }.map(|(interface, _)| *interface)
    }

    fn segment_bytes(&self) -> i64 {
        let options = if self.sides.iter().all(|side| side.has_timestamps) { TIMESTAMPS_BYTES } else { 0 };
        let declared = self.sides.iter().filter_map(|side| side.segment_size).min().map(i64::from);
        let longest = self.sides.iter().map(|side| side.longest as i64).max().unwrap_or(0);
        let known = declared.map(|size| size - options).filter(|size| *size > 0);
        let usual = if longest > LONGEST_USUAL_BYTES { USUAL_SEGMENT_BYTES - options } else { longest };
        known.unwrap_or(usual).max(1)
    }
}

impl Side {
    fn passed(&mut self, portion_ns: i64) {
        self.portion_ns = Some(self.portion_ns.map_or(portion_ns, |least| least.min(portion_ns)).max(0));
    }
}

//! Datagrams of one QUIC connection → rows, as one end sees them. Without the secrets of its TLS these have sizes,
//! times and directions; Initial packets are opened in any case, for their keys are no secret.

mod crypto;
mod flight;
mod frames;
pub mod header;
pub mod keys;

use std::rc::Rc;

use self::crypto::Hello;
use self::flight::{Flight, Part, numbering};
use self::frames::Frame;
use self::header::Long;
use self::keys::{ClientRandom, KeyLog, Keys, Label, Suite, whole_number};
use crate::capture::rows::{Figures, Now, RoundTrips, Sized};
use crate::capture::survey::Decision;
use crate::event::{Event, Kind, Space};
use crate::writer::Halt;

const MOST_IDS: usize = 1 << 10;
const KEY_PHASE: u8 = 0x04;
const SPIN: u8 = 0x20;
/// Edges are this part of the handshake's round trip apart or more: an end that does not spin may send any bits.
const LEAST_SPIN: i64 = 8;
const SPARE_SPINS: u64 = 2;
/// A short header has at least so many bytes behind its id: a number, and a sample of what is encrypted.
const LEAST_SHORT_BYTES: usize = 20;

/// The keys of one direction of 1-RTT packets.
#[derive(Default)]
struct Phases {
    now: Option<Keys>,
    before: Option<Keys>,
    after: Option<Keys>,
    phase: u8,
}

#[derive(Default)]
struct End {
    initial: Option<Keys>,
    handshake: Option<Keys>,
    early: Option<Keys>,
    phases: Phases,
    /// Largest number of each space.
    largest: [Option<i64>; 3],
    /// How long its ids are, which its peer's short headers begin with.
    id_bytes: Option<usize>,
    hello: Hello,
    spin: Option<(bool, i64)>,
}

/// What became of packets, for the notes.
#[derive(Default)]
struct Counts {
    initial: u64,
    opened_initial: u64,
    keyed: u64,
    opened: u64,
    cut: u64,
    spins: u64,
    short_spins: u64,
}

/// One connection.
pub struct Connection {
    decision: Rc<Decision>,
    key_log: Rc<KeyLog>,
    /// The client, then the server.
    ends: [End; 2],
    flights: [Flight; 3],
    round_trips: RoundTrips,
    version: u32,
    random: Option<ClientRandom>,
    suite: Option<Suite>,
    started: bool,
    passed: Vec<&'static str>,
    /// Ids by which the server is addressed, also from other ports.
    pub ids: Vec<Vec<u8>>,
    initial_for: Vec<u8>,
    counts: Counts,
    plain: Vec<u8>,
}

impl Connection {
    /// One of which nothing was seen yet.
    pub fn new(decision: Rc<Decision>, key_log: Rc<KeyLog>) -> Self {
        Self {
            decision,
            key_log,
            ends: [End::default(), End::default()],
            flights: [Flight::default(), Flight::default(), Flight::default()],
            round_trips: RoundTrips::default(),
            version: 1,
            random: None,
            suite: None,
            started: false,
            passed: Vec::new(),
            ids: Vec::new(),
            initial_for: Vec::new(),
            counts: Counts::default(),
            plain: Vec::new(),
        }
    }

    /// The next datagram of the connection; `length` is how long it was.
    pub fn datagram(&mut self, bytes: &[u8], length: usize, by_client: bool, now: &mut Now) -> Result<(), Halt> {
        if !self.started && by_client && bytes.first().is_some_and(|first| first & 0x80 != 0) {
            self.started = true;
            now.named(Kind::Milestone, "started", None, None)?;
        }
        let (mut rest, mut left) = (bytes, length);
        let mut space = None;
        while left > 0 {
            if rest.is_empty() {
                // Further packets of the datagram were not kept.
                return self.row(by_client, space, None, left, now);
            }
            let Some(long) = Long::read(rest, left) else {
                if rest[0] & 0xc0 == 0x40 {
                    self.short(rest, left, by_client, now)?;
                }
                return Ok(());
            };
            let packet = rest.get(..long.bytes);
            self.long(&long, packet, by_client, now)?;
            space = long.space;
            rest = rest.get(long.bytes..).unwrap_or_default();
            left -= long.bytes;
        }
        Ok(())
    }

    fn long(&mut self, long: &Long, packet: Option<&[u8]>, by_client: bool, now: &mut Now) -> Result<(), Halt> {
        let end = usize::from(!by_client);
        let Some(space) = long.space else {
            return self.row(by_client, None, None, long.bytes, now);
        };
        self.ends[end].id_bytes.get_or_insert(long.source.len());
        if !by_client {
            self.learn_id(long.source);
        }
        match space {
            Space::Retry => {
                self.row(by_client, Some(space), None, long.bytes, now)?;
                return self.once("retry", None, now);
            }
            Space::VersionNegotiation => return self.row(by_client, Some(space), None, long.bytes, now),
            Space::Initial if by_client && self.initial_for != long.destination => {
                self.version = long.version;
                let fits = self.initial_for.is_empty() || !long.token.is_empty();
                if let Some([client, server]) = Keys::initial(long.version, long.destination).filter(|_| fits) {
                    self.initial_for = long.destination.to_vec();
                    (self.ends[0].initial, self.ends[1].initial) = (Some(client), Some(server));
                }
            }
            _ => {}
        }
        self.counts.initial += u64::from(space == Space::Initial);
        let mut plain = std::mem::take(&mut self.plain);
        let opened = packet.and_then(|packet| self.open_long(space, packet, long.number_at, end, &mut plain));
        self.counts.cut += u64::from(packet.is_none());
        self.counts.opened_initial += u64::from(space == Space::Initial && opened.is_some());
        let frames = opened.as_ref().map(|_| plain.as_slice());
        let done = self.packet(by_client, space, opened, long.bytes, frames, now);
        self.plain = plain;
        done
    }

    fn open_long(
        &mut self,
        space: Space,
        packet: &[u8],
        number_at: usize,
        end: usize,
        plain: &mut Vec<u8>,
    ) -> Option<i64> {
        let own = &mut self.ends[end];
        let keys = match space {
            Space::Initial => own.initial.as_ref(),
            Space::Handshake => own.handshake.as_ref(),
            _ => own.early.as_ref(),
        }?;
        let header = keys.header(packet, number_at)?;
        let largest = &mut own.largest[numbering(space)?];
        let number = whole_number(header.1, header.2, largest.unwrap_or(-1));
        keys.open(packet, number_at, header, number, plain)?;
        *largest = Some(largest.map_or(number, |largest| largest.max(number)));
        Some(number)
    }

    fn short(&mut self, bytes: &[u8], length: usize, by_client: bool, now: &mut Now) -> Result<(), Halt> {
        let end = usize::from(!by_client);
        let id_bytes = self.ends[1 - end].id_bytes;
        let keyed = self.ends[end].phases.now.is_some();
        let whole = bytes.len() >= length;
        self.counts.cut += u64::from(!whole);
        self.counts.keyed += u64::from(keyed && whole);
        let mut plain = std::mem::take(&mut self.plain);
        let number_at = id_bytes.map(|id_bytes| 1 + id_bytes);
        let End { phases, largest, .. } = &mut self.ends[end];
        let opened = number_at
            .filter(|at| whole && length >= at + LEAST_SHORT_BYTES)
            .and_then(|at| phases.open(&bytes[..length], at, &mut largest[2], &mut plain));
        if let Some((_, true)) = opened {
            now.named(Kind::Milestone, "key_update", None, None)?;
        }
        self.counts.opened += u64::from(opened.is_some());
        if !keyed {
            self.spin(bytes[0] & SPIN != 0, by_client, now)?;
        }
        let frames = opened.as_ref().map(|_| plain.as_slice());
        let number = opened.map(|(number, _)| number);
        let done = self.packet(by_client, Space::OneRtt, number, length, frames, now);
        self.plain = plain;
        done
    }

    /// Edges of the spin bit in what this end sends are a round trip apart (RFC 9000, 17.4), if it spins.
    fn spin(&mut self, bit: bool, by_client: bool, now: &mut Now) -> Result<(), Halt> {
        if by_client != self.decision.as_client {
            return Ok(());
        }
        let end = usize::from(!by_client);
        let Some((before, edge_ns)) = self.ends[end].spin else {
            self.ends[end].spin = Some((bit, -1));
            return Ok(());
        };
        if before == bit {
            return Ok(());
        }
        self.ends[end].spin = Some((bit, now.time_ns));
        let latest_ns = now.time_ns - edge_ns;
        let least_ns = self.decision.handshake_ns.map_or(i64::MAX, |both| both / LEAST_SPIN);
        if edge_ns < 0 {
            return Ok(());
        }
        if latest_ns <= least_ns {
            self.counts.short_spins += 1;
        } else if self.counts.short_spins <= self.counts.spins + SPARE_SPINS {
            self.counts.spins += 1;
            self.round_trips.learn(latest_ns);
            let RoundTrips { latest_ns, smoothed_ns, least_ns } = self.round_trips;
            now.figures(Figures { latest_ns, smoothed_ns, least_ns, in_flight_bytes: 0 })?;
        }
        Ok(())
    }

    fn row(
        &self,
        by_client: bool,
        space: Option<Space>,
        number: Option<i64>,
        bytes: usize,
        now: &mut Now,
    ) -> Result<(), Halt> {
        let kind = if by_client == self.decision.as_client { Kind::PacketSent } else { Kind::PacketReceived };
        now.packet(kind, Sized { space, number, bytes: bytes as i64 }, None)
    }

    fn packet(
        &mut self,
        by_client: bool,
        space: Space,
        number: Option<i64>,
        bytes: usize,
        frames: Option<&[u8]>,
        now: &mut Now,
    ) -> Result<(), Halt> {
        self.row(by_client, Some(space), number, bytes, now)?;
        let Some(frames) = frames else { return Ok(()) };
        let is_own = by_client == self.decision.as_client;
        let mut parts: Vec<Part> = Vec::new();
        let mut elicits = false;
        let mut ignored: Vec<&'static str> = Vec::new();
        let whole = frames::read(frames, |frame| {
            elicits |= !matches!(frame, Frame::Ack(_) | Frame::Close { .. });
            self.frame(&frame, space, by_client, &mut parts, &mut ignored, now)
        })?;
        for name in ignored {
            now.writer.account.count_frame_ignored(name);
        }
        if !whole {
            now.writer.account.count_frame_ignored("unknown");
        }
        if let (true, true, Some(place)) = (is_own, elicits, numbering(space)) {
            let packet = Sized { space: Some(space), number, bytes: bytes as i64 };
            self.flights[place].send(packet, parts, &self.round_trips, now)?;
        }
        Ok(())
    }

    fn frame(
        &mut self,
        frame: &Frame,
        space: Space,
        by_client: bool,
        parts: &mut Vec<Part>,
        ignored: &mut Vec<&'static str>,
        now: &mut Now,
    ) -> Result<(), Halt> {
        let is_own = by_client == self.decision.as_client;
        match frame {
            Frame::Ack(ranges) if !is_own => match numbering(space) {
                Some(place) => self.flights[place].acknowledge(ranges, &mut self.round_trips, now),
                None => Ok(()),
            },
            Frame::Ack(_) => Ok(()),
            Frame::Crypto { offset, data } => {
                parts.push((-1, *offset, data.len() as i64));
                if space == Space::Initial {
                    self.ends[usize::from(!by_client)].hello.add(*offset, data);
                    self.learn_keys();
                }
                Ok(())
            }
            Frame::Stream { id, offset, bytes } => {
                parts.push((*id, *offset, *bytes));
                if is_own { Ok(()) } else { now.part(*id, *offset, *bytes) }
            }
            Frame::Blocked { name, stream, limit } => {
                let detail = if is_own { "frame_sent" } else { "frame_received" };
                let row = now.row(Kind::Blocked);
                let (name, detail) = (now.writer.text(name), now.writer.text(detail));
                now.writer.push(Event { name, detail, stream: *stream, value: Some(*limit as f64), ..row })
            }
            Frame::NewConnectionId(id) => {
                if !by_client {
                    self.learn_id(id);
                }
                Ok(())
            }
            Frame::HandshakeDone => self.once("confirmed", None, now),
            Frame::Close { code, is_application } => {
                let whose = if by_client { "client" } else { "server" };
                let layer = if *is_application { "application" } else { "transport" };
                self.once("closed", Some(&format!("by the {whose}, {layer} error {code}")), now)
            }
            Frame::Other(name) => {
                ignored.push(name);
                Ok(())
            }
        }
    }

    fn once(&mut self, name: &'static str, detail: Option<&str>, now: &mut Now) -> Result<(), Halt> {
        if self.passed.contains(&name) {
            return Ok(());
        }
        self.passed.push(name);
        now.named(Kind::Milestone, name, detail, None)
    }

    fn learn_id(&mut self, id: &[u8]) {
        if !id.is_empty() && self.ids.len() < MOST_IDS && !self.ids.iter().any(|known| known == id) {
            self.ids.push(id.to_vec());
        }
    }

    /// Secrets can be found once the `ClientHello` is there, and used once the `ServerHello` has chosen the algorithms.
    fn learn_keys(&mut self) {
        self.random = self.random.or_else(|| self.ends[0].hello.client_random());
        let Some(random) = self.random else { return };
        if let (None, Some(secret)) = (&self.ends[0].early, self.key_log.secret(&random, Label::ClientEarly)) {
            // The ServerHello is not there yet; a secret's length tells all but ChaCha20.
            let suite = if secret.len() == 48 { Suite::Aes256 } else { Suite::Aes128 };
            self.ends[0].early = Keys::new(secret, suite, self.version);
        }
        if self.suite.is_some() {
            return;
        }
        self.suite = self.ends[1].hello.suite();
        let Some(suite) = self.suite else { return };
        let labels = [(Label::ClientHandshake, Label::Client), (Label::ServerHandshake, Label::Server)];
        for (end, (handshake, application)) in self.ends.iter_mut().zip(labels) {
            let keys = |label| Keys::new(self.key_log.secret(&random, label)?, suite, self.version);
            end.handshake = keys(handshake);
            end.phases.now = keys(application);
            end.phases.after = end.phases.now.as_ref().and_then(Keys::next);
        }
    }

    /// What its reader has to know.
    pub fn notes(&self) -> Vec<String> {
        let counts = &self.counts;
        let mut notes = Vec::new();
        let unknown = "so packet numbers, acknowledgements, losses and streams are unknown";
        if counts.initial == 0 {
            notes.push(format!("The handshake is not in the capture, so no keys can be found for it, {unknown}."));
        } else if counts.opened_initial == 0 {
            notes.push(format!("Its first packets cannot be opened: they are of another version, or cut, {unknown}."));
        } else if self.key_log.is_empty() {
            notes.push(format!("There is no key log (--keys sslkeylog.txt), {unknown}."));
        } else if !self.random.is_some_and(|random| self.key_log.knows(&random)) {
            notes.push(format!("The key log has no secrets of this connection, {unknown}."));
        } else if self.ends.iter().all(|end| end.phases.now.is_none()) {
            notes.push(format!("The key log lacks the secrets of 1-RTT packets of this connection, {unknown}."));
        } else if counts.opened == 0 && counts.keyed > 0 {
            notes.push(format!("The secrets of the key log do not open its packets: they are wrong, {unknown}."));
        } else if counts.opened < counts.keyed {
            let left = counts.keyed - counts.opened;
            notes.push(format!("{left} of its {} packets of 1-RTT could not be opened.", counts.keyed));
        }
        if counts.cut > 0 {
            notes.push(format!("{} packets were not kept whole: nothing but their length is known.", counts.cut));
        }
        if counts.spins > 0 {
            notes.push(format!("Its spin bit shows {} round trips.", counts.spins));
        }
        if counts.opened > 0 {
            notes.push("A capture has no losses that a sender declares: data that is sent again shows them.".into());
        }
        notes
    }
}

impl Phases {
    /// Opens a packet, and whether it is the first of new keys.
    fn open(
        &mut self,
        packet: &[u8],
        number_at: usize,
        largest: &mut Option<i64>,
        plain: &mut Vec<u8>,
    ) -> Option<(i64, bool)> {
        let header = self.now.as_ref()?.header(packet, number_at)?;
        let number = whole_number(header.1, header.2, largest.unwrap_or(-1));
        let same = header.0 & KEY_PHASE == self.phase;
        let now = if same { self.now.as_ref() } else { None };
        let mut opened = now.and_then(|keys| keys.open(packet, number_at, header, number, plain));
        let mut updated = false;
        if opened.is_none() && !same {
            opened = self.after.as_ref().and_then(|keys| keys.open(packet, number_at, header, number, plain));
            if opened.is_some() {
                updated = true;
                self.before = std::mem::replace(&mut self.now, self.after.take());
                self.after = self.now.as_ref().and_then(Keys::next);
                self.phase ^= KEY_PHASE;
            } else {
                opened = self.before.as_ref().and_then(|keys| keys.open(packet, number_at, header, number, plain));
            }
        }
        opened?;
        *largest = Some(largest.map_or(number, |largest| largest.max(number)));
        Some((number, updated))
    }
}

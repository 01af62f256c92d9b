//! Segments of one TCP connection → rows, as one end sees them.

mod ranges;
mod receiving;
pub mod segment;
mod sending;
mod sequence;
mod tls;

use std::rc::Rc;

use self::receiving::{Receiving, Wire};
use self::segment::Segment;
use self::sending::{Ack, Data, Sending};
use self::tls::{Part, Records};
use crate::capture::rows::{Now, Sized};
use crate::capture::survey::Decision;
use crate::event::{Kind, Space};
use crate::writer::Halt;

/// One connection.
pub struct Connection {
    decision: Rc<Decision>,
    sending: Sending,
    receiving: Receiving,
    records: Records,
    opened: [bool; 2],
    first: [Option<u32>; 2],
    established: bool,
    completed: bool,
    closing: bool,
    tries: i64,
}

impl Connection {
    /// One of which nothing was seen yet.
    pub fn new(decision: Rc<Decision>) -> Self {
        Self {
            decision,
            sending: Sending::default(),
            receiving: Receiving::default(),
            records: Records::default(),
            opened: [false; 2],
            first: [None; 2],
            established: false,
            completed: false,
            closing: false,
            tries: 0,
        }
    }

    /// The next segment of the connection.
    pub fn segment(&mut self, segment: &Segment, by_client: bool, now: &mut Now) -> Result<(), Halt> {
        let is_own = by_client == self.decision.as_client;
        if segment.opens() {
            return self.opens(segment, by_client, is_own, now);
        }
        if !self.established && by_client && self.opened == [true; 2] {
            self.established = true;
            now.named(Kind::Milestone, "started", Some("TCP established"), None)?;
        }
        let space = self.space(segment, by_client);
        if self.records.complete && !self.completed {
            self.completed = true;
            now.named(Kind::Milestone, "complete", Some("TLS"), None)?;
        }
        let segment_bytes = self.decision.segment_bytes;
        // The scale of the window that this segment announces is its sender's.
        let scale = self.decision.scales[usize::from(!by_client)];
        if is_own {
            self.sending.send(segment, Data { space, segment_bytes }, now)?;
            if segment.acknowledges() && !segment.resets() {
                self.receiving.acknowledge(segment, scale, now.time_ns);
            }
        } else {
            let wire = Wire { segment_bytes, rtt_ns: self.decision.handshake_ns.unwrap_or(0) };
            self.receiving.receive(segment, space, wire, now)?;
            if segment.acknowledges() && !segment.resets() {
                self.sending.acknowledge(&Ack { segment, scale }, now)?;
            }
        }
        self.closes(segment, by_client, now)
    }

    fn opens(&mut self, segment: &Segment, by_client: bool, is_own: bool, now: &mut Now) -> Result<(), Halt> {
        let end = usize::from(!by_client);
        let packet = Sized { space: Some(Space::Initial), number: Some(0), bytes: segment.header_bytes as i64 };
        let again = self.opened[end];
        if !again && by_client {
            now.named(Kind::Milestone, "started", Some("SYN"), None)?;
        }
        if !again {
            self.opened[end] = true;
            if is_own { self.sending.open(segment.sequence) } else { self.receiving.open(segment.sequence) }
        }
        if again && is_own {
            self.tries += 1;
            now.named(Kind::Pto, "rto", Some("SYN"), Some(self.tries as f64))?;
            now.packet(Kind::PacketLost, packet, Some("rto"))?;
        }
        let number = if is_own { self.tries } else { 0 };
        let kind = if is_own { Kind::PacketSent } else { Kind::PacketReceived };
        now.packet(kind, Sized { number: Some(number), ..packet }, again.then_some("sent again"))
    }

    fn space(&mut self, segment: &Segment, by_client: bool) -> Option<Space> {
        if segment.data_bytes == 0 {
            return None;
        }
        let end = usize::from(!by_client);
        let first = *self.first[end].get_or_insert(segment.sequence);
        let is_begin = self.opened == [true; 2];
        let offset = i64::from(segment.sequence.wrapping_sub(first) as i32);
        let part = if is_begin {
            self.records.see(by_client, offset, segment.data, segment.data_bytes)
        } else {
            Part::Application
        };
        (part == Part::Handshake).then_some(Space::Handshake)
    }

    fn closes(&mut self, segment: &Segment, by_client: bool, now: &mut Now) -> Result<(), Halt> {
        if !(segment.closes() || segment.resets()) || self.closing {
            return Ok(());
        }
        self.closing = true;
        let what = if segment.resets() { "reset" } else { "FIN" };
        let detail = format!("{what} of the {}", if by_client { "client" } else { "server" });
        now.named(Kind::Milestone, "closing", Some(&detail), None)
    }

    /// What its reader has to know.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let offloaded = self.sending.offloaded + self.receiving.offloaded;
        if offloaded > 0 {
            notes.push(format!(
                "{offloaded} segments are longer than {} bytes: the network card cuts or joins them, and they count as several \
                 at one time.",
                self.decision.segment_bytes
            ));
        }
        let unseen_bytes = self.sending.unseen_bytes + self.receiving.unseen_bytes;
        if unseen_bytes > 0 {
            notes.push(format!("{unseen_bytes} bytes are not in the capture: it missed packets."));
        }
        notes
    }
}

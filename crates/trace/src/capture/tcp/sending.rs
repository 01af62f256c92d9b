//! The direction that the end of the capture sends: what is in flight, acknowledged, sent again.
//!
//! Every segment gets a number of its own, as a QUIC packet has one: then a round trip, a loss or a late
//! acknowledgement names one sending of some bytes, and not the bytes.

use std::collections::VecDeque;

use super::ranges::Ranges;
use super::segment::Segment;
use super::sequence::Unwrap;
use crate::capture::rows::{Figures, Now, RoundTrips, Sized};
use crate::event::{Kind, Space};
use crate::writer::Halt;

/// Segments that are remembered: a capture without acknowledgements would fill the memory.
const MOST_SEGMENTS: usize = 1 << 18;
/// Settled retransmissions that are remembered for reports of duplicates.
const MOST_SETTLED: usize = 1 << 10;
const LEAST_TIMEOUT_NS: i64 = 180_000_000;
const DUPLICATES: u32 = 3;

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Flying,
    /// Sent again, so that this copy counts as lost.
    Lost,
    Acked,
}

#[derive(Clone, Copy)]
struct Sent {
    start: i64,
    end: i64,
    time_ns: i64,
    number: i64,
    space: Option<Space>,
    size_bytes: i64,
    own_time: Option<u32>,
    state: State,
}

/// An acknowledgement as it arrives.
pub struct Ack<'a> {
    pub segment: &'a Segment<'a>,
    /// How the peer's windows are scaled, if its SYN was seen.
    pub scale: Option<u8>,
}

/// Data as it leaves.
#[derive(Clone, Copy)]
pub struct Data {
    pub space: Option<Space>,
    /// How large the segments are on the wire: longer ones are cut by the device.
    pub segment_bytes: i64,
}

/// What one end sends.
#[derive(Default)]
pub struct Sending {
    sequence: Unwrap,
    /// Behind the last byte that was sent, and behind the last one that is acknowledged.
    next: i64,
    acknowledged: i64,
    started: bool,
    fresh: VecDeque<Sent>,
    again: Vec<Sent>,
    sacked: Ranges,
    /// Retransmissions whose bytes arrived, with the copy that they repeat.
    settled: VecDeque<(i64, i64, Sent)>,
    numbers: i64,
    acked_bytes: i64,
    flying_bytes: i64,
    round_trips: RoundTrips,
    last_sent_ns: i64,
    last_ack_ns: i64,
    duplicates: u32,
    /// Until which byte losses belong to one event, and what showed it.
    recovery: Option<(i64, &'static str)>,
    timeouts: i64,
    probed: bool,
    window_end: i64,
    window_bytes: i64,
    blocked_at: i64,
    /// Bytes that were acknowledged, or left out, and are not in the capture.
    pub unseen_bytes: i64,
    /// Segments longer than the wire's.
    pub offloaded: u64,
    /// Segments that were sent again.
    pub repeated: u64,
}

impl Sending {
    /// Its SYN: data begins behind it.
    pub fn open(&mut self, sequence: u32) {
        self.sequence.begin(sequence.wrapping_add(1));
        self.started = true;
    }

    /// A segment leaves.
    pub fn send(&mut self, segment: &Segment, data: Data, now: &mut Now) -> Result<(), Halt> {
        let bytes = segment.data_bytes as i64;
        let start = self.sequence.unwrap(segment.sequence);
        if !self.started {
            (self.started, self.next, self.acknowledged) = (true, start, start);
        }
        let header_bytes = segment.header_bytes as i64;
        let closed_at = if segment.closes() { start + bytes + 1 } else { i64::MIN };
        if bytes == 0 || (bytes == 1 && start < self.acknowledged) {
            self.next = self.next.max(closed_at);
            // Nothing, or a byte that only asks whether the peer is there.
            return now.packet(Kind::PacketSent, Sized { space: data.space, number: None, bytes: header_bytes }, None);
        }
        self.offloaded += u64::from(bytes > data.segment_bytes);
        let mut repeats = start < self.next && self.repeats(start, start + bytes, now)?;
        for from in (start..start + bytes).step_by(data.segment_bytes.max(1) as usize) {
            let end = (from + data.segment_bytes).min(start + bytes);
            let sent = Sent {
                start: from,
                end,
                time_ns: now.time_ns,
                number: self.numbers,
                space: data.space,
                size_bytes: end - from + header_bytes,
                own_time: segment.timestamps.map(|(own, _)| own),
                state: State::Flying,
            };
            self.numbers += 1;
            repeats &= from < self.next;
            let name = repeats.then_some("sent again");
            now.packet(Kind::PacketSent, sent.sized(), name)?;
            self.fly(sent);
        }
        self.next = self.next.max(closed_at);
        self.last_sent_ns = now.time_ns;
        self.fills_window(data.segment_bytes, now)
    }

    fn fly(&mut self, sent: Sent) {
        self.flying_bytes += sent.size_bytes;
        if sent.start >= self.next {
            self.unseen_bytes += sent.start - self.next;
            self.fresh.push_back(sent);
        } else {
            self.again.push(sent);
        }
        self.next = self.next.max(sent.end);
        if self.fresh.len() > MOST_SEGMENTS {
            self.fresh.pop_front();
        }
        if self.again.len() > MOST_SETTLED {
            self.again.remove(0);
        }
    }

    /// Bytes are sent that were sent before: whether a copy of them was seen. That copy is lost, as its sender takes it.
    fn repeats(&mut self, start: i64, end: i64, now: &mut Now) -> Result<bool, Halt> {
        let from = self.fresh.partition_point(|sent| sent.end <= start);
        let to = from + self.fresh.range(from..).take_while(|sent| sent.start < end).count();
        let known = from < to || self.again.iter().any(|sent| sent.start < end && sent.end > start);
        if !known {
            return Ok(false);
        }
        self.repeated += 1;
        let quiet_ns = now.time_ns - self.last_sent_ns.max(self.last_ack_ns);
        let smoothed_ns = self.round_trips.smoothed_ns;
        let later_arrived = self.sacked.end().is_some_and(|sacked| sacked > start) || self.duplicates >= DUPLICATES;
        let is_last = end >= self.next && !later_arrived && !self.probed && self.recovery.is_none();
        if is_last && quiet_ns > smoothed_ns + smoothed_ns / 2 && smoothed_ns > 0 {
            // A tail loss probe (RFC 8985, 7): the copy before it may well have arrived.
            self.probed = true;
            now.named(Kind::Pto, "tlp", None, Some(1.0))?;
            return Ok(true);
        }
        if quiet_ns > smoothed_ns + LEAST_TIMEOUT_NS {
            self.timeouts += 1;
            self.recovery = Some((self.next, "rto"));
            now.named(Kind::Pto, "rto", None, Some(self.timeouts as f64))?;
        } else if self.recovery.is_none() {
            self.recovery = Some((self.next, "fast_retransmit"));
        }
        let trigger = self.recovery.map(|(_, trigger)| trigger);
        let in_range = |sent: &&mut Sent| sent.start < end && sent.end > start && sent.state == State::Flying;
        let fresh = self.fresh.range_mut(from..to).filter(in_range);
        for sent in fresh.chain(self.again.iter_mut().filter(in_range)) {
            sent.state = State::Lost;
            self.flying_bytes -= sent.size_bytes;
            now.packet(Kind::PacketLost, sent.sized(), trigger)?;
        }
        Ok(true)
    }

    /// The peer's window holds no further segment.
    fn fills_window(&mut self, segment_bytes: i64, now: &mut Now) -> Result<(), Halt> {
        if self.window_bytes > 0 && self.next + segment_bytes > self.window_end && self.blocked_at != self.window_end {
            self.blocked_at = self.window_end;
            now.named(Kind::Blocked, "receive_window", Some("filled"), Some(self.window_bytes as f64))?;
        }
        Ok(())
    }

    /// A segment of the peer arrives.
    pub fn acknowledge(&mut self, ack: &Ack, now: &mut Now) -> Result<(), Halt> {
        let segment = ack.segment;
        let reached = self.sequence.unwrap(segment.acknowledgement);
        if !self.started {
            (self.started, self.next, self.acknowledged) = (true, reached, reached);
        }
        if reached > self.next {
            self.unseen_bytes += reached - self.next;
            self.next = reached;
        }
        self.window(ack, reached, now)?;
        let mut acked = Vec::new();
        let echoed = segment.timestamps.map(|(_, echoed)| echoed);
        if reached > self.acknowledged {
            self.advance(reached, echoed, &mut acked, now)?;
        } else if reached == self.acknowledged && segment.data_bytes == 0 && self.next > reached {
            self.duplicates += 1;
        }
        self.selective(segment.sacks(), reached, &mut acked, now)?;
        self.last_ack_ns = now.time_ns;
        acked.sort_unstable_by_key(|(sent, _): &(Sent, bool)| sent.number);
        for (sent, sure) in &acked {
            self.acked_bytes += sent.size_bytes;
            now.acked(sent.sized(), self.acked_bytes, *sure)?;
        }
        if let Some((newest, _)) = acked.iter().rev().find(|(_, sure)| *sure) {
            self.round_trips.learn((now.time_ns - newest.time_ns).max(1));
            let RoundTrips { latest_ns, smoothed_ns, least_ns } = self.round_trips;
            now.figures(Figures { latest_ns, smoothed_ns, least_ns, in_flight_bytes: self.flying_bytes })?;
        }
        Ok(())
    }

    fn window(&mut self, ack: &Ack, reached: i64, now: &mut Now) -> Result<(), Halt> {
        let window = i64::from(ack.segment.window);
        if window == 0 {
            if self.window_bytes != 0 || self.blocked_at != reached {
                self.blocked_at = reached;
                now.named(Kind::Blocked, "receive_window", Some("zero window"), Some(0.0))?;
            }
            (self.window_bytes, self.window_end) = (0, reached);
        } else if let Some(scale) = ack.scale {
            (self.window_bytes, self.window_end) = (window << scale, reached + (window << scale));
        }
        Ok(())
    }

    fn advance(
        &mut self,
        reached: i64,
        echoed: Option<u32>,
        acked: &mut Vec<(Sent, bool)>,
        now: &mut Now,
    ) -> Result<(), Halt> {
        let before = self.acknowledged;
        self.acknowledged = reached;
        (self.duplicates, self.timeouts, self.probed) = (0, 0, false);
        self.recovery = self.recovery.filter(|(until, _)| *until > reached);
        self.sacked.forget_before(reached);
        let (repeats, again): (Vec<Sent>, Vec<Sent>) = self.again.drain(..).partition(|sent| sent.end <= reached);
        self.again = again;
        while self.fresh.front().is_some_and(|sent| sent.end <= reached) {
            let Some(sent) = self.fresh.pop_front() else { break };
            let repeat = repeats.iter().rev().find(|repeat| repeat.start < sent.end && repeat.end > sent.start);
            match (sent.state, repeat) {
                (State::Flying, None) => acked.push((sent, true)),
                // A probe went out beside it: which of the two arrived, the echoed time tells.
                (State::Flying, Some(repeat)) if echoed.is_none() || echoes_first(echoed, repeat) => {
                    acked.push((sent, echoed.is_some()));
                }
                (State::Flying, Some(_)) => now.packet(Kind::PacketLost, sent.sized(), Some("tlp"))?,
                (State::Lost, Some(repeat)) if sent.start <= before && echoes_first(echoed, repeat) => {
                    // Eifel (RFC 3522): the time that the receiver echoes is older than the retransmission.
                    acked.push((sent, true));
                    now.packet(Kind::PacketSpurious, sent.sized(), Some("echoed time"))?;
                }
                (State::Lost, Some(repeat)) => self.settle(sent, repeat),
                _ => {}
            }
            if sent.state == State::Flying {
                self.flying_bytes -= sent.size_bytes;
            }
        }
        for sent in repeats.into_iter().filter(|sent| sent.state == State::Flying) {
            self.flying_bytes -= sent.size_bytes;
            let sure = echoed.zip(sent.own_time).is_some_and(|(echoed, own)| echoed.wrapping_sub(own) as i32 >= 0);
            acked.push((sent, sure && sent.start <= before));
        }
        Ok(())
    }

    fn settle(&mut self, first: Sent, repeat: &Sent) {
        if self.settled.len() == MOST_SETTLED {
            self.settled.pop_front();
        }
        self.settled.push_back((repeat.start.max(first.start), repeat.end.min(first.end), first));
    }

    fn selective(
        &mut self,
        sacks: &[(u32, u32)],
        reached: i64,
        acked: &mut Vec<(Sent, bool)>,
        now: &mut Now,
    ) -> Result<(), Halt> {
        for (place, (low, high)) in sacks.iter().enumerate() {
            let (low, high) = (self.sequence.unwrap(*low), self.sequence.unwrap(*high));
            if low >= high || high > self.next {
                continue;
            }
            let outer = sacks.get(1).map(|(low, high)| (self.sequence.unwrap(*low), self.sequence.unwrap(*high)));
            let repeated = high <= reached || outer.is_some_and(|(from, to)| from <= low && high <= to);
            if place == 0 && repeated {
                self.arrived_twice(low, high, acked, now)?;
            } else if self.sacked.add(low.max(reached), high) > 0 {
                let from = self.fresh.partition_point(|sent| sent.start < low);
                let inside = self.fresh.range_mut(from..).take_while(|sent| sent.end <= high);
                let again = self.again.iter_mut().filter(|sent| sent.start >= low && sent.end <= high);
                for (sent, sure) in inside.map(|sent| (sent, true)).chain(again.map(|sent| (sent, false))) {
                    if sent.state == State::Flying {
                        sent.state = State::Acked;
                        self.flying_bytes -= sent.size_bytes;
                        acked.push((*sent, sure));
                    }
                }
            }
        }
        Ok(())
    }

    /// The receiver reports bytes that it had already (RFC 2883): the copy that counted as lost was not.
    fn arrived_twice(&mut self, low: i64, high: i64, acked: &mut Vec<(Sent, bool)>, now: &mut Now) -> Result<(), Halt> {
        let settled: Vec<_> = self.settled.iter().copied().collect();
        self.settled.retain(|(start, end, _)| !(low <= *start && *end <= high));
        for (_, _, sent) in settled.iter().filter(|(start, end, _)| low <= *start && *end <= high) {
            acked.push((*sent, false));
            now.packet(Kind::PacketSpurious, sent.sized(), Some("reported twice"))?;
        }
        Ok(())
    }
}

impl Sent {
    fn sized(&self) -> Sized {
        Sized { space: self.space, number: Some(self.number), bytes: self.size_bytes }
    }
}

/// Whether an echoed time is of a sending before this one.
fn echoes_first(echoed: Option<u32>, repeat: &Sent) -> bool {
    echoed.zip(repeat.own_time).is_some_and(|(echoed, own)| (echoed.wrapping_sub(own) as i32) < 0)
}

//! The direction that arrives at the end of the capture: segments that are missing, late, or arrive again.
//!
//! Segments are numbered as their sender would have: a hole takes the numbers of the segments that are missing in it. If
//! these come late, they have those numbers; if they are sent again, they have new ones.

use std::collections::VecDeque;

use super::ranges::Ranges;
use super::segment::Segment;
use super::sequence::Unwrap;
use crate::capture::rows::{Now, Sized};
use crate::event::{Kind, Space};
use crate::writer::Halt;

const MOST_WINDOWS: usize = 1 << 16;
const MOST_HOLES: usize = 1 << 10;
/// Without timestamps, missing segments that come so soon are late ones.
const LATE_NS: i64 = 3_000_000;
/// A longer hole is a part that the capture lacks: no window is so large.
const MOST_HOLE_BYTES: i64 = 1 << 30;

struct Hole {
    start: i64,
    end: i64,
    first_number: i64,
    seen_ns: i64,
    /// Time of the segment behind it, by its sender's clock.
    own_time: Option<u32>,
}

/// What is known of the path beforehand.
#[derive(Clone, Copy)]
pub struct Wire {
    /// Data of a segment: longer ones were joined.
    pub segment_bytes: i64,
    /// The round trip of the handshake.
    pub rtt_ns: i64,
}

/// What one end receives.
#[derive(Default)]
pub struct Receiving {
    sequence: Unwrap,
    started: bool,
    /// Behind the last byte that arrived.
    next: i64,
    numbers: i64,
    arrived: Ranges,
    holes: Vec<Hole>,
    /// Ends of windows that were announced, with their times: the data that arrives was sent by one of a round trip ago.
    windows: VecDeque<(i64, i64, i64)>,
    window: Option<(i64, i64)>,
    blocked_at: i64,
    pub unseen_bytes: i64,
    pub offloaded: u64,
}

impl Receiving {
    /// Its SYN: data begins behind it.
    pub fn open(&mut self, sequence: u32) {
        self.sequence.begin(sequence.wrapping_add(1));
        self.started = true;
    }

    /// A segment arrives.
    pub fn receive(&mut self, segment: &Segment, space: Option<Space>, wire: Wire, now: &mut Now) -> Result<(), Halt> {
        let bytes = segment.data_bytes as i64;
        let start = self.sequence.unwrap(segment.sequence);
        if !self.started {
            (self.started, self.next) = (true, start);
        }
        let (header_bytes, segment_bytes) = (segment.header_bytes as i64, wire.segment_bytes);
        let closed_at = if segment.closes() { start + bytes + 1 } else { i64::MIN };
        if bytes == 0 || (bytes == 1 && start + 1 == self.next) {
            self.next = self.next.max(closed_at);
            return now.packet(Kind::PacketReceived, Sized { space, number: None, bytes: header_bytes }, None);
        }
        self.offloaded += u64::from(bytes > segment_bytes);
        let own_time = segment.timestamps.map(|(own, _)| own);
        for from in (start..start + bytes).step_by(segment_bytes.max(1) as usize) {
            let end = (from + segment_bytes).min(start + bytes);
            let (number, name) = self.number(from, end, own_time, segment_bytes, now.time_ns);
            let packet = Sized { space, number: Some(number), bytes: end - from + header_bytes };
            now.packet(Kind::PacketReceived, packet, name)?;
            if self.arrived.add(from, end) > 0 {
                now.part(0, from, end - from)?;
            }
        }
        self.next = self.next.max(closed_at);
        self.fills_window(wire.segment_bytes, wire.rtt_ns, now)
    }

    fn number(
        &mut self,
        start: i64,
        end: i64,
        own_time: Option<u32>,
        segment_bytes: i64,
        time_ns: i64,
    ) -> (i64, Option<&'static str>) {
        let mut number = self.numbers;
        let mut name = None;
        if start >= self.next {
            let missing = start - self.next;
            if missing > MOST_HOLE_BYTES {
                self.unseen_bytes += missing;
            } else if missing > 0 {
                if self.holes.len() == MOST_HOLES {
                    self.holes.remove(0);
                }
                let first_number = self.numbers;
                self.holes.push(Hole { start: self.next, end: start, first_number, seen_ns: time_ns, own_time });
                number += missing.div_euclid(segment_bytes) + i64::from(missing % segment_bytes != 0);
                name = Some("behind a hole");
            }
            self.next = end;
        } else if let Some(hole) = self.holes.iter().find(|hole| hole.start <= start && end <= hole.end) {
            let is_late = match own_time.zip(hole.own_time) {
                Some((own, behind)) => (own.wrapping_sub(behind) as i32) <= 0 && time_ns - hole.seen_ns < 100 * LATE_NS,
                None => time_ns - hole.seen_ns < LATE_NS,
            };
            if is_late {
                return (hole.first_number + (start - hole.start) / segment_bytes, Some("late"));
            }
            name = Some("sent again");
        } else {
            self.next = self.next.max(end);
            name = Some("sent again");
        }
        self.numbers = number + 1;
        (number, name)
    }

    /// The end of the capture acknowledges, and gives room for more.
    pub fn acknowledge(&mut self, segment: &Segment, scale: Option<u8>, time_ns: i64) {
        let reached = self.sequence.unwrap(segment.acknowledgement);
        if !self.started {
            (self.started, self.next) = (true, reached);
        }
        if reached > self.next {
            self.unseen_bytes += reached - self.next;
            self.next = reached;
        }
        self.holes.retain(|hole| hole.end > reached);
        if let Some(scale) = scale {
            let bytes = i64::from(segment.window) << scale;
            self.windows.push_back((time_ns, reached + bytes, bytes));
            if self.windows.len() > MOST_WINDOWS {
                self.windows.pop_front();
            }
        }
    }

    /// Data has arrived up to the end of the window that its sender knew: it had to wait.
    fn fills_window(&mut self, segment_bytes: i64, rtt_ns: i64, now: &mut Now) -> Result<(), Halt> {
        while let Some((time_ns, end, bytes)) = self.windows.front() {
            if *time_ns > now.time_ns - rtt_ns {
                break;
            }
            self.window = Some((*end, *bytes));
            self.windows.pop_front();
        }
        let Some((end, bytes)) = self.window else { return Ok(()) };
        let fills = self.next + segment_bytes > end && self.next <= end;
        if fills && self.blocked_at != end {
            self.blocked_at = end;
            now.named(Kind::Blocked, "receive_window", Some("filled by the peer"), Some(bytes as f64))?;
        }
        Ok(())
    }
}

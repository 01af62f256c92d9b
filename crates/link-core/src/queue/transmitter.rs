//! When the last bit of a packet has left a sender of constant or changing rate.

use std::sync::Arc;

use crate::schedule::Schedule;
use crate::stage::{Recipe, Transit};
use crate::varying::Varying;

const PS_PER_NS: u128 = 1_000;
/// The unit of work is the bit-picosecond per second: a rate of r bit/s does r of it in each picosecond.
const WORK_PER_BIT: u128 = 1_000_000_000_000;
const WORK_PER_BYTE: u128 = 8 * WORK_PER_BIT;

/// Sends packets one after the other; see `docs/reference/link.md` for the law.
///
/// Picoseconds keep the rounding of one packet below 1 part in 10⁶ of a full packet's time even at 1 Tbit/s.
pub struct Transmitter(Means);

/// When a packet's transmission begins and ends, in whole nanoseconds; the end is rounded up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// When those before it have left and the rate is not 0; of a trace, its first opportunity.
    pub begin_ns: u64,
    /// When its last bit has left.
    pub end_ns: u64,
}

enum Means {
    Rate(Bucket),
    Trace(Trace),
}

struct Bucket {
    rate_bps: Varying,
    burst: u128,
    tokens: u128,
    busy_until_ps: u128,
}

struct Trace {
    runs: Arc<[(u64, u64)]>,
    bytes: u64,
    repeat_ns: u64,
    cycle_bytes: u64,
    cycle: u64,
    index: usize,
    left_bytes: u64,
}

impl Transmitter {
    /// Reads `rate_bps` and `burst_bytes` of a stage.
    #[must_use]
    pub fn new(recipe: &Recipe<'_>) -> Self {
        if let Schedule::Opportunities { ref runs, bytes, repeat_ns } = *recipe.values.schedule("rate_bps") {
            let cycle_bytes = runs.iter().map(|run| run.1 * bytes).sum();
            let mut trace =
                Trace { runs: runs.clone(), bytes, repeat_ns, cycle_bytes, cycle: 0, index: 0, left_bytes: 0 };
            trace.left_bytes = trace.capacity_bytes();
            return Self(Means::Trace(trace));
        }
        let burst = u128::from(recipe.values.integer("burst_bytes")) * WORK_PER_BYTE;
        let rate_bps = recipe.varying("rate_bps");
        Self(Means::Rate(Bucket { rate_bps, burst, tokens: burst, busy_until_ps: 0 }))
    }

    /// Sends a packet that reached the bottleneck at `packet.at_ns`, which becomes the time of its last bit.
    pub(crate) fn forward(&mut self, packet: &mut Transit) {
        let sent = self.send(packet.at_ns, packet.info.size_bytes);
        packet.queued_ns += sent.begin_ns.saturating_sub(packet.at_ns);
        packet.at_ns = sent.end_ns;
        packet.floor_ns = sent.end_ns;
    }

    /// Sends a packet that is ready at `start_ns`, after all packets before it.
    pub fn send(&mut self, start_ns: u64, size_bytes: u32) -> Sent {
        match &mut self.0 {
            Means::Rate(bucket) => bucket.send(start_ns, size_bytes),
            Means::Trace(trace) => trace.send(start_ns, size_bytes),
        }
    }

    /// When it can begin with a packet, from `from_ns` on: not while the rate is 0, and of a trace only at its next
    /// opportunity. `from_ns` is not before any packet sent has left.
    pub fn ready_ns(&mut self, from_ns: u64) -> u64 {
        match &mut self.0 {
            Means::Rate(bucket) => bucket.ready_ns(from_ns),
            Means::Trace(trace) => trace.ready_ns(from_ns),
        }
    }

    /// How many bytes could have been sent between two times; of a trace, at its mean rate.
    pub fn possible_bytes(&mut self, from_ns: u64, until_ns: u64) -> f64 {
        let idle_ns = until_ns.saturating_sub(from_ns) as f64;
        match &mut self.0 {
            Means::Rate(bucket) => bucket.possible_bytes(from_ns, until_ns),
            Means::Trace(trace) => trace.cycle_bytes as f64 * (idle_ns / trace.repeat_ns as f64),
        }
    }
}

impl Bucket {
    fn send(&mut self, start_ns: u64, size_bytes: u32) -> Sent {
        let from_ps = self.busy_until_ps.max(u128::from(start_ns) * PS_PER_NS);
        let mut work = u128::from(size_bytes) * WORK_PER_BYTE;
        if self.burst > 0 {
            self.tokens = self.burst.min(self.tokens + self.idle_work(from_ps));
            let used = self.tokens.min(work);
            self.tokens -= used;
            work -= used;
        }
        self.busy_until_ps = if work == 0 { from_ps } else { self.finish_ps(from_ps, work) };
        let begin_ns = if work == 0 { whole_ns(from_ps) } else { self.flows_from(whole_ns(from_ps)) };
        Sent { begin_ns, end_ns: whole_ns(self.busy_until_ps + (PS_PER_NS - 1)) }
    }

    fn finish_ps(&mut self, mut at_ps: u128, mut work: u128) -> u128 {
        loop {
            let piece = self.rate_bps.piece(whole_ns(at_ps));
            let rate_bps = piece.value as u64;
            if piece.until_ns == u64::MAX {
                return at_ps + time_ps(work, rate_bps);
            }
            let until_ps = u128::from(piece.until_ns) * PS_PER_NS;
            let possible = (until_ps - at_ps) * u128::from(rate_bps);
            if possible >= work {
                return at_ps + time_ps(work, rate_bps);
            }
            work -= possible;
            at_ps = until_ps;
        }
    }

    fn ready_ns(&mut self, from_ns: u64) -> u64 {
        if self.tokens_at(from_ns) > 0 { from_ns } else { self.flows_from(from_ns) }
    }

    /// The first moment from `at_ns` on at which the rate is not 0.
    fn flows_from(&mut self, mut at_ns: u64) -> u64 {
        loop {
            let piece = self.rate_bps.piece(at_ns);
            if piece.value > 0.0 {
                return at_ns;
            }
            at_ns = piece.until_ns;
        }
    }

    fn possible_bytes(&mut self, from_ns: u64, until_ns: u64) -> f64 {
        const NS_PER_S_AND_BYTE: f64 = 8e9;
        let (mut at_ns, mut bytes) = (from_ns, 0.0);
        while at_ns < until_ns {
            let piece = self.rate_bps.piece(at_ns);
            let end_ns = until_ns.min(piece.until_ns);
            bytes += (end_ns - at_ns) as f64 * piece.value / NS_PER_S_AND_BYTE;
            at_ns = end_ns;
        }
        bytes
    }

    /// Returns the content of the bucket at `at_ns` if nothing is sent until then.
    fn tokens_at(&mut self, at_ns: u64) -> u128 {
        if self.burst == 0 {
            return 0;
        }
        let idle = self.idle_work(u128::from(at_ns) * PS_PER_NS);
        self.burst.min(self.tokens + idle)
    }

    /// Returns the work that could have been done since the last packet, as far as it can matter.
    fn idle_work(&mut self, until_ps: u128) -> u128 {
        let (mut at_ps, mut work) = (self.busy_until_ps, 0);
        while at_ps < until_ps && work < self.burst {
            let piece = self.rate_bps.piece(whole_ns(at_ps));
            let end_ps = until_ps.min(u128::from(piece.until_ns).saturating_mul(PS_PER_NS));
            work += (end_ps - at_ps) * u128::from(piece.value as u64);
            at_ps = end_ps;
        }
        work
    }
}

/// Wide division is slow, and 213 days fit 64 bits.
fn whole_ns(ps: u128) -> u64 {
    match u64::try_from(ps) {
        Ok(ps) => ps / PS_PER_NS as u64,
        Err(_) => (ps / PS_PER_NS) as u64,
    }
}

/// The same of the work of a packet.
fn time_ps(work: u128, rate_bps: u64) -> u128 {
    match u64::try_from(work) {
        Ok(work) => u128::from(work.div_ceil(rate_bps)),
        Err(_) => work.div_ceil(u128::from(rate_bps)),
    }
}

impl Trace {
    fn capacity_bytes(&self) -> u64 {
        self.runs[self.index].1 * self.bytes
    }

    fn at_ns(&self) -> u64 {
        self.cycle * self.repeat_ns + self.runs[self.index].0
    }

    fn advance(&mut self) {
        self.index += 1;
        if self.index == self.runs.len() {
            self.index = 0;
            self.cycle += 1;
        }
        self.left_bytes = self.capacity_bytes();
    }

    /// Goes to the first opportunity that is not before `start_ns`; what is skipped went by unused.
    fn seek(&mut self, start_ns: u64) {
        if self.at_ns() >= start_ns {
            return;
        }
        // The last opportunity of a cycle may be at the very time at which the next one begins.
        let cycle = (start_ns / self.repeat_ns).saturating_sub(1);
        if cycle > self.cycle {
            (self.cycle, self.index) = (cycle, 0);
        }
        while self.at_ns() < start_ns {
            let inside_ns = start_ns - self.cycle * self.repeat_ns;
            self.index = self.runs.partition_point(|run| run.0 < inside_ns);
            if self.index == self.runs.len() {
                (self.cycle, self.index) = (self.cycle + 1, 0);
            }
        }
        self.left_bytes = self.capacity_bytes();
    }

    fn ready_ns(&mut self, from_ns: u64) -> u64 {
        self.seek(from_ns);
        if self.left_bytes == 0 {
            self.advance();
        }
        self.at_ns()
    }

    fn send(&mut self, start_ns: u64, size_bytes: u32) -> Sent {
        self.seek(start_ns);
        if self.left_bytes == 0 {
            self.advance();
        }
        let (begin_ns, mut needed) = (self.at_ns(), u64::from(size_bytes));
        loop {
            let taken = needed.min(self.left_bytes);
            needed -= taken;
            self.left_bytes -= taken;
            if needed == 0 {
                return Sent { begin_ns, end_ns: self.at_ns() };
            }
            self.advance();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Config, DirectionName};

    const MS: u64 = 1_000_000;

    fn transmitter(rate_bps: &serde_json::Value, burst_bytes: u64) -> Transmitter {
        let stage = json!({"kind": "rate", "parameters": {"rate_bps": rate_bps, "burst_bytes": burst_bytes}});
        let config = json!({"version": 2, "seed": 1, "linger_ns": 0, "up": [stage], "down": []});
        let config = Config::from_json(&config.to_string()).expect("valid");
        let (stage, direction) = (&config.up[0], DirectionName::Up);
        Transmitter::new(&Recipe {
            values: &stage.values,
            seed: 1,
            direction,
            spec: stage.spec,
            occurrence: 0,
            bottlenecks: 0,
        })
    }

    #[test]
    fn it_begins_when_there_is_a_rate_or_a_token() {
        let outage = json!({"steps": [[0, 8_000_000], [10 * MS, 0], [20 * MS, 8_000_000]]});
        let mut plain = transmitter(&outage, 0);
        assert_eq!(
            [9 * MS, 10 * MS, 15 * MS, 20 * MS].map(|at| plain.ready_ns(at)),
            [9 * MS, 20 * MS, 20 * MS, 20 * MS]
        );
        let mut bucket = transmitter(&outage, 1_500);
        assert_eq!(bucket.ready_ns(15 * MS), 15 * MS);
        assert_eq!(bucket.send(15 * MS, 1_500).end_ns, 15 * MS);
        assert_eq!(bucket.ready_ns(15 * MS), 20 * MS);
        assert_eq!(bucket.send(15 * MS, 1_000).end_ns, 21 * MS);
    }

    #[test]
    fn a_trace_begins_at_an_opportunity() {
        let mut trace = transmitter(
            &json!({"opportunities": {"runs": [[5 * MS, 1], [10 * MS, 2]], "bytes": 1_500, "repeat_ns": 10 * MS}}),
            0,
        );
        assert_eq!(trace.ready_ns(MS), 5 * MS);
        assert_eq!(trace.send(MS, 1_000).end_ns, 5 * MS);
        assert_eq!(trace.ready_ns(5 * MS), 5 * MS, "500 bytes are left of it");
        assert_eq!(trace.send(2 * MS, 1_000).end_ns, 10 * MS);
        assert_eq!(trace.send(2 * MS, 2_500).end_ns, 10 * MS);
        assert_eq!(trace.ready_ns(10 * MS), 15 * MS);
        assert_eq!(trace.possible_bytes(0, 5 * MS) as u64, 2_250);
    }

    #[test]
    fn what_could_have_been_sent_follows_the_rate() {
        let steps = json!({"steps": [[0, 8_000_000], [10 * MS, 0], [20 * MS, 16_000_000]]});
        let mut transmitter = transmitter(&steps, 0);
        assert_eq!(transmitter.possible_bytes(5 * MS, 25 * MS) as u64, 5_000 + 10_000);
        assert_eq!(transmitter.possible_bytes(5 * MS, 5 * MS) as u64, 0);
    }
}

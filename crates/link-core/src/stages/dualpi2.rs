//! A bottleneck with two queues, coupled: low latency for L4S traffic beside Classic traffic (RFC 9332, `DualPI2`).
//!
//! Where the RFC leaves a choice, this is Linux (`net/sched/sch_dualpi2.c`): the native AQM of the L4S queue is a step,
//! the probabilities are drawn at random, the delay that is controlled is the longer one of the two, nothing is
//! signalled while less than two full packets wait, and the weighted scheduler counts credit in bytes.

use crate::parameters::{Bounds, Fallback, ParameterSpec};
use crate::queue::backlog::{Fifo, Limit, Load, limit_of};
use crate::queue::marking::{can_be_marked, is_l4s, mark};
use crate::queue::parameters::{BURST_BYTES, EARLY, FULL, LIMIT_BYTES, RATE_BPS, limit_packets};
use crate::queue::pi2_law::Pi2;
use crate::queue::transmitter::Transmitter;
use crate::queue::{Bottleneck, Discipline};
use crate::stage::{Built, Exit, Recipe, StageSpec, Transit, unconstrained};
use crate::stream::{Stream, mix, unit};

const MAX_TIME_NS: u64 = 3_600_000_000_000;
const FULL_PACKET_BYTES: u64 = 1_500;

const WEIGHTED: &str = "weighted";
const TIME_SHIFTED: &str = "time_shifted";
const DROP: &str = "drop";
const OVERFLOW: &str = "overflow";

pub(super) const SPEC: StageSpec = StageSpec {
    kind: "dualpi2",
    law: "packets are sent at rate_bps from two queues, L4S (ECT(1) and CE) and Classic; a controller of their longer wait sets p', every update_ns; Classic packets are marked or dropped with p'², L4S packets marked with coupling·p', and all that wait longer than step_ns (RFC 9332); one that does not fit is dropped",
    parameters: &[
        RATE_BPS,
        LIMIT_BYTES,
        limit_packets(10_000),
        BURST_BYTES,
        ParameterSpec::new("target_ns", "ns", Bounds::Integer(1, MAX_TIME_NS), "time in the queue to which p' steers")
            .or(Fallback::Integer(15_000_000)),
        ParameterSpec::new("update_ns", "ns", Bounds::Integer(100_000, MAX_TIME_NS), "time between two updates of p'")
            .or(Fallback::Integer(16_000_000)),
        ParameterSpec::new("alpha_hz", "Hz", Bounds::Number(0.0, 1e6), "integral gain: p' for each second above target")
            .or(Fallback::Number(0.16)),
        ParameterSpec::new("beta_hz", "Hz", Bounds::Number(0.0, 1e6), "proportional gain: p' for each second of change")
            .or(Fallback::Number(3.2)),
        ParameterSpec::new("coupling", "", Bounds::Number(0.0, 64.0), "k: L4S packets are marked with k·p'")
            .or(Fallback::Number(2.0)),
        ParameterSpec::new(
            "step_ns",
            "ns",
            Bounds::Integer(0, MAX_TIME_NS),
            "L4S packets that waited longer are marked",
        )
        .or(Fallback::Integer(1_000_000)),
        ParameterSpec::new(
            "step_packets",
            "packet",
            Bounds::Integer(0, u32::MAX as u64),
            "fewest that wait in the L4S queue when a packet comes for the step to count for it",
        )
        .or(Fallback::Integer(1)),
        ParameterSpec::new(
            "scheduler",
            "",
            Bounds::Choice(&[WEIGHTED, TIME_SHIFTED]),
            "weighted: L4S first but for the Classic share; time_shifted: the longer wait first, L4S with shift_ns more",
        )
        .or(Fallback::Word(WEIGHTED)),
        ParameterSpec::new(
            "protection",
            "1",
            Bounds::Number(0.0, 1.0),
            "weighted: share of the bytes that the Classic queue has while both wait",
        )
        .or(Fallback::Number(0.1)),
        ParameterSpec::new("shift_ns", "ns", Bounds::Integer(0, MAX_TIME_NS), "time_shifted: head start of the L4S queue")
            .or(Fallback::Integer(50_000_000)),
        ParameterSpec::new(
            "overload",
            "",
            Bounds::Choice(&[DROP, OVERFLOW]),
            "once coupling·p' is above 1: drop all kinds of packets with p'², or keep p' there and let the queue fill",
        )
        .or(Fallback::Word(DROP)),
    ],
    drop_reasons: &[FULL, EARLY],
    check: unconstrained,
    bottleneck: true,
    build,
};

enum Scheduler {
    /// Bytes that the L4S queue has had beyond its share; the Classic queue has its turn while they are above 0.
    Weighted {
        classic_share: f64,
        credit_bytes: f64,
    },
    TimeShifted {
        shift_ns: u64,
    },
}

struct DualPi2 {
    law: Pi2,
    limit: Limit,
    coupling: f64,
    step_ns: u64,
    step_packets: u64,
    drops_in_overload: bool,
    scheduler: Scheduler,
    l4s: Fifo,
    classic: Fifo,
    stream: Stream,
}

fn build(recipe: &Recipe<'_>) -> Built {
    let values = recipe.values;
    let (coupling, drops_in_overload) = (values.number("coupling"), values.text("overload") == DROP);
    // Without drops, p' ends where all L4S packets are marked, so that both kinds keep the same share.
    let most = if drops_in_overload || coupling <= 1.0 { 1.0 } else { 1.0 / coupling };
    let [target_ns, update_ns] = ["target_ns", "update_ns"].map(|key| values.integer(key));
    let scheduler = if values.text("scheduler") == WEIGHTED {
        let mut scheduler = Scheduler::Weighted { classic_share: values.number("protection"), credit_bytes: 0.0 };
        scheduler.reset();
        scheduler
    } else {
        Scheduler::TimeShifted { shift_ns: values.integer("shift_ns") }
    };
    let discipline = DualPi2 {
        law: Pi2::new(target_ns, update_ns, values.number("alpha_hz"), values.number("beta_hz"), most),
        limit: limit_of(recipe),
        coupling,
        step_ns: values.integer("step_ns"),
        step_packets: values.integer("step_packets"),
        drops_in_overload,
        scheduler,
        l4s: Fifo::default(),
        classic: Fifo::default(),
        stream: recipe.stream(),
    };
    Built::Holding(Box::new(Bottleneck::new(Transmitter::new(recipe), discipline)))
}

impl Scheduler {
    /// As after a time in which nothing waited: the queue with more weight has the first turn.
    fn reset(&mut self) {
        if let Self::Weighted { classic_share, credit_bytes } = self {
            *credit_bytes = FULL_PACKET_BYTES as f64 * (2.0 * *classic_share - 1.0);
        }
    }

    /// Whether the L4S queue has its turn, while packets wait in both; each wait is that of the first packet.
    fn prefers_l4s(&self, l4s_ns: u64, classic_ns: u64) -> bool {
        match self {
            Self::Weighted { credit_bytes, .. } => *credit_bytes <= 0.0,
            Self::TimeShifted { shift_ns } => l4s_ns.saturating_add(*shift_ns) >= classic_ns,
        }
    }

    fn sent(&mut self, is_l4s: bool, size_bytes: u32) {
        if let Self::Weighted { classic_share, credit_bytes } = self {
            let weight = if is_l4s { *classic_share } else { *classic_share - 1.0 };
            *credit_bytes += weight * f64::from(size_bytes);
        }
    }
}

/// What becomes of a packet at its turn.
enum Signal {
    None,
    Mark,
    Drop,
}

impl DualPi2 {
    fn oldest_ns(&self) -> Option<u64> {
        [&self.l4s, &self.classic].into_iter().filter_map(|queue| Some(queue.first()?.at_ns)).min()
    }

    /// Takes the packet whose turn it is from its queue.
    fn take(&mut self, now_ns: u64) -> Option<(Transit, bool)> {
        let waited_ns = |queue: &Fifo| queue.first().map(|packet| now_ns.saturating_sub(packet.at_ns));
        let is_l4s = match (waited_ns(&self.l4s), waited_ns(&self.classic)) {
            (Some(l4s_ns), Some(classic_ns)) => self.scheduler.prefers_l4s(l4s_ns, classic_ns),
            (l4s_ns, _) => l4s_ns.is_some(),
        };
        let queue = if is_l4s { &mut self.l4s } else { &mut self.classic };
        Some((queue.pop()?, is_l4s))
    }

    /// The draw decides about the Classic probability, and a number made of it about the other one.
    fn signal(&self, packet: &Transit, is_l4s: bool, waited_ns: u64) -> Signal {
        let left = self.waiting().bytes + u64::from(packet.info.size_bytes);
        let base = self.law.probability();
        let coupled = self.coupling * base;
        let (squared, linear) = (unit(packet.draw) < base * base, unit(mix(packet.draw)) < coupled);
        let overloaded = coupled > 1.0;
        let early = left >= 2 * FULL_PACKET_BYTES;
        if !is_l4s {
            return match squared && early {
                true if overloaded || !can_be_marked(packet) => Signal::Drop,
                true => Signal::Mark,
                false => Signal::None,
            };
        }
        if early && overloaded && self.drops_in_overload && squared {
            return Signal::Drop;
        }
        let step = packet.steps && waited_ns > self.step_ns;
        if step || early && linear { Signal::Mark } else { Signal::None }
    }
}

impl Discipline for DualPi2 {
    fn draw(&mut self) -> u64 {
        self.stream.bits()
    }

    fn enqueue(&mut self, mut packet: Transit, sending: Load, exits: &mut Vec<Exit>) {
        self.law.update(packet.at_ns, self.oldest_ns());
        let met = self.waiting().plus(sending);
        let joined = self.limit.holds(met.plus(Load::of(&packet))) || packet.is_spared();
        packet.queue.get_or_insert(met.met(joined));
        if !joined {
            return exits.push(Exit { packet, dropped: Some(FULL) });
        }
        if is_l4s(&packet) {
            packet.steps = self.l4s.load().packets >= self.step_packets;
            self.l4s.push(packet);
        } else {
            self.classic.push(packet);
        }
    }

    fn dequeue(&mut self, now_ns: u64, exits: &mut Vec<Exit>) -> Option<Transit> {
        self.law.update(now_ns, self.oldest_ns());
        while let Some((mut packet, is_l4s)) = self.take(now_ns) {
            match self.signal(&packet, is_l4s, now_ns.saturating_sub(packet.at_ns)) {
                Signal::None => {}
                Signal::Mark => mark(&mut packet),
                Signal::Drop if packet.is_spared() => {}
                Signal::Drop => {
                    exits.push(Exit { packet, dropped: Some(EARLY) });
                    continue;
                }
            }
            self.scheduler.sent(is_l4s, packet.info.size_bytes);
            return Some(packet);
        }
        self.scheduler.reset();
        None
    }

    fn waiting(&self) -> Load {
        self.l4s.load().plus(self.classic.load())
    }
}

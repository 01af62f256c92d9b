//! A bottleneck that marks above a threshold: the queue for which DCTCP was made (Alizadeh et al., "Data Center TCP
//! (DCTCP)", SIGCOMM 2010; RFC 8257), and the native AQM of L4S on its own.

use crate::messages::Problem;
use crate::parameters::{Bounds, Fallback, ParameterSpec};
use crate::queue::backlog::{Backlog, Limit, Load, limit_of};
use crate::queue::marking::{can_be_marked, mark};
use crate::queue::parameters::{BURST_BYTES, FULL, LIMIT_BYTES, NO_LIMIT, RATE_BPS};
use crate::queue::transmitter::Transmitter;
use crate::stage::{Built, Outcome, Recipe, Stage, StageSpec, Transit};
use crate::values::Values;

const MAX_TIME_NS: u64 = 3_600_000_000_000;
const THRESHOLDS: [&str; 3] = ["threshold_ns", "threshold_bytes", "threshold_packets"];

pub(super) const SPEC: StageSpec = StageSpec {
    kind: "step",
    law: "packets are sent at rate_bps; every ECN-capable one that waits longer than threshold_ns, or meets a queue of more than threshold_bytes or threshold_packets, is marked; one that does not fit the queue is dropped",
    parameters: &[
        RATE_BPS,
        LIMIT_BYTES,
        ParameterSpec::new(
            "queue_packets",
            "packet",
            Bounds::Integer(1, u32::MAX as u64),
            "most packets that may be queued, the one in transmission included",
        )
        .or(NO_LIMIT),
        BURST_BYTES,
        ParameterSpec::new(
            "threshold_ns",
            "ns",
            Bounds::Integer(0, MAX_TIME_NS),
            "time in the queue above which a packet is marked; 0: another threshold is given",
        )
        .or(Fallback::Integer(0)),
        ParameterSpec::new(
            "threshold_bytes",
            "byte",
            Bounds::Integer(0, u32::MAX as u64),
            "queue that a packet meets, without it, above which it is marked",
        )
        .or(Fallback::Integer(0)),
        ParameterSpec::new(
            "threshold_packets",
            "packet",
            Bounds::Integer(0, u32::MAX as u64),
            "the same in packets: K of DCTCP",
        )
        .or(Fallback::Integer(0)),
    ],
    drop_reasons: &[FULL],
    check: |values, _| check(values),
    bottleneck: true,
    build,
};

fn check(values: &Values) -> Result<(), Problem> {
    let given = THRESHOLDS.iter().filter(|key| values.integer(key) > 0).count();
    if given == 1 {
        return Ok(());
    }
    let reason = format!("{given} thresholds are above 0: it must be one of `{}`", THRESHOLDS.join("`, `"));
    Err(Problem::with(THRESHOLDS[0], reason))
}

enum Threshold {
    Wait(u64),
    Bytes(u64),
    Packets(u64),
}

struct Step {
    transmitter: Transmitter,
    limit: Limit,
    threshold: Threshold,
    backlog: Backlog,
}

fn build(recipe: &Recipe<'_>) -> Built {
    let threshold = match THRESHOLDS.map(|key| recipe.values.integer(key)) {
        [0, 0, packets] => Threshold::Packets(packets),
        [0, bytes, _] => Threshold::Bytes(bytes),
        [wait_ns, ..] => Threshold::Wait(wait_ns),
    };
    Built::Instant(Box::new(Step {
        transmitter: Transmitter::new(recipe),
        limit: limit_of(recipe),
        threshold,
        backlog: Backlog::default(),
    }))
}

impl Stage for Step {
    fn pass(&mut self, packet: &mut Transit, _draw: u64) -> Outcome {
        let met = Load { bytes: self.backlog.bytes_at(packet.at_ns), packets: self.backlog.packets() };
        let joined = self.limit.holds(met.plus(Load::of(packet))) || packet.is_spared();
        packet.queue.get_or_insert(met.met(joined));
        if !joined {
            return Outcome::Drop(FULL);
        }
        let before_ns = packet.queued_ns;
        self.transmitter.forward(packet);
        self.backlog.add(packet.at_ns, packet.info.size_bytes);
        let above = match self.threshold {
            Threshold::Wait(wait_ns) => packet.queued_ns - before_ns > wait_ns,
            Threshold::Bytes(bytes) => met.bytes > bytes,
            Threshold::Packets(packets) => met.packets > packets,
        };
        if above && can_be_marked(packet) {
            mark(packet);
        }
        Outcome::Pass
    }

    fn needs_order(&self) -> bool {
        true
    }
}

//! A bottleneck that shares its rate among flows, each in a queue of its own that is managed by `CoDel`.
//!
//! RFC 8290, and where it leaves a choice, Linux (`net/sched/sch_fq_codel.c`): the backlog that spares the last packets
//! is that of all queues; a full queue drops from the head of the fattest flow until half of that flow's bytes are gone,
//! but no more than 64 packets at once, and its `CoDel` counts them as signals.

use std::cmp::Reverse;
use std::collections::VecDeque;

use crate::parameters::{Bounds, Fallback, ParameterSpec};
use crate::queue::backlog::{Fifo, Limit, Load, limit_of};
use crate::queue::codel_law::{Control, INTERVAL_NS, Law, TARGET_NS};
use crate::queue::parameters::{BURST_BYTES, EARLY, ECN, FULL, LIMIT_BYTES, RATE_BPS, limit_packets};
use crate::queue::transmitter::Transmitter;
use crate::queue::{Bottleneck, Discipline};
use crate::stage::{Built, Exit, Recipe, StageSpec, Transit};
use crate::stream::mix;

const MAX_DROPPED_AT_ONCE: u64 = 64;

pub(super) const SPEC: StageSpec = StageSpec {
    kind: "fq_codel",
    law: "flows take turns of quantum_bytes at rate_bps, new ones first, each with a queue of its own under codel (RFC 8290); when all together do not fit, the fattest flow's oldest packets are dropped",
    parameters: &[
        RATE_BPS,
        LIMIT_BYTES,
        limit_packets(10_240),
        BURST_BYTES,
        TARGET_NS,
        INTERVAL_NS,
        ECN,
        ParameterSpec::new(
            "flows",
            "",
            Bounds::Integer(1, 65_536),
            "number of queues; which one a flow has is a hash that depends on the seed, and flows may share one",
        )
        .or(Fallback::Integer(1_024)),
        ParameterSpec::new("quantum_bytes", "byte", Bounds::Integer(64, 1 << 20), "what a flow may send in its turn")
            .or(Fallback::Integer(1_500)),
    ],
    drop_reasons: &[FULL, EARLY],
    check: |values, _| Law::check(values),
    bottleneck: true,
    build,
};

#[derive(Default)]
struct Flow {
    queue: Fifo,
    control: Control,
    deficit_bytes: i64,
    /// Whether it is in one of the two lists.
    listed: bool,
}

struct FqCoDel {
    law: Law,
    limit: Limit,
    quantum_bytes: i64,
    salt: u64,
    flows: Vec<Flow>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    waiting: Load,
}

fn build(recipe: &Recipe<'_>) -> Built {
    let [flows, quantum_bytes] = ["flows", "quantum_bytes"].map(|key| recipe.values.integer(key));
    let salt = recipe.stream().bits();
    let discipline = FqCoDel::new(Law::new(recipe.values), limit_of(recipe), flows, quantum_bytes, salt);
    Built::Holding(Box::new(Bottleneck::new(Transmitter::new(recipe), discipline)))
}

impl FqCoDel {
    fn new(law: Law, limit: Limit, flows: u64, quantum_bytes: u64, salt: u64) -> Self {
        Self {
            law,
            limit,
            quantum_bytes: quantum_bytes as i64,
            salt,
            flows: (0..flows).map(|_| Flow::default()).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            waiting: Load::default(),
        }
    }

    fn queue_of(&self, packet: &Transit) -> usize {
        (mix(packet.info.flow ^ self.salt) % self.flows.len() as u64) as usize
    }

    /// Drops from the flow with the most bytes; of equals, from the first queue. Returns whether it could: packets that
    /// surgery forgives stay, and the next flow has its turn where a flow has no others. `met` is for a packet that
    /// comes and is dropped itself.
    fn drop_from_fattest(&mut self, met: Load, exits: &mut Vec<Exit>) -> bool {
        let mut spared: Vec<usize> = Vec::new();
        loop {
            let listed = self.new.iter().chain(&self.old).filter(|index| !spared.contains(*index));
            let fattest = listed.max_by_key(|index| (self.flows[**index].queue.load().bytes, Reverse(**index)));
            let Some(&index) = fattest.filter(|index| self.flows[**index].queue.load().packets > 0) else {
                return false;
            };
            let flow = &mut self.flows[index];
            let dropped = drop_half(&mut flow.queue, met, exits);
            flow.control.strengthen(dropped.packets);
            self.waiting = self.waiting.minus(dropped);
            if dropped.packets > 0 {
                return true;
            }
            spared.push(index);
        }
    }
}

/// Drops from the head of a queue until half of its bytes are gone, and returns what was dropped.
fn drop_half(queue: &mut Fifo, met: Load, exits: &mut Vec<Exit>) -> Load {
    let half_bytes = queue.load().bytes / 2;
    let (mut dropped, mut kept) = (Load::default(), Vec::new());
    while let Some(mut packet) = queue.pop() {
        if packet.is_spared() {
            kept.push(packet);
            continue;
        }
        dropped = dropped.plus(Load::of(&packet));
        packet.queue.get_or_insert(met.met(false));
        exits.push(Exit { packet, dropped: Some(FULL) });
        if dropped.packets == MAX_DROPPED_AT_ONCE || dropped.bytes >= half_bytes {
            break;
        }
    }
    queue.put_back(kept);
    dropped
}

impl Discipline for FqCoDel {
    fn enqueue(&mut self, mut packet: Transit, sending: Load, exits: &mut Vec<Exit>) {
        let met = self.waiting.plus(sending);
        let load = Load::of(&packet);
        let fits = self.limit.holds(met.plus(load));
        if fits {
            packet.queue.get_or_insert(met.met(true));
        }
        let (index, name) = (self.queue_of(&packet), (packet.number, packet.copy));
        let flow = &mut self.flows[index];
        flow.queue.push(packet);
        self.waiting = self.waiting.plus(load);
        if !flow.listed {
            (flow.listed, flow.deficit_bytes) = (true, self.quantum_bytes);
            self.new.push_back(index);
        }
        if fits {
            return;
        }
        while !self.limit.holds(self.waiting.plus(sending)) && self.drop_from_fattest(met, exits) {}
        if let Some(last) = self.flows[index].queue.last_mut().filter(|last| (last.number, last.copy) == name) {
            // It joins what the others left.
            last.queue.get_or_insert(self.waiting.plus(sending).minus(load).met(true));
        }
    }

    fn dequeue(&mut self, now_ns: u64, exits: &mut Vec<Exit>) -> Option<Transit> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let index = *list.front()?;
            let flow = &mut self.flows[index];
            if flow.deficit_bytes <= 0 {
                flow.deficit_bytes += self.quantum_bytes;
                list.pop_front();
                self.old.push_back(index);
                continue;
            }
            let others = self.waiting.minus(flow.queue.load());
            let taken = flow.control.dequeue(&self.law, now_ns, &mut flow.queue, others.bytes, exits);
            self.waiting = others.plus(flow.queue.load());
            if let Some(packet) = taken {
                flow.deficit_bytes -= i64::from(packet.info.size_bytes);
                return Some(packet);
            }
            list.pop_front();
            if is_new && !self.old.is_empty() {
                // Or it would be new again with its next packet and could keep the old ones from ever having a turn.
                self.old.push_back(index);
            } else {
                flow.listed = false;
            }
        }
    }

    fn waiting(&self) -> Load {
        self.waiting
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::PacketInfo;

    const LAW: Law = Law { target_ns: 5_000_000, interval_ns: 100_000_000, ecn: false };
    const UNLIMITED: Limit = Limit { bytes: u64::MAX, packets: u64::MAX };

    struct Bench {
        discipline: FqCoDel,
        now_ns: u64,
        number: u64,
    }

    impl Bench {
        fn new(limit: Limit, quantum_bytes: u64) -> Self {
            Self { discipline: FqCoDel::new(LAW, limit, 1_024, quantum_bytes, 5), now_ns: 0, number: 0 }
        }

        fn add(&mut self, flow: u64, size_bytes: u32) {
            let info = PacketInfo { flow, ..PacketInfo::of_size(size_bytes) };
            let packet = Transit { number: self.number, at_ns: self.now_ns, info, ..Transit::default() };
            self.number += 1;
            self.discipline.enqueue(packet, Load::default(), &mut Vec::new());
        }

        fn take(&mut self) -> Option<u64> {
            self.now_ns += 1_000;
            Some(self.discipline.dequeue(self.now_ns, &mut Vec::new())?.info.flow)
        }

        fn flow(&self, flow: u64) -> &Flow {
            let packet = Transit { info: PacketInfo { flow, ..PacketInfo::default() }, ..Transit::default() };
            &self.discipline.flows[self.discipline.queue_of(&packet)]
        }

        fn packets(&self) -> [u64; 3] {
            let of = |flow| self.flow(flow).queue.load().packets;
            [self.discipline.waiting.packets, of(1), of(2)]
        }

        fn deficits(&self) -> [i64; 2] {
            [self.flow(1).deficit_bytes, self.flow(2).deficit_bytes]
        }
    }

    #[test]
    fn deficits_are_those_of_ns_3() {
        // FqCoDelQueueDiscDeficit of ns-3: a quantum of 90 bytes, packets of 100 and an IP header of 20.
        let mut bench = Bench::new(UNLIMITED, 90);
        bench.add(1, 120);
        assert_eq!(bench.deficits()[0], 90);
        assert_eq!(bench.take(), Some(1));
        assert_eq!(bench.deficits()[0], -30);
        for flow in [1, 1, 2, 2] {
            bench.add(flow, 120);
        }
        assert_eq!((bench.deficits(), bench.packets()), ([-30, 90], [4, 2, 2]));
        let mut steps = Vec::new();
        for _ in 0..5 {
            steps.push((bench.take(), bench.deficits()));
        }
        let expected =
            [(Some(2), [60, -30]), (Some(1), [-60, 60]), (Some(2), [30, -60]), (Some(1), [-90, 30]), (None, [90, 30])];
        assert_eq!(steps, expected);
        assert!(!bench.flow(1).listed && !bench.flow(2).listed);
    }

    #[test]
    fn a_full_queue_drops_as_in_ns_3() {
        // FqCoDelQueueDiscIPFlowsSeparationAndPacketLimit: of 300 bytes, half and the rest of a packet are dropped.
        let mut bench = Bench::new(Limit { bytes: u64::MAX, packets: 4 }, 1_500);
        for flow in [1, 1, 1, 2] {
            bench.add(flow, 100);
        }
        assert_eq!(bench.packets(), [4, 3, 1]);
        bench.add(2, 100);
        assert_eq!(bench.packets(), [3, 1, 2]);
        assert_eq!(bench.flow(1).control.count, 2, "as in Linux, they strengthen the signal");
        bench.add(1, 100);
        bench.add(1, 200);
        // Of 400 bytes in flow 1, half are 200.
        assert_eq!(bench.packets(), [3, 1, 2]);
    }

    #[test]
    fn of_equally_fat_flows_the_first_queue_is_dropped_from() {
        for flows in [[1, 2], [2, 1]] {
            let mut bench = Bench::new(Limit { bytes: u64::MAX, packets: 3 }, 1_500);
            for flow in [flows[0], flows[1], flows[0], flows[1]] {
                bench.add(flow, 100);
            }
            let index = |flow| {
                bench
                    .discipline
                    .queue_of(&Transit { info: PacketInfo { flow, ..PacketInfo::default() }, ..Transit::default() })
            };
            let expected = if index(1) < index(2) { [3, 1, 2] } else { [3, 2, 1] };
            assert_eq!(bench.packets(), expected);
        }
    }

    #[test]
    fn new_flows_do_not_starve_old_ones() {
        // Two flows of small packets, of which one always comes again while the other is served, so that there would
        // always be a new flow if one that is empty were not put behind the old ones.
        let mut bench = Bench::new(UNLIMITED, 1_500);
        (0..40).for_each(|_| bench.add(1, 1_500));
        bench.add(2, 50);
        bench.add(3, 50);
        let mut given = [0; 4];
        for _ in 0..40 {
            let flow = bench.take().expect("flow 1 is long");
            given[flow as usize] += 1;
            let other = 5 - flow;
            if flow > 1 && bench.flow(other).queue.load().packets == 0 {
                bench.add(other, 50);
            }
        }
        assert!(given[1] >= 10, "{given:?}");
    }
}

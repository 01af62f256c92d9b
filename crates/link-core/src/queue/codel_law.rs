//! `CoDel`'s control law (Nichols and Jacobson, RFC 8289), for one queue.

use crate::messages::Problem;
use crate::parameters::{Bounds, Fallback, ParameterSpec};
use crate::queue::backlog::Fifo;
use crate::queue::marking::{can_be_marked, mark};
use crate::queue::parameters::EARLY;
use crate::stage::{Exit, Transit};
use crate::values::Values;

const MAX_TIME_NS: u64 = 3_600_000_000_000;
/// As long as no more than this waits, nothing is dropped: with less than a packet behind it, none can be spared.
const FULL_PACKET_BYTES: u64 = 1_500;
/// How soon after the last signal the queue must be bad again for the last rate of signals to be taken up: in intervals.
const MEMORY_INTERVALS: u64 = 16;

pub(crate) const TARGET_NS: ParameterSpec = ParameterSpec::new(
    "target_ns",
    "ns",
    Bounds::Integer(1, MAX_TIME_NS),
    "time in the queue that is acceptable for ever",
)
.or(Fallback::Integer(5_000_000));

pub(crate) const INTERVAL_NS: ParameterSpec = ParameterSpec::new(
    "interval_ns",
    "ns",
    Bounds::Integer(1, MAX_TIME_NS),
    "for how long it must be longer before the first signal: about a round trip",
)
.or(Fallback::Integer(100_000_000));

/// The same for all queues of a stage.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Law {
    pub target_ns: u64,
    pub interval_ns: u64,
    pub ecn: bool,
}

impl Law {
    pub fn new(values: &Values) -> Self {
        let (target_ns, interval_ns) = (values.integer("target_ns"), values.integer("interval_ns"));
        Self { target_ns, interval_ns, ecn: values.boolean("ecn") }
    }

    pub fn check(values: &Values) -> Result<(), Problem> {
        let (target_ns, interval_ns) = (values.integer("target_ns"), values.integer("interval_ns"));
        if target_ns > interval_ns {
            let reason = format!("`target_ns` is {target_ns}: it must be at most `interval_ns`, {interval_ns}");
            return Err(Problem::with(TARGET_NS.name, reason));
        }
        Ok(())
    }

    /// When the next signal is due. Linux computes the root by one Newton step from the last one, so that it lags a
    /// little behind this while the count is small.
    fn next_ns(&self, from_ns: u64, count: u64) -> u64 {
        from_ns + (self.interval_ns as f64 / libm::sqrt(count as f64)) as u64
    }
}

/// One queue's state, under the names of RFC 8289, section 5.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Control {
    first_above_ns: Option<u64>,
    drop_next_ns: u64,
    pub count: u64,
    last_count: u64,
    dropping: bool,
}

impl Control {
    /// Gives the packet to send now; those that are dropped go to `exits`.
    ///
    /// The pseudo-code of RFC 8289, section 5.5, and for ECN what Linux does (`include/net/codel_impl.h`): a packet
    /// that can be marked is marked and sent, so that there is at most one signal each time. `others_bytes` wait in
    /// other queues for the same transmitter; Linux counts them as backlog too.
    pub fn dequeue(
        &mut self,
        law: &Law,
        now_ns: u64,
        queue: &mut Fifo,
        others_bytes: u64,
        exits: &mut Vec<Exit>,
    ) -> Option<Transit> {
        let (mut packet, mut may_drop) = self.take(law, now_ns, queue, others_bytes);
        if self.dropping {
            self.dropping = may_drop;
            while self.dropping && now_ns >= self.drop_next_ns {
                self.count += 1;
                if signal(law, &mut packet, exits) {
                    self.drop_next_ns = law.next_ns(self.drop_next_ns, self.count);
                    break;
                }
                (packet, may_drop) = self.take(law, now_ns, queue, others_bytes);
                self.dropping = may_drop;
                if may_drop {
                    self.drop_next_ns = law.next_ns(self.drop_next_ns, self.count);
                }
            }
        } else if may_drop {
            if !signal(law, &mut packet, exits) {
                (packet, _) = self.take(law, now_ns, queue, others_bytes);
            }
            self.begin(law, now_ns);
        }
        packet
    }

    /// Raises the strength of the signal, for packets that were dropped because the queue was full.
    pub fn strengthen(&mut self, dropped: u64) {
        self.count += dropped;
    }

    fn begin(&mut self, law: &Law, now_ns: u64) {
        self.dropping = true;
        // A queue that is bad again soon after the last time takes up the rate of signals that was right then.
        let grown = self.count.saturating_sub(self.last_count);
        let soon = now_ns < self.drop_next_ns.saturating_add(MEMORY_INTERVALS * law.interval_ns);
        self.count = if grown > 1 && soon { grown } else { 1 };
        self.last_count = self.count;
        self.drop_next_ns = law.next_ns(now_ns, self.count);
    }

    /// The next packet, and whether it may be dropped: the time in the queue was too long for a whole interval.
    fn take(&mut self, law: &Law, now_ns: u64, queue: &mut Fifo, others_bytes: u64) -> (Option<Transit>, bool) {
        let packet = queue.pop();
        let waited_ns = packet.as_ref().map_or(0, |packet| now_ns - packet.at_ns);
        let backlog_bytes = queue.load().bytes + others_bytes;
        if packet.is_none() || waited_ns < law.target_ns || backlog_bytes <= FULL_PACKET_BYTES {
            self.first_above_ns = None;
            return (packet, false);
        }
        let first_above_ns = *self.first_above_ns.get_or_insert(now_ns + law.interval_ns);
        (packet, now_ns >= first_above_ns)
    }
}

/// Marks the packet and returns true, or drops it. One that surgery forgives is sent as one with a mark is: the signal
/// counts as given, so the state goes on as if it had been dropped.
fn signal(law: &Law, packet: &mut Option<Transit>, exits: &mut Vec<Exit>) -> bool {
    if let Some(packet) = packet.as_mut().filter(|packet| law.ecn && can_be_marked(packet)) {
        mark(packet);
        return true;
    }
    if packet.as_mut().is_some_and(Transit::is_spared) {
        return true;
    }
    exits.extend(packet.take().map(|packet| Exit { packet, dropped: Some(EARLY) }));
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::PacketInfo;
    use crate::surgery::Operation;

    const MS: u64 = 1_000_000;
    const LAW: Law = Law { target_ns: 5 * MS, interval_ns: 100 * MS, ecn: true };

    fn queue_of(packets: u64, ecn: u8) -> Fifo {
        let mut queue = Fifo::default();
        for number in 0..packets {
            let info = PacketInfo { ecn, ..PacketInfo::of_size(1_000) };
            queue.push(Transit { number, info, ..Transit::default() });
        }
        queue
    }

    /// At each time: the packet given, whether it is marked, and how many were dropped.
    fn dequeue(queue: &mut Fifo, times_ms: &[u64]) -> Vec<(u64, bool, usize)> {
        let mut control = Control::default();
        let mut give = |at_ms: &u64| {
            let mut exits = Vec::new();
            let packet = control.dequeue(&LAW, at_ms * MS, queue, 0, &mut exits).expect("one is left");
            (packet.number, packet.edits.mark_ce, exits.len())
        };
        times_ms.iter().map(&mut give).collect()
    }

    #[test]
    fn drops_are_those_of_ns_3() {
        // CoDelQueueDiscBasicDrop of ns-3: 20 packets at 0, taken at 2 targets, twice 2 intervals later, and again. The
        // last time the next drop is due for the second and, 100/√2 ms later, for the third time.
        let mut queue = queue_of(20, 0);
        let given = dequeue(&mut queue, &[10, 210, 210, 420]);
        assert_eq!(given, [(0, false, 0), (2, false, 1), (3, false, 0), (6, false, 2)]);
        assert_eq!(queue.load().packets, 13);
    }

    #[test]
    fn marks_are_those_of_ns_3() {
        // CoDelQueueDiscBasicMark, its second case: one mark where it would have dropped, and never two at once.
        let mut queue = queue_of(20, 2);
        let given = dequeue(&mut queue, &[10, 210, 210, 420, 420]);
        assert_eq!(given, [(0, false, 0), (1, true, 0), (2, false, 0), (3, true, 0), (4, true, 0)]);
    }

    #[test]
    fn what_is_forgiven_is_sent_where_a_mark_would_be() {
        // As if all could be marked, without the marks: the same packets at the same times, and no drop.
        let times_ms = [10, 210, 210, 420, 420];
        let mut queue = Fifo::default();
        for number in 0..20 {
            let operation = Operation { forgive: true, ..Operation::default() };
            queue.push(Transit { number, info: PacketInfo::of_size(1_000), operation, ..Transit::default() });
        }
        let (mut control, mut forgiven) = (Control::default(), Vec::new());
        for at_ms in times_ms {
            let mut exits = Vec::new();
            let packet = control.dequeue(&LAW, at_ms * MS, &mut queue, 0, &mut exits).expect("one is left");
            assert!(exits.is_empty() && !packet.edits.mark_ce);
            forgiven.push((packet.number, packet.forgiven));
        }
        let marked: Vec<(u64, bool)> =
            dequeue(&mut queue_of(20, 2), &times_ms).into_iter().map(|(number, marked, _)| (number, marked)).collect();
        assert_eq!(forgiven, marked);
    }

    #[test]
    fn the_time_of_the_next_drop_belongs_to_it() {
        let given = |last_ms: u64| dequeue(&mut queue_of(20, 0), &[10, 210, last_ms]);
        assert_eq!(given(309)[2], (3, false, 0));
        assert_eq!(given(310)[2], (4, false, 1));
    }

    #[test]
    fn what_is_spared_is_a_full_packet_in_all_queues() {
        let drops = |packets: u64, others_bytes: u64| {
            let (mut queue, mut control, mut exits) = (queue_of(packets, 0), Control::default(), Vec::new());
            for at_ms in [10, 210] {
                control.dequeue(&LAW, at_ms * MS, &mut queue, others_bytes, &mut exits);
            }
            exits.len()
        };
        // Of 3 packets 1000 bytes are left behind the second.
        assert_eq!(drops(3, 500), 0);
        assert_eq!(drops(3, 501), 1);
        assert_eq!(drops(4, 0), 1);
    }

    #[test]
    fn a_queue_that_is_bad_again_soon_takes_up_its_rate() {
        let mut control = Control { count: 9, last_count: 2, drop_next_ns: 1_000 * MS, ..Control::default() };
        let mut late = control;
        control.begin(&LAW, 2_599 * MS);
        assert_eq!((control.count, control.last_count), (7, 7));
        assert_eq!(control.drop_next_ns, 2_599 * MS + 37_796_447);
        late.begin(&LAW, 2_600 * MS);
        assert_eq!((late.count, late.last_count), (1, 1));
        assert_eq!(late.drop_next_ns, 2_700 * MS);
    }
}

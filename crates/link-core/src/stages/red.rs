//! A bottleneck with random early detection (Floyd and Jacobson, "Random Early Detection Gateways for Congestion
//! Avoidance", IEEE/ACM Transactions on Networking 1(4), 1993).

use crate::messages::Problem;
use crate::parameters::{Bounds, Fallback, ParameterSpec};
use crate::queue::backlog::Backlog;
use crate::queue::marking::{can_be_marked, mark};
use crate::queue::parameters::{BURST_BYTES, EARLY, ECN, FULL, QUEUE_BYTES, RATE_BPS};
use crate::queue::transmitter::Transmitter;
use crate::stage::{Built, Outcome, Recipe, Stage, StageSpec, Transit};
use crate::stream::{Stream, unit};
use crate::values::Values;

/// An idle bottleneck counts as so many empty queues met as packets of this size could have been sent.
const FULL_PACKET_BYTES: f64 = 1_500.0;

const THRESHOLD_BYTES: Bounds = Bounds::Integer(0, u32::MAX as u64);

pub(super) const SPEC: StageSpec = StageSpec {
    kind: "red",
    law: "packets are sent at rate_bps; from minimum_bytes to maximum_bytes of average queue one is dropped or marked with a probability that rises from 0 to the given one, above all are dropped (Floyd and Jacobson 1993); so is one that does not fit the queue",
    parameters: &[
        RATE_BPS,
        ParameterSpec::new(
            "queue_bytes",
            "byte",
            QUEUE_BYTES,
            "most that may be queued, the packet in transmission included",
        ),
        BURST_BYTES,
        ParameterSpec::new(
            "minimum_bytes",
            "byte",
            THRESHOLD_BYTES,
            "average queue below which nothing is dropped early",
        ),
        ParameterSpec::new(
            "maximum_bytes",
            "byte",
            THRESHOLD_BYTES,
            "average queue from which on everything is dropped",
        ),
        ParameterSpec::new("probability", "1", Bounds::Number(0.0, 1.0), "of a signal, right below maximum_bytes"),
        ParameterSpec::new("weight", "1", Bounds::Number(1e-9, 1.0), "of the queue that a packet meets in the average"),
        ECN,
        ParameterSpec::new(
            "gentle",
            "",
            Bounds::Boolean,
            "from maximum_bytes to twice that, the probability rises on to 1 (Floyd 2000)",
        )
        .or(Fallback::Boolean(false)),
    ],
    drop_reasons: &[FULL, EARLY],
    check: |values, _| check(values),
    bottleneck: true,
    build,
};

fn check(values: &Values) -> Result<(), Problem> {
    let [minimum, maximum, queue] = ["minimum_bytes", "maximum_bytes", "queue_bytes"].map(|key| values.integer(key));
    if minimum >= maximum {
        let reason = format!("`minimum_bytes` is {minimum}: it must be below `maximum_bytes`, {maximum}");
        return Err(Problem::with("minimum_bytes", reason));
    }
    if maximum > queue {
        let reason = format!("`maximum_bytes` is {maximum}: it must be at most `queue_bytes`, {queue}");
        return Err(Problem::with("maximum_bytes", reason));
    }
    Ok(())
}

struct Red {
    transmitter: Transmitter,
    limit_bytes: u64,
    minimum_bytes: f64,
    maximum_bytes: f64,
    probability: f64,
    weight: f64,
    ecn: bool,
    gentle: bool,
    backlog: Backlog,
    last_sent_ns: u64,
    average_bytes: f64,
    /// Packets without a signal since the last one with it, as far as the average has been above the minimum.
    spared: u64,
    stream: Stream,
}

fn build(recipe: &Recipe<'_>) -> Built {
    let values = recipe.values;
    Built::Instant(Box::new(Red {
        transmitter: Transmitter::new(recipe),
        limit_bytes: values.integer("queue_bytes"),
        minimum_bytes: values.integer("minimum_bytes") as f64,
        maximum_bytes: values.integer("maximum_bytes") as f64,
        probability: values.number("probability"),
        weight: values.number("weight"),
        ecn: values.boolean("ecn"),
        gentle: values.boolean("gentle"),
        backlog: Backlog::default(),
        last_sent_ns: 0,
        average_bytes: 0.0,
        spared: 0,
        stream: recipe.stream(),
    }))
}

enum Signal {
    None,
    /// A signal by chance: a mark will do.
    Early,
    /// The average is too long: nothing but a drop will do (RFC 3168, section 7).
    Forced,
}

impl Red {
    /// The average counts what a packet finds queued, the one in transmission included, as the log does.
    fn average(&mut self, now_ns: u64, queue_bytes: u64) {
        if queue_bytes > 0 {
            self.average_bytes += self.weight * (queue_bytes as f64 - self.average_bytes);
        } else if self.average_bytes > 0.0 {
            let packets = self.transmitter.possible_bytes(self.last_sent_ns, now_ns) / FULL_PACKET_BYTES;
            self.average_bytes *= libm::pow(1.0 - self.weight, packets);
        }
    }

    /// The probability at the average; the gentle variant is that of Floyd, "Recommendation on using the gentle_
    /// variant of RED", 2000, in which early signals go on to twice the maximum.
    fn probability(&self) -> Option<f64> {
        let (average, maximum) = (self.average_bytes, self.maximum_bytes);
        if average < maximum {
            return Some(self.probability * (average - self.minimum_bytes) / (maximum - self.minimum_bytes));
        }
        let above = (average - maximum) / maximum;
        (self.gentle && above < 1.0).then_some(self.probability + (1.0 - self.probability) * above)
    }

    /// A signal by chance comes so that the packets from one to the next are uniform in [1, 1/p] while p stays: the
    /// paper's second method, section 7. (Its figure 2 counts one packet more and so makes that [1, 1/p − 1].)
    fn judge(&mut self, draw: u64) -> Signal {
        if self.average_bytes < self.minimum_bytes {
            self.spared = 0;
            return Signal::None;
        }
        let Some(probability) = self.probability() else {
            self.spared = 0;
            return Signal::Forced;
        };
        let rest = 1.0 - self.spared as f64 * probability;
        // `unit` is below 1, so that a rest of no more than the probability is certain.
        if unit(draw) * rest.max(probability) < probability {
            self.spared = 0;
            return Signal::Early;
        }
        self.spared += 1;
        Signal::None
    }
}

impl Stage for Red {
    fn draw(&mut self, _at_ns: u64) -> u64 {
        self.stream.bits()
    }

    fn pass(&mut self, packet: &mut Transit, draw: u64) -> Outcome {
        let size_bytes = packet.info.size_bytes;
        let queue_bytes = self.backlog.bytes_at(packet.at_ns);
        self.average(packet.at_ns, queue_bytes);
        let fits = queue_bytes + u64::from(size_bytes) <= self.limit_bytes;
        let dropped = match self.judge(draw) {
            Signal::Forced => Some(EARLY),
            Signal::Early if !(self.ecn && can_be_marked(packet)) => Some(EARLY),
            _ if !fits => Some(FULL),
            Signal::Early => {
                mark(packet);
                None
            }
            Signal::None => None,
        };
        // The state goes on as if it had been dropped: to its neighbours the signal was given.
        let dropped = dropped.filter(|_| !packet.is_spared());
        packet.queue.get_or_insert(self.backlog.met(dropped.is_none()));
        if let Some(reason) = dropped {
            return Outcome::Drop(reason);
        }
        self.transmitter.forward(packet);
        self.last_sent_ns = packet.at_ns;
        self.backlog.add(packet.at_ns, size_bytes);
        Outcome::Pass
    }

    fn needs_order(&self) -> bool {
        true
    }
}

//! Loss with a memory: a channel that is good for a time and bad for a time.
//!
//! Gilbert ("Capacity of a burst-noise channel", Bell System Technical Journal 39, 1960) made a Markov chain of two
//! states, of which only the bad one loses; Elliott ("Estimates of error rates for codes on burst-noise channels",
//! ibid. 42, 1963) gave the good one a loss too. With p = `good_to_bad`, r = `bad_to_good`, and losses k and h in the
//! two states:
//! - in the long run the channel is bad for a share p/(p + r) of packets, and loses (k·r + h·p)/(p + r) of them;
//! - it stays bad for 1/r packets on average and good for 1/p, both geometrically distributed;
//! - with k = 0 a run of lost packets has a mean length of 1/(1 − (1 − r)·h): 1/r with h = 1.
//!
//! The state before the first packet is drawn from the long run's shares. A channel that began good would lose less of
//! a trial's first packets, which are its handshake, than of the others, and so less in short transfers than in long
//! ones; drawn, each packet's chance of being lost is the mean loss, whatever its number.

use crate::messages::Problem;
use crate::packet::DirectionName;
use crate::parameters::{Bounds, Fallback, ParameterSpec};
use crate::stage::{Built, Outcome, Recipe, Stage, StageSpec, Transit};
use crate::stream::{Stream, mix, unit};
use crate::values::Values;

const REASON: &str = "gilbert_elliott";
const SHARE: Bounds = Bounds::Number(0.0, 1.0);
/// The bit of a draw that holds the state; the other bits decide whether a packet is lost in that state. [`unit`] does not look at this one.
const BAD: u64 = 1;

pub(super) const SPEC: StageSpec = StageSpec {
    kind: REASON,
    law: "a channel of two states makes a step with each packet; each state has its own probability of loss",
    parameters: &[
        ParameterSpec::new(
            "good_to_bad",
            "1",
            SHARE,
            "probability that a packet in the good state is followed by the bad one",
        ),
        ParameterSpec::new(
            "bad_to_good",
            "1",
            SHARE,
            "probability that a packet in the bad state is followed by the good one",
        ),
        ParameterSpec::new("loss_good", "1", SHARE, "share of packets that are lost in the good state")
            .or(Fallback::Number(0.0)),
        ParameterSpec::new("loss_bad", "1", SHARE, "share of packets that are lost in the bad state")
            .or(Fallback::Number(1.0)),
    ],
    drop_reasons: &[REASON],
    check,
    bottleneck: false,
    build,
};

struct GilbertElliott {
    good_to_bad: f64,
    bad_to_good: f64,
    loss_good: f64,
    loss_bad: f64,
    bad: bool,
    stream: Stream,
}

fn check(values: &Values, _direction: DirectionName) -> Result<(), Problem> {
    if values.number("bad_to_good") == 0.0 {
        let reason = "key `bad_to_good` is 0: the channel would never leave its bad state; give more, or use the kind \
                      `loss`";
        return Err(Problem::with("bad_to_good", reason));
    }
    Ok(())
}

fn build(recipe: &Recipe<'_>) -> Built {
    let (good_to_bad, bad_to_good) = (recipe.values.number("good_to_bad"), recipe.values.number("bad_to_good"));
    let mut stream = recipe.stream();
    Built::Instant(Box::new(GilbertElliott {
        good_to_bad,
        bad_to_good,
        loss_good: recipe.values.number("loss_good"),
        loss_bad: recipe.values.number("loss_bad"),
        bad: stream.unit() < good_to_bad / (good_to_bad + bad_to_good),
        stream,
    }))
}

impl Stage for GilbertElliott {
    /// The state that the packet meets and the number that decides in it; then the step to the next packet's.
    fn draw(&mut self, _at_ns: u64) -> u64 {
        let state = if self.bad { BAD } else { 0 };
        let draw = self.stream.bits() & !BAD | state;
        let change = self.stream.unit();
        self.bad = if self.bad { change >= self.bad_to_good } else { change < self.good_to_bad };
        draw
    }

    /// A copy is right behind its packet, so it meets the same state; in it, its chance is its own.
    fn redraw(&self, draw: u64) -> u64 {
        mix(draw) & !BAD | draw & BAD
    }

    fn pass(&mut self, packet: &mut Transit, draw: u64) -> Outcome {
        packet.floor_ns = packet.at_ns;
        let probability = if draw & BAD == BAD { self.loss_bad } else { self.loss_good };
        if unit(draw) < probability { Outcome::Drop(REASON) } else { Outcome::Pass }
    }
}

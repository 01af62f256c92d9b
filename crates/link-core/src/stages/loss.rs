//! Independent (Bernoulli) loss.

use super::{Stage, StageSpec, Transit};
use crate::parameters::{Bounds, ParameterSpec, Values};
use crate::stream::Stream;

pub(super) const SPEC: StageSpec = StageSpec {
    kind: "loss",
    law: "each packet is dropped with the given probability, independently of all others",
    parameters: &[ParameterSpec {
        name: "probability",
        unit: "1",
        bounds: Bounds::Number { minimum: 0.0, maximum: 1.0 },
        meaning: "share of packets that are lost",
    }],
    drop_reason: Some("loss"),
    build,
};

struct Loss {
    probability: f64,
    stream: Stream,
}

fn build(values: &Values, stream: Stream) -> Box<dyn Stage> {
    Box::new(Loss { probability: values.number("probability"), stream })
}

impl Stage for Loss {
    fn pass(&mut self, packet: &mut Transit) -> bool {
        packet.floor_ns = packet.at_ns;
        // `unit` never reaches 1, so a probability of 1 drops every packet and one of 0 none.
        self.stream.unit() >= self.probability
    }
}

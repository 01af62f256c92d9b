//! Constant delay.

use super::{Stage, StageSpec, Transit};
use crate::parameters::{Bounds, ParameterSpec, Values};
use crate::stream::Stream;

pub(super) const MAX_DELAY_NS: u64 = 3_600_000_000_000;

pub(super) const SPEC: StageSpec = StageSpec {
    kind: "delay",
    law: "every packet leaves delay_ns after it came",
    parameters: &[ParameterSpec {
        name: "delay_ns",
        unit: "ns",
        bounds: Bounds::Integer { minimum: 0, maximum: MAX_DELAY_NS },
        meaning: "one-way propagation delay",
    }],
    drop_reason: None,
    build,
};

struct Delay {
    delay_ns: u64,
}

fn build(values: &Values, _stream: Stream) -> Box<dyn Stage> {
    Box::new(Delay { delay_ns: values.integer("delay_ns") })
}

impl Stage for Delay {
    fn pass(&mut self, packet: &mut Transit) -> bool {
        packet.floor_ns = packet.at_ns;
        packet.at_ns += self.delay_ns;
        true
    }
}

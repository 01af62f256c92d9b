//! Random variation about the delay before it.

use super::delay::MAX_DELAY_NS;
use super::{Order, Stage, StageSpec, Transit};
use crate::parameters::{Bounds, ParameterSpec, Values};
use crate::stream::Stream;

pub(super) const SPEC: StageSpec = StageSpec {
    kind: "jitter",
    law: "adds an offset uniform in ±jitter_ns to the delay right before it, never leaving before that delay was reached",
    parameters: &[
        ParameterSpec {
            name: "jitter_ns",
            unit: "ns",
            bounds: Bounds::Integer { minimum: 0, maximum: MAX_DELAY_NS },
            meaning: "half the width of the uniform offset",
        },
        ParameterSpec {
            name: "reorder",
            unit: "",
            bounds: Bounds::Boolean,
            meaning: "true: packets may overtake each other; false: one waits for the one before it",
        },
    ],
    drop_reason: None,
    build,
};

struct Jitter {
    jitter_ns: u64,
    reorder: bool,
    last_ns: u64,
    stream: Stream,
}

fn build(values: &Values, stream: Stream) -> Box<dyn Stage> {
    Box::new(Jitter { jitter_ns: values.integer("jitter_ns"), reorder: values.boolean("reorder"), last_ns: 0, stream })
}

impl Stage for Jitter {
    fn pass(&mut self, packet: &mut Transit) -> bool {
        let offset_ns = self.stream.symmetric(self.jitter_ns);
        packet.at_ns = packet.at_ns.saturating_add_signed(offset_ns).max(packet.floor_ns);
        if !self.reorder && !packet.dropped {
            self.last_ns = self.last_ns.max(packet.at_ns);
            packet.at_ns = self.last_ns;
        }
        packet.floor_ns = packet.at_ns;
        true
    }

    fn order(&self) -> Order {
        if self.reorder { Order::Breaks } else { Order::Restores }
    }
}

//! The sender's access: a small random delay that keeps the order of packets.
//!
//! Endpoints with infinitely fast processors and no jitter lock into phase at a drop-tail queue, so that one flow meets
//! every drop. Floyd and Jacobson (1991, "Traffic phase effects in packet-switched gateways") break that with a random
//! processing time up to the bottleneck's service time of one packet. It stands first in its direction: where a sender
//! is, before anything that the path does.

use super::delay::MAX_DELAY_NS;
use super::{Order, Stage, StageSpec, Transit};
use crate::parameters::{Bounds, ParameterSpec, Values};
use crate::stream::Stream;

pub(super) const SPEC: StageSpec = StageSpec {
    kind: "access",
    law: "every packet leaves a time uniform in [0, max_ns] after it came, but never before the one before it",
    parameters: &[ParameterSpec {
        name: "max_ns",
        unit: "ns",
        bounds: Bounds::Integer { minimum: 0, maximum: MAX_DELAY_NS },
        meaning: "longest processing time of a packet at its sender",
    }],
    drop_reason: None,
    build,
};

struct Access {
    max_ns: u64,
    last_ns: u64,
    stream: Stream,
}

fn build(values: &Values, stream: Stream) -> Box<dyn Stage> {
    Box::new(Access { max_ns: values.integer("max_ns"), last_ns: 0, stream })
}

impl Stage for Access {
    fn pass(&mut self, packet: &mut Transit) -> bool {
        packet.at_ns += self.stream.up_to(self.max_ns);
        if !packet.dropped {
            self.last_ns = self.last_ns.max(packet.at_ns);
            packet.at_ns = self.last_ns;
        }
        packet.floor_ns = packet.at_ns;
        true
    }

    fn order(&self) -> Order {
        Order::Restores
    }
}

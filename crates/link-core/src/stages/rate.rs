//! A bottleneck: constant rate behind a drop-tail queue counted in bytes.

use std::collections::VecDeque;

use super::{Queue, Stage, StageSpec, Transit};
use crate::parameters::{Bounds, ParameterSpec, Values};
use crate::stream::Stream;

pub(super) const SPEC: StageSpec = StageSpec {
    kind: "rate",
    law: "packets are sent one after the other at rate_bps; one that does not fit what is left of the queue is dropped",
    parameters: &[
        ParameterSpec {
            name: "rate_bps",
            unit: "bit/s",
            bounds: Bounds::Integer { minimum: 1_000, maximum: 1_000_000_000_000 },
            meaning: "rate of IP packets, without link-layer framing",
        },
        ParameterSpec {
            name: "queue_bytes",
            unit: "byte",
            // Below one full packet the link would silently pass nothing but small ones.
            bounds: Bounds::Integer { minimum: 1_500, maximum: u32::MAX as u64 },
            meaning: "most that may be queued, the packet in transmission included",
        },
    ],
    drop_reason: Some("queue"),
    build,
};

const PS_PER_NS: u128 = 1_000;
const PS_PER_S: u128 = 1_000_000_000_000;

struct Waiting {
    sent_ns: u64,
    size_bytes: u32,
}

struct Rate {
    rate_bps: u64,
    limit_bytes: u64,
    /// Picoseconds keep the rounding of one packet below 1 part in 10⁶ of a full packet's time even at 1 Tbit/s.
    busy_until_ps: u128,
    waiting: VecDeque<Waiting>,
    waiting_bytes: u64,
}

fn build(values: &Values, _stream: Stream) -> Box<dyn Stage> {
    Box::new(Rate {
        rate_bps: values.integer("rate_bps"),
        limit_bytes: values.integer("queue_bytes"),
        busy_until_ps: 0,
        waiting: VecDeque::new(),
        waiting_bytes: 0,
    })
}

impl Rate {
    fn forget_sent(&mut self, now_ns: u64) {
        while let Some(first) = self.waiting.front() {
            if first.sent_ns > now_ns {
                break;
            }
            self.waiting_bytes -= u64::from(first.size_bytes);
            self.waiting.pop_front();
        }
    }

    fn transmission_ps(&self, size_bytes: u32) -> u128 {
        (u128::from(size_bytes) * 8 * PS_PER_S).div_ceil(u128::from(self.rate_bps))
    }
}

impl Stage for Rate {
    fn pass(&mut self, packet: &mut Transit) -> bool {
        self.forget_sent(packet.at_ns);
        let fits = self.waiting_bytes + u64::from(packet.size_bytes) <= self.limit_bytes;
        let joins = fits && !packet.dropped;
        packet.queue.get_or_insert(Queue {
            bytes: self.waiting_bytes,
            packets: self.waiting.len() as u32,
            joined: joins,
        });
        if joins {
            let start_ps = self.busy_until_ps.max(u128::from(packet.at_ns) * PS_PER_NS);
            self.busy_until_ps = start_ps + self.transmission_ps(packet.size_bytes);
            packet.at_ns = self.busy_until_ps.div_ceil(PS_PER_NS) as u64;
            self.waiting.push_back(Waiting { sent_ns: packet.at_ns, size_bytes: packet.size_bytes });
            self.waiting_bytes += u64::from(packet.size_bytes);
        }
        packet.floor_ns = packet.at_ns;
        fits
    }

    fn needs_order(&self) -> bool {
        true
    }
}

//! A small reliable transfer, after `NewReno` (RFC 6582) with a fixed first window: enough of a congestion control to
//! meet queues, marks, losses and black holes as real ones do, and simple enough never to need a change.

use std::collections::BTreeSet;

use longlook_link_core::{Config, DirectionName, PacketInfo, Transport};

use crate::link::{Channel, Counts};
use crate::settings::Setting;

const SEGMENTS: u64 = 200;
const FULL_BYTES: u32 = 1_500;
/// What a sender falls back to that gets no answer to full packets.
const SAFE_BYTES: u32 = 1_200;
const ACK_BYTES: u32 = 60;
const ECT0: u8 = 2;
const FIRST_WINDOW: u64 = 10;
const LEAST_WINDOW: u64 = 2;
const DUPLICATES: u64 = 3;
const FIRST_TIMEOUT_NS: u64 = 1_000_000_000;
const LEAST_TIMEOUT_NS: u64 = 200_000_000;
const SAFE_AFTER: u32 = 2;
const GIVES_UP_AFTER: u32 = 7;

#[derive(Debug, Clone, Copy)]
struct Data {
    segment: u64,
    sent_ns: u64,
}

#[derive(Debug, Clone, Copy)]
struct Ack {
    /// How many segments have come, without a gap.
    received: u64,
    /// When the packet had been sent that this answers.
    echo_ns: u64,
    congestion: bool,
}

/// What a transfer has come to.
pub struct Ended {
    /// When the sender knew that all had arrived.
    pub finish_ns: Option<u64>,
    pub timeouts: u64,
    /// Packets that came behind a later one.
    pub out_of_order: u64,
    pub data: Counts,
    pub acks: Counts,
}

#[derive(Default)]
struct Sender {
    acked: u64,
    next: u64,
    window: u64,
    threshold: u64,
    grown: u64,
    duplicates: u64,
    /// A loss or a mark of a segment before this one has been answered.
    recover: u64,
    recovering: bool,
    size_bytes: u32,
    timeout_ns: u64,
    deadline_ns: u64,
    silent: u32,
    timeouts: u64,
}

impl Sender {
    fn new() -> Self {
        Self {
            window: FIRST_WINDOW,
            threshold: u64::MAX,
            size_bytes: FULL_BYTES,
            timeout_ns: FIRST_TIMEOUT_NS,
            ..Self::default()
        }
    }

    fn halve(&mut self) {
        self.threshold = ((self.next - self.acked) / 2).max(LEAST_WINDOW);
        self.window = self.threshold;
        self.recover = self.next;
        self.grown = 0;
    }

    fn grow(&mut self, segments: u64) {
        if self.window < self.threshold {
            self.window += segments;
            return;
        }
        self.grown += segments;
        if self.grown >= self.window {
            self.grown -= self.window;
            self.window += 1;
        }
    }

    /// Takes an acknowledgement; true if the first missing segment is to be sent again.
    fn take(&mut self, ack: Ack, now_ns: u64) -> bool {
        if ack.congestion && self.acked >= self.recover {
            self.halve();
        }
        if ack.received > self.acked {
            let segments = ack.received - self.acked;
            (self.acked, self.next, self.duplicates, self.silent) = (ack.received, self.next.max(ack.received), 0, 0);
            self.timeout_ns = LEAST_TIMEOUT_NS.max(3 * (now_ns - ack.echo_ns));
            self.deadline_ns = now_ns + self.timeout_ns;
            if self.recovering && self.acked < self.recover {
                return true;
            }
            self.recovering = false;
            self.grow(segments);
            return false;
        }
        self.duplicates += 1;
        if self.duplicates == DUPLICATES && self.acked >= self.recover && self.next > self.acked {
            self.halve();
            self.recovering = true;
            return true;
        }
        false
    }

    /// Goes back to the first missing segment.
    fn time_out(&mut self) {
        self.threshold = ((self.next - self.acked) / 2).max(LEAST_WINDOW);
        (self.window, self.grown, self.duplicates, self.recovering) = (1, 0, 0, false);
        (self.recover, self.next) = (self.next, self.acked);
        self.timeout_ns *= 2;
        self.timeouts += 1;
        self.silent += 1;
        if self.silent == SAFE_AFTER {
            self.size_bytes = self.size_bytes.min(SAFE_BYTES);
        }
    }
}

struct Receiver {
    received: u64,
    ahead: BTreeSet<u64>,
    latest_sent_ns: u64,
    out_of_order: u64,
}

impl Receiver {
    fn take(&mut self, data: Data, congestion: bool) -> Ack {
        self.out_of_order += u64::from(data.sent_ns < self.latest_sent_ns);
        self.latest_sent_ns = self.latest_sent_ns.max(data.sent_ns);
        if data.segment >= self.received {
            self.ahead.insert(data.segment);
        }
        while self.ahead.remove(&self.received) {
            self.received += 1;
        }
        Ack { received: self.received, echo_ns: data.sent_ns, congestion }
    }
}

fn info(size_bytes: u32, ecn: u8) -> PacketInfo {
    PacketInfo { size_bytes, transport: Transport::Udp, flow: 1, ecn }
}

/// The client sends [`SEGMENTS`] to the server, which acknowledges each packet.
pub fn run(setting: &Setting) -> Ended {
    let config = Config::from_json(&setting.configuration()).expect("the settings are valid");
    let mut up = Channel::new(config.direction(DirectionName::Up));
    let mut down = Channel::new(config.direction(DirectionName::Down));
    let mut sender = Sender::new();
    let mut receiver = Receiver { received: 0, ahead: BTreeSet::new(), latest_sent_ns: 0, out_of_order: 0 };
    let mut now_ns = 0;
    sender.deadline_ns = sender.timeout_ns;
    let send = |up: &mut Channel<Data>, sender: &Sender, segment: u64, now_ns: u64| {
        up.send(now_ns, &info(sender.size_bytes, ECT0), Data { segment, sent_ns: now_ns });
    };
    while sender.acked < SEGMENTS && sender.silent < GIVES_UP_AFTER {
        while sender.next < SEGMENTS && sender.next - sender.acked < sender.window {
            send(&mut up, &sender, sender.next, now_ns);
            sender.next += 1;
        }
        if let Some(mtu) = up.take_reported_mtu().filter(|mtu| *mtu < sender.size_bytes) {
            // What was too large is sent again at once, in the size that was reported.
            (sender.size_bytes, sender.next) = (mtu, sender.acked);
            continue;
        }
        let times = [up.next_ns(), down.next_ns(), Some(sender.deadline_ns)];
        now_ns = times.into_iter().flatten().min().expect("there is a deadline").max(now_ns);
        if let Some(came) = up.pop(now_ns) {
            // A checksum finds what was corrupted.
            if came.edits.corrupt == 0 {
                let ack = receiver.take(came.packet, came.edits.mark_ce);
                down.send(now_ns, &info(ACK_BYTES, 0), ack);
            }
        } else if let Some(came) = down.pop(now_ns) {
            if came.edits.corrupt == 0 && sender.take(came.packet, now_ns) {
                send(&mut up, &sender, sender.acked, now_ns);
            }
        } else if sender.deadline_ns <= now_ns {
            sender.time_out();
            sender.deadline_ns = now_ns + sender.timeout_ns;
        }
    }
    Ended {
        finish_ns: (sender.acked == SEGMENTS).then_some(now_ns),
        timeouts: sender.timeouts,
        out_of_order: receiver.out_of_order,
        data: up.close(),
        acks: down.close(),
    }
}

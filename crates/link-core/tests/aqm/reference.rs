//! `CoDel` a second time, as it stands in RFC 8289, section 5, word for word where that is possible, with a sender of
//! whole nanoseconds per byte; marks as in Linux. It shares nothing with the emulator.

use std::collections::VecDeque;

use crate::common::Packet;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Sent { due_ns: u64, marked: bool },
    Early,
    Full,
}

pub struct Reference {
    pub byte_ns: u64,
    pub target: u64,
    pub interval: u64,
    pub ecn: bool,
    pub most_bytes: u64,
    pub most_packets: usize,
    pub maxpacket: u64,
    first_above_time: u64,
    drop_next: u64,
    count: u32,
    lastcount: u32,
    dropping: bool,
    queue: VecDeque<(usize, Packet)>,
    free_at: u64,
    sending: u64,
    outcomes: Vec<Option<Outcome>>,
}

struct Dodequeue {
    packet: Option<(usize, Packet)>,
    ok_to_drop: bool,
}

impl Reference {
    pub fn new(byte_ns: u64, target: u64, interval: u64, ecn: bool, most_bytes: u64, most_packets: usize) -> Self {
        Self {
            byte_ns,
            target,
            interval,
            ecn,
            most_bytes,
            most_packets,
            maxpacket: 1_500,
            first_above_time: 0,
            drop_next: 0,
            count: 0,
            lastcount: 0,
            dropping: false,
            queue: VecDeque::new(),
            free_at: 0,
            sending: 0,
            outcomes: Vec::new(),
        }
    }

    pub fn run(mut self, traffic: &[Packet]) -> Vec<Outcome> {
        for (number, packet) in traffic.iter().enumerate() {
            self.outcomes.push(None);
            while self.free_at <= packet.at_ns && !self.queue.is_empty() {
                self.deque(self.free_at);
            }
            let busy = self.free_at > packet.at_ns;
            let bytes = self.bytes() + if busy { self.sending } else { 0 } + u64::from(packet.size_bytes);
            if bytes > self.most_bytes || self.queue.len() + usize::from(busy) + 1 > self.most_packets {
                self.outcomes[number] = Some(Outcome::Full);
                continue;
            }
            self.queue.push_back((number, *packet));
            if !busy {
                self.deque(packet.at_ns);
            }
        }
        while !self.queue.is_empty() {
            self.deque(self.free_at);
        }
        self.outcomes.into_iter().map(|outcome| outcome.expect("all are out")).collect()
    }

    fn bytes(&self) -> u64 {
        self.queue.iter().map(|(_, packet)| u64::from(packet.size_bytes)).sum()
    }

    fn dodequeue(&mut self, now: u64) -> Dodequeue {
        let mut r = Dodequeue { packet: self.queue.pop_front(), ok_to_drop: false };
        let Some((_, packet)) = &r.packet else {
            self.first_above_time = 0;
            return r;
        };
        let sojourn_time = now - packet.at_ns;
        if sojourn_time < self.target || self.bytes() <= self.maxpacket {
            self.first_above_time = 0;
        } else if self.first_above_time == 0 {
            self.first_above_time = now + self.interval;
        } else if now >= self.first_above_time {
            r.ok_to_drop = true;
        }
        r
    }

    /// Whether the packet was marked; if not, it is dropped.
    fn mark_or_drop(&mut self, r: &Dodequeue, marked: &mut bool) -> bool {
        let (number, packet) = r.packet.expect("there is one to drop");
        if self.ecn && packet.ecn != 0 {
            *marked = packet.ecn != 3;
            return true;
        }
        self.outcomes[number] = Some(Outcome::Early);
        false
    }

    fn deque(&mut self, now: u64) {
        let mut marked = false;
        let mut r = self.dodequeue(now);
        if self.dropping {
            if !r.ok_to_drop {
                self.dropping = false;
            }
            while now >= self.drop_next && self.dropping {
                self.count += 1;
                if self.mark_or_drop(&r, &mut marked) {
                    self.drop_next = self.control_law(self.drop_next, self.count);
                    break;
                }
                r = self.dodequeue(now);
                if r.ok_to_drop {
                    self.drop_next = self.control_law(self.drop_next, self.count);
                } else {
                    self.dropping = false;
                }
            }
        } else if r.ok_to_drop {
            if !self.mark_or_drop(&r, &mut marked) {
                r = self.dodequeue(now);
            }
            self.dropping = true;
            let delta = self.count - self.lastcount;
            self.count = 1;
            if delta > 1 && (now as i64 - self.drop_next as i64) < 16 * self.interval as i64 {
                self.count = delta;
            }
            self.drop_next = self.control_law(now, self.count);
            self.lastcount = self.count;
        }
        if let Some((number, packet)) = r.packet {
            self.sending = u64::from(packet.size_bytes);
            self.free_at = now + self.sending * self.byte_ns;
            self.outcomes[number] = Some(Outcome::Sent { due_ns: self.free_at, marked });
        }
    }

    fn control_law(&self, t: u64, count: u32) -> u64 {
        t + (self.interval as f64 / f64::from(count).sqrt()) as u64
    }
}

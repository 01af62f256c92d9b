//! The link's NAT in link time: which port stands for the client's when.

use longlook_link_core::NatTimes;

use crate::nat::Nat;

/// See the module.
pub struct Translator {
    times: NatTimes,
    origin_ns: Option<u64>,
    ports: Nat,
}

impl Translator {
    pub fn new(times: NatTimes) -> Self {
        Self { times, origin_ns: None, ports: Nat::default() }
    }

    /// Sets link time 0, at the first call.
    pub fn begin(&mut self, origin_ns: u64) {
        self.origin_ns.get_or_insert(origin_ns);
    }

    /// The port that the server sees for the client's `port`; None when all are taken.
    pub fn outward(&mut self, port: u16, epoch: u32) -> Option<u16> {
        self.ports.outward(port, epoch)
    }

    /// The client's port behind the server's idea of it, for a packet that passes the NAT at `at_ns`; None once the
    /// NAT has forgotten it.
    pub fn inward(&self, port: u16, at_ns: u64) -> Option<u16> {
        self.ports.inward(port, self.epoch(at_ns))
    }

    /// The client's port that `port` stands for, or stood for before: whose packet it is, delivered or not.
    pub fn owner(&self, port: u16, at_ns: u64) -> u16 {
        (0..=self.epoch(at_ns)).rev().find_map(|epoch| self.ports.inward(port, epoch)).unwrap_or(port)
    }

    fn epoch(&self, at_ns: u64) -> u32 {
        self.times.epoch_at(at_ns.saturating_sub(self.origin_ns.unwrap_or(at_ns)))
    }
}

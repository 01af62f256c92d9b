//! The link's NAT in link time: which port stands for the client's when.

use std::collections::HashMap;

use longlook_link_core::NatTimes;

use crate::nat::Nat;

/// See the module.
///
/// An epoch of a port counts how often the NAT has forgotten it: with all others at the fixed times, and alone after
/// its silence. The silence is the client's (RFC 4787, REQ-6: packets from outside need not keep a port).
pub struct Translator {
    times: NatTimes,
    origin_ns: Option<u64>,
    ports: Nat,
    uses: HashMap<u16, Use>,
    /// The most that one port was forgotten for its silence.
    most_forgotten: u32,
}

/// The client's use of one of its ports.
#[derive(Debug, Clone, Copy)]
struct Use {
    last_ns: u64,
    /// How often the port was silent for too long before it was used again.
    forgotten: u32,
}

/// A port that stands for one of the client's, until the NAT forgets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mapping {
    pub client_port: u16,
    pub epoch: u32,
}

impl Translator {
    pub fn new(times: NatTimes) -> Self {
        Self { times, origin_ns: None, ports: Nat::default(), uses: HashMap::new(), most_forgotten: 0 }
    }

    /// Sets link time 0, at the first call.
    pub fn begin(&mut self, origin_ns: u64) {
        self.origin_ns.get_or_insert(origin_ns);
    }

    /// Notes that the client sends from `port`; returns how often the port was forgotten for its silence.
    pub fn used(&mut self, port: u16, at_ns: u64) -> u32 {
        let Some(timeout_ns) = self.times.timeout_ns else { return 0 };
        let state = self.uses.entry(port).or_insert(Use { last_ns: at_ns, forgotten: 0 });
        state.forgotten += u32::from(at_ns.saturating_sub(state.last_ns) > timeout_ns);
        state.last_ns = state.last_ns.max(at_ns);
        self.most_forgotten = self.most_forgotten.max(state.forgotten);
        state.forgotten
    }

    /// The port that the server sees for the client's `port`; None when all are taken.
    pub fn outward(&mut self, port: u16, epoch: u32) -> Option<u16> {
        self.ports.outward(port, epoch)
    }

    /// The client's port behind the server's idea of it, for a packet that passes the NAT at `at_ns`; None once the
    /// NAT has forgotten it. The client may be silent until then: ask `is_kept` when it passes.
    pub fn inward(&self, port: u16, at_ns: u64) -> Option<Mapping> {
        self.latest(port, at_ns).filter(|mapping| mapping.epoch == self.epoch(mapping.client_port, at_ns))
    }

    /// Whether the NAT still knows a mapping, for a packet that passes it now, at `at_ns`.
    pub fn is_kept(&self, mapping: Mapping, at_ns: u64) -> bool {
        let Some(timeout_ns) = self.times.timeout_ns else { return true };
        let last_ns = self.uses.get(&mapping.client_port).map_or(at_ns, |state| state.last_ns);
        mapping.epoch == self.epoch(mapping.client_port, at_ns) && at_ns.saturating_sub(last_ns) <= timeout_ns
    }

    /// The client's port that `port` stands for, or stood for before: whose packet it is, delivered or not.
    pub fn owner(&self, port: u16, at_ns: u64) -> u16 {
        self.latest(port, at_ns).map_or(port, |mapping| mapping.client_port)
    }

    fn latest(&self, port: u16, at_ns: u64) -> Option<Mapping> {
        let newest = self.rebindings(at_ns).saturating_add(self.most_forgotten);
        (0..=newest).rev().find_map(|epoch| {
            let client_port = self.ports.inward(port, epoch)?;
            Some(Mapping { client_port, epoch })
        })
    }

    fn epoch(&self, client_port: u16, at_ns: u64) -> u32 {
        let forgotten = self.uses.get(&client_port).map_or(0, |state| state.forgotten);
        self.rebindings(at_ns).saturating_add(forgotten)
    }

    fn rebindings(&self, at_ns: u64) -> u32 {
        self.times.epoch_at(at_ns.saturating_sub(self.origin_ns.unwrap_or(at_ns)))
    }
}

#[cfg(test)]
mod tests {
    use longlook_link_core::Rebindings;

    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;
    const CLIENT: u16 = 40_000;

    fn forgets_after(seconds: u64) -> Translator {
        let mut translator = Translator::new(NatTimes { rebindings: None, timeout_ns: Some(seconds * SECOND_NS) });
        translator.begin(0);
        translator
    }

    /// Sends a packet of the client's, and returns the port that the server sees.
    fn send(translator: &mut Translator, at_ns: u64) -> u16 {
        let epoch = translator.used(CLIENT, at_ns);
        translator.outward(CLIENT, epoch).expect("many are free")
    }

    #[test]
    fn a_port_lives_as_long_as_the_client_uses_it() {
        let mut translator = forgets_after(30);
        for turn in 0..10 {
            assert_eq!(send(&mut translator, turn * 30 * SECOND_NS), CLIENT);
        }
        let mapping = translator.inward(CLIENT, 300 * SECOND_NS).expect("it was not forgotten");
        assert!(translator.is_kept(mapping, 300 * SECOND_NS));
        assert!(!translator.is_kept(mapping, 300 * SECOND_NS + 1));
    }

    #[test]
    fn a_silent_port_is_forgotten_and_another_one_follows() {
        let mut translator = forgets_after(30);
        send(&mut translator, 0);
        let before = translator.inward(CLIENT, 31 * SECOND_NS).expect("nothing says yet that the client stays silent");
        assert!(!translator.is_kept(before, 31 * SECOND_NS));
        let second = send(&mut translator, 40 * SECOND_NS);
        assert_ne!(second, CLIENT);
        assert_eq!(translator.inward(CLIENT, 41 * SECOND_NS), None);
        let after = translator.inward(second, 41 * SECOND_NS).expect("it is new");
        assert_eq!(after, Mapping { client_port: CLIENT, epoch: 1 });
        assert!(translator.is_kept(after, 41 * SECOND_NS) && !translator.is_kept(before, 41 * SECOND_NS));
        assert_eq!(
            (translator.owner(CLIENT, 41 * SECOND_NS), translator.owner(second, 41 * SECOND_NS)),
            (CLIENT, CLIENT)
        );
    }

    #[test]
    fn ports_are_forgotten_one_by_one_and_all_at_once() {
        let rebindings = Some(Rebindings { rebind_ns: 50 * SECOND_NS, repeat_ns: 0 });
        let mut translator = Translator::new(NatTimes { rebindings, timeout_ns: Some(30 * SECOND_NS) });
        translator.begin(0);
        assert_eq!((translator.used(CLIENT, 0), translator.used(7, 0)), (0, 0));
        assert_eq!((translator.used(CLIENT, 20 * SECOND_NS), translator.used(7, 40 * SECOND_NS)), (0, 1));
        let (first, second) = (translator.outward(CLIENT, 0), translator.outward(7, 1));
        assert_eq!(first, Some(CLIENT));
        let kept = translator.inward(second.expect("many are free"), 45 * SECOND_NS).expect("it is new");
        assert_eq!(kept, Mapping { client_port: 7, epoch: 1 });
        assert!(translator.is_kept(kept, 45 * SECOND_NS) && !translator.is_kept(kept, 55 * SECOND_NS));
        assert_eq!(translator.inward(CLIENT, 55 * SECOND_NS), None);
    }
}

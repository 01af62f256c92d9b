//! The ports of a NAT that forgets: which port the server sees for a port of the client.
//!
//! Time is counted in epochs: 0 until the first rebinding, then one more with each. In epoch 0 every port is itself.
//! Later each port that the client sends from gets one that no other has, in this epoch or in the one before: a packet
//! that is late for the old port of one flow never reaches another. A mapping begins with the client's first packet of
//! the epoch; until then, and for ports of earlier epochs, packets from the server find none.

use std::collections::HashMap;

/// Above the ports that Linux gives to clients, and away from those that servers distrust.
const FIRST_CHOICE: u16 = 61_000;
const LOWEST: u16 = 1_024;

/// See the module.
#[derive(Debug)]
pub struct Nat {
    /// (epoch, client's port) → port that the server sees.
    outward: HashMap<(u32, u16), u16>,
    /// (epoch, port that the server sees) → client's port.
    inward: HashMap<(u32, u16), u16>,
    next: u16,
}

impl Default for Nat {
    fn default() -> Self {
        Self { outward: HashMap::new(), inward: HashMap::new(), next: FIRST_CHOICE }
    }
}

impl Nat {
    /// The port that the server sees in `epoch` for the client's `port`; None when all are taken.
    pub fn outward(&mut self, port: u16, epoch: u32) -> Option<u16> {
        if let Some(&known) = self.outward.get(&(epoch, port)) {
            return Some(known);
        }
        let given = if epoch == 0 { port } else { self.free(port, epoch)? };
        self.outward.insert((epoch, port), given);
        self.inward.insert((epoch, given), port);
        Some(given)
    }

    /// The client's port behind the `port` that a packet from the server is for; None where there is none in `epoch`.
    pub fn inward(&self, port: u16, epoch: u32) -> Option<u16> {
        self.inward.get(&(epoch, port)).copied()
    }

    fn free(&mut self, own: u16, epoch: u32) -> Option<u16> {
        for _ in LOWEST..=u16::MAX {
            let port = self.next;
            self.next = port.checked_add(1).unwrap_or(LOWEST);
            let taken = self.inward.contains_key(&(epoch, port)) || self.inward.contains_key(&(epoch - 1, port));
            if !taken && port != own {
                return Some(port);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn before_the_first_rebinding_every_port_is_itself() {
        let mut nat = Nat::default();
        assert_eq!(nat.inward(40_000, 0), None);
        assert_eq!((nat.outward(40_000, 0), nat.inward(40_000, 0)), (Some(40_000), Some(40_000)));
        assert_eq!(nat.outward(53, 0), Some(53));
    }

    #[test]
    fn the_old_port_is_unknown_from_the_rebinding_on() {
        let mut nat = Nat::default();
        nat.outward(40_000, 0);
        assert_eq!(nat.inward(40_000, 1), None);
        let second = nat.outward(40_000, 1).expect("many are free");
        assert_ne!(second, 40_000);
        assert_eq!((nat.inward(second, 1), nat.inward(40_000, 1), nat.inward(second, 2)), (Some(40_000), None, None));
        let third = nat.outward(40_000, 2).expect("many are free");
        assert!(![second, 40_000].contains(&third));
        // A packet whose new port was chosen earlier and that overtakes nothing is still itself.
        assert_eq!(nat.outward(40_000, 1), Some(second));
    }

    #[test]
    fn the_ports_can_run_out() {
        let mut nat = Nat::default();
        let given: HashSet<_> = (0..64_512).filter_map(|port| nat.outward(port, 1)).collect();
        assert_eq!(given.len(), 64_512);
        assert!(given.iter().all(|port| *port >= LOWEST));
        assert_eq!((nat.outward(65_000, 1), nat.outward(7, 2)), (None, None));
        assert!(nat.outward(7, 3).is_some());
    }

    proptest! {
        #[test]
        fn mappings_are_one_to_one_and_lead_back(
            uses in prop::collection::vec((any::<u16>(), 0..4_u32), 1..200),
        ) {
            let mut nat = Nat::default();
            let mut seen = HashMap::new();
            for (port, epoch) in uses {
                let given = nat.outward(port, epoch).expect("many are free");
                prop_assert!(epoch == 0 || given >= LOWEST);
                prop_assert_eq!(epoch == 0, given == port);
                prop_assert_eq!(nat.inward(given, epoch), Some(port));
                prop_assert_eq!(*seen.entry((epoch, given)).or_insert(port), port);
            }
        }
    }
}

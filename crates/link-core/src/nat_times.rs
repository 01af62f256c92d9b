//! When a NAT forgets its ports.

use crate::values::Values;

/// The times at which a NAT gives the client's UDP flows new ports, and the silence after which it forgets one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NatTimes {
    /// The changes of all ports at once.
    pub rebindings: Option<Rebindings>,
    /// A port that the client has not sent from for longer is forgotten.
    pub timeout_ns: Option<u64>,
}

/// Changes of all ports at fixed times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rebindings {
    /// The first, in link time.
    pub rebind_ns: u64,
    /// How long after each the next one follows; 0: there is only one.
    pub repeat_ns: u64,
}

impl NatTimes {
    /// How many changes of all ports there have been by that link time.
    #[must_use]
    pub fn epoch_at(&self, link_time_ns: u64) -> u32 {
        self.rebindings.map_or(0, |times| times.epoch_at(link_time_ns))
    }
}

impl Rebindings {
    /// Reads the parameters of a stage `nat`.
    pub(crate) fn of(values: &Values) -> Self {
        Self { rebind_ns: values.integer("rebind_ns"), repeat_ns: values.integer("repeat_ns") }
    }

    /// How many there have been by that link time, one at that very time included.
    #[must_use]
    pub fn epoch_at(&self, link_time_ns: u64) -> u32 {
        let Some(since_ns) = link_time_ns.checked_sub(self.rebind_ns) else {
            return 0;
        };
        let repeats = since_ns.checked_div(self.repeat_ns).unwrap_or(0);
        u32::try_from(repeats).unwrap_or(u32::MAX).saturating_add(1)
    }
}

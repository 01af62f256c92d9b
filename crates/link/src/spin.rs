//! Limits on busy waiting, and on running without a pause.

/// Short, so that where the budget is small, accuracy is lost evenly.
const WINDOW_NS: u64 = 10_000_000;
/// A real-time thread that lets nothing else run on its core is stopped by the kernel for 50 ms of each second. One
/// that pauses for a little more than this share by itself is not, and its packets are late by a fraction of a
/// millisecond instead.
const PAUSE_WINDOW_NS: u64 = 5_000_000;
const PAUSE_NS: u64 = 300_000;

/// Decides whether waiting for a packet's time may be spent spinning.
pub struct SpinBudget {
    spin_ns: u64,
    budget_ns: u64,
    window_start_ns: u64,
    spent_ns: u64,
}

impl SpinBudget {
    /// Spins for the last `spin_ns` before a packet is due, for at most `percent` of the time; 0 never spins.
    pub fn new(spin_ns: u64, percent: u32) -> Self {
        Self { spin_ns, budget_ns: WINDOW_NS * u64::from(percent) / 100, window_start_ns: 0, spent_ns: 0 }
    }

    /// How long to sleep at `now_ns` for something due at `due_ns`; None: do not sleep, look again at once.
    pub fn sleep_ns(&mut self, now_ns: u64, due_ns: u64) -> Option<u64> {
        let left_ns = due_ns.saturating_sub(now_ns);
        if left_ns == 0 {
            return None;
        }
        if now_ns.saturating_sub(self.window_start_ns) >= WINDOW_NS {
            self.window_start_ns = now_ns;
            self.spent_ns = 0;
        }
        let spin_ns = self.spin_ns.min(left_ns);
        if spin_ns == 0 || self.spent_ns + spin_ns > self.budget_ns {
            return Some(left_ns);
        }
        if left_ns > self.spin_ns {
            return Some(left_ns - self.spin_ns);
        }
        None
    }

    /// Accounts for time that went by without sleep.
    pub fn spent(&mut self, ns: u64) {
        self.spent_ns += ns;
    }
}

/// Decides when a thread of real-time priority must pause.
#[derive(Default)]
pub struct Pauses {
    window_start_ns: u64,
    slept_ns: u64,
}

impl Pauses {
    /// Accounts for time that was slept.
    pub fn slept(&mut self, ns: u64) {
        self.slept_ns += ns;
    }

    /// How long to sleep now, whatever waits; None: no need.
    pub fn due_ns(&mut self, now_ns: u64) -> Option<u64> {
        if now_ns.saturating_sub(self.window_start_ns) < PAUSE_WINDOW_NS {
            return None;
        }
        let slept_ns = std::mem::take(&mut self.slept_ns);
        let first = std::mem::replace(&mut self.window_start_ns, now_ns) == 0;
        (!first && slept_ns < PAUSE_NS).then(|| PAUSE_NS - slept_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_spinning_it_sleeps_to_the_end() {
        let mut budget = SpinBudget::new(0, 80);
        assert_eq!(budget.sleep_ns(100, 1_100), Some(1_000));
        assert_eq!(budget.sleep_ns(1_100, 1_100), None);
        assert_eq!(budget.sleep_ns(1_200, 1_100), None);
    }

    #[test]
    fn it_wakes_early_and_then_spins() {
        let mut budget = SpinBudget::new(50_000, 80);
        assert_eq!(budget.sleep_ns(0, 1_000_000), Some(950_000));
        assert_eq!(budget.sleep_ns(950_000, 1_000_000), None);
    }

    #[test]
    fn beyond_its_budget_it_sleeps_until_the_next_window() {
        let mut budget = SpinBudget::new(50_000, 80);
        budget.sleep_ns(200_000_000, 200_100_000);
        budget.spent(8_000_000);
        assert_eq!(budget.sleep_ns(208_000_000, 208_040_000), Some(40_000));
        assert_eq!(budget.sleep_ns(210_000_000, 210_040_000), None);
    }

    #[test]
    fn a_small_budget_is_used_up_earlier() {
        let mut budget = SpinBudget::new(50_000, 10);
        budget.sleep_ns(200_000_000, 200_100_000);
        budget.spent(980_000);
        assert_eq!(budget.sleep_ns(201_000_000, 201_040_000), Some(40_000));
        assert_eq!(SpinBudget::new(50_000, 0).sleep_ns(200_000_000, 200_040_000), Some(40_000));
    }

    #[test]
    fn who_never_sleeps_must_pause_once_in_a_window() {
        let mut pauses = Pauses::default();
        assert_eq!(pauses.due_ns(1_000_000_000), None); // the first window begins
        assert_eq!(pauses.due_ns(1_004_000_000), None);
        assert_eq!(pauses.due_ns(1_005_000_000), Some(300_000));
        pauses.slept(100_000);
        assert_eq!(pauses.due_ns(1_010_000_000), Some(200_000));
        pauses.slept(300_000);
        assert_eq!(pauses.due_ns(1_015_000_000), None);
    }
}

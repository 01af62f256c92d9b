//! A limit on busy waiting.

/// A real-time thread that uses its core for 95 % of a second is stopped by the kernel for the rest of it, so spinning
/// stays well below.
const MAX_DUTY: f64 = 0.8;
const WINDOW_NS: u64 = 100_000_000;

/// Decides whether waiting for a packet's time may be spent spinning.
pub struct SpinBudget {
    spin_ns: u64,
    window_start_ns: u64,
    spent_ns: u64,
}

impl SpinBudget {
    /// Spins for the last `spin_ns` before a packet is due; 0 never spins.
    pub fn new(spin_ns: u64) -> Self {
        Self { spin_ns, window_start_ns: 0, spent_ns: 0 }
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
        let spent = self.spent_ns + spin_ns;
        if spin_ns == 0 || spent as f64 > WINDOW_NS as f64 * MAX_DUTY {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_spinning_it_sleeps_to_the_end() {
        let mut budget = SpinBudget::new(0);
        assert_eq!(budget.sleep_ns(100, 1_100), Some(1_000));
        assert_eq!(budget.sleep_ns(1_100, 1_100), None);
        assert_eq!(budget.sleep_ns(1_200, 1_100), None);
    }

    #[test]
    fn it_wakes_early_and_then_spins() {
        let mut budget = SpinBudget::new(50_000);
        assert_eq!(budget.sleep_ns(0, 1_000_000), Some(950_000));
        assert_eq!(budget.sleep_ns(950_000, 1_000_000), None);
    }

    #[test]
    fn beyond_its_duty_it_sleeps_until_the_next_window() {
        let mut budget = SpinBudget::new(50_000);
        budget.sleep_ns(200_000_000, 200_100_000);
        budget.spent(80_000_000);
        assert_eq!(budget.sleep_ns(280_000_000, 280_040_000), Some(40_000));
        assert_eq!(budget.sleep_ns(300_000_000, 300_040_000), None);
    }
}

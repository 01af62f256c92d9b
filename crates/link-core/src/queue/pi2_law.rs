//! The base probability of `PI2`: a proportional-integral controller of the queueing delay, whose output is squared for
//! Classic traffic (De Schepper et al., "PI2: A Linearized AQM for both Classic and Scalable TCP", `CoNEXT` 2016;
//! RFC 9332, appendix A).

const NS_PER_S: f64 = 1e9;

/// The controller: p' moves with the distance of the delay from its target, and with the delay's change.
#[derive(Debug, Clone)]
pub(crate) struct Pi2 {
    target_s: f64,
    update_ns: u64,
    alpha_hz: f64,
    beta_hz: f64,
    /// The largest p'.
    most: f64,
    probability: f64,
    last_delay_s: f64,
    next_ns: u64,
}

impl Pi2 {
    pub fn new(target_ns: u64, update_ns: u64, alpha_hz: f64, beta_hz: f64, most: f64) -> Self {
        Self {
            target_s: target_ns as f64 / NS_PER_S,
            update_ns,
            alpha_hz,
            beta_hz,
            most,
            probability: 0.0,
            last_delay_s: 0.0,
            next_ns: update_ns,
        }
    }

    /// Returns p', the base probability.
    pub fn probability(&self) -> f64 {
        self.probability
    }

    /// Makes the updates that were due until now. Between two calls no queue may have changed, so that the delay at each
    /// update follows from `oldest_ns`: when the packet came that has waited for longest, None where none waits.
    pub fn update(&mut self, now_ns: u64, oldest_ns: Option<u64>) {
        while self.next_ns <= now_ns {
            if oldest_ns.is_none() && self.probability == 0.0 && self.last_delay_s == 0.0 {
                // Nothing changes any more while nothing waits.
                self.next_ns += (now_ns - self.next_ns) / self.update_ns * self.update_ns + self.update_ns;
                return;
            }
            let delay_s = oldest_ns.map_or(0, |oldest_ns| self.next_ns.saturating_sub(oldest_ns)) as f64 / NS_PER_S;
            let change = self.alpha_hz * (delay_s - self.target_s) + self.beta_hz * (delay_s - self.last_delay_s);
            self.probability = (self.probability + change).clamp(0.0, self.most);
            self.last_delay_s = delay_s;
            self.next_ns += self.update_ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn close(one: f64, other: f64) {
        assert!((one - other).abs() < 1e-12, "{one} instead of {other}");
    }

    #[test]
    fn the_probability_follows_distance_and_change() {
        let mut law = Pi2::new(15 * MS, 16 * MS, 0.16, 3.2, 1.0);
        law.update(15 * MS, Some(0));
        close(law.probability(), 0.0);
        law.update(16 * MS, Some(0));
        close(law.probability(), 0.16 * 0.001 + 3.2 * 0.016);
        // The delay stays: what is left is the integral part.
        law.update(32 * MS, Some(16 * MS));
        close(law.probability(), 2.0 * 0.16 * 0.001 + 3.2 * 0.016);
    }

    #[test]
    fn updates_that_are_made_late_are_the_same() {
        let mut often = Pi2::new(15 * MS, 16 * MS, 0.16, 3.2, 1.0);
        let mut once = often.clone();
        (0..=500).for_each(|ms| often.update(ms * MS, Some(3 * MS)));
        once.update(500 * MS, Some(3 * MS));
        close(once.probability(), often.probability());
        assert!(once.probability() > 0.9);
    }

    #[test]
    fn it_is_bounded_and_decays_to_nothing_while_nothing_waits() {
        let mut law = Pi2::new(15 * MS, 16 * MS, 0.16, 3.2, 0.5);
        law.update(10_000 * MS, Some(0));
        close(law.probability(), 0.5);
        law.update(1_000_000 * MS, None);
        close(law.probability(), 0.0);
        law.update(1_000_000 * MS + 16 * MS, Some(1_000_000 * MS));
        assert!(law.probability() > 0.0 && law.next_ns > 1_000_000 * MS && law.next_ns <= 1_000_032 * MS);
    }
}

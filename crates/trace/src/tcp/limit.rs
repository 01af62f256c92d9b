//! When a limit of the kernel's TCP holds, by the counter of the time in which it did.

/// The longest tick of a kernel's clock (`CONFIG_HZ` = 100). The counters grow by whole ticks: one that has not grown for
/// two has stopped, at the latest a tick after it last grew.
const TICK_NS: i64 = 10_000_000;

/// A limit as samples of its counter show it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limit {
    /// When the counter last grew; None: the limit does not hold.
    grew_ns: Option<i64>,
}

/// What a sample shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edge {
    /// The limit holds from now on.
    Begun,
    /// It has not held since this time.
    Ended(i64),
}

impl Limit {
    /// Takes a sample: whether the counter has grown since the one before.
    pub fn sample(&mut self, time_ns: i64, grew: bool) -> Option<Edge> {
        if grew {
            return self.grew_ns.replace(time_ns).is_none().then_some(Edge::Begun);
        }
        let ended_ns = self.grew_ns.filter(|grew_ns| time_ns - grew_ns >= 2 * TICK_NS)? + TICK_NS;
        self.grew_ns = None;
        Some(Edge::Ended(ended_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn a_limit_holds_until_its_counter_rests_for_two_ticks() {
        let mut limit = Limit::default();
        let samples =
            [(0, false), (5, true), (10, false), (15, true), (25, true), (35, false), (44, false), (45, false)];
        let edges: Vec<_> = samples.into_iter().filter_map(|(ms, grew)| limit.sample(ms * MS, grew)).collect();
        assert_eq!(edges, [Edge::Begun, Edge::Ended(35 * MS)]);
        assert_eq!(limit.sample(100 * MS, false), None);
        assert_eq!(limit.sample(110 * MS, true), Some(Edge::Begun));
    }
}

//! A congestion controller of noq's whose window stays within bounds.

use std::any::Any;
use std::sync::Arc;
use std::time::{Duration, Instant};

use noq::congestion::{Controller, ControllerFactory, ControllerMetrics};
use noq_proto::RttEstimator;

/// The smallest and the largest window, in packets of the size that the path takes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bounds {
    pub least: Option<u64>,
    pub most: Option<u64>,
}

/// Makes controllers whose window stays within bounds.
pub struct BoundedConfig {
    pub inner: Arc<dyn ControllerFactory + Send + Sync>,
    pub bounds: Bounds,
    /// Whether the window grows by acknowledgements, which are then withheld at its largest; a model needs them all.
    pub grows_by_acks: bool,
}

impl ControllerFactory for BoundedConfig {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let inner = self.inner.clone().build(now, current_mtu);
        Box::new(Bounded { inner, bounds: self.bounds, grows_by_acks: self.grows_by_acks, mtu: current_mtu.into() })
    }
}

#[derive(Debug)]
struct Bounded {
    inner: Box<dyn Controller>,
    bounds: Bounds,
    grows_by_acks: bool,
    mtu: u64,
}

impl Bounded {
    fn within(&self, window: u64) -> u64 {
        let window = self.bounds.least.map_or(window, |packets| window.max(packets * self.mtu));
        self.bounds.most.map_or(window, |packets| window.min(packets * self.mtu))
    }

    fn is_full(&self) -> bool {
        self.bounds.most.is_some_and(|packets| self.inner.window() >= packets * self.mtu)
    }
}

impl Controller for Bounded {
    fn on_sent(&mut self, now: Instant, bytes: u64, largest: u64) {
        self.inner.on_sent(now, bytes, largest);
    }

    fn on_packet_sent(&mut self, now: Instant, bytes: u16, number: u64) {
        self.inner.on_packet_sent(now, bytes, number);
    }

    fn on_cwnd_limited(&mut self) {
        self.inner.on_cwnd_limited();
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, number: u64, app_limited: bool, rtt: &RttEstimator) {
        if !(self.grows_by_acks && self.is_full()) {
            self.inner.on_ack(now, sent, bytes, number, app_limited, rtt);
        }
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        self.inner.on_end_acks(now, in_flight, app_limited, largest);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        is_ecn: bool,
        lost_bytes: u64,
        largest_lost: u64,
    ) {
        self.inner.on_congestion_event(now, sent, is_persistent_congestion, is_ecn, lost_bytes, largest_lost);
    }

    fn on_packet_lost(&mut self, bytes: u16, number: u64, now: Instant) {
        self.inner.on_packet_lost(bytes, number, now);
    }

    fn on_spurious_congestion_event(&mut self) {
        self.inner.on_spurious_congestion_event();
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.mtu = new_mtu.into();
        self.inner.on_mtu_update(new_mtu);
    }

    fn on_ack_frequency_update(&mut self, threshold: u64, max_ack_delay: Duration) {
        self.inner.on_ack_frequency_update(threshold, max_ack_delay);
    }

    fn window(&self) -> u64 {
        self.within(self.inner.window())
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = self.inner.metrics();
        metrics.congestion_window = self.window();
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self { inner: self.inner.clone_box(), ..*self })
    }

    fn initial_window(&self) -> u64 {
        self.within(self.inner.initial_window())
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

//! One connection of the kernel's TCP → events.
//!
//! A probe shows a socket as it was before a segment was processed. Its values were therefore made by the segment before
//! it, and its rows have that one's time, unless a sample or a change of the congestion state shows that it came later.

use std::collections::VecDeque;

use super::limit::Limit;
use super::message::Message;
use super::metrics::Metrics;
use crate::event::{Event, Kind, Source, Vantage};
use crate::writer::{EventWriter, Halt};

const STATES: [&str; 5] = ["Open", "Disorder", "CWR", "Recovery", "Loss"];
const OPEN: u8 = 0;
const DISORDER: u8 = 1;
const CWR: u8 = 2;
const RECOVERY: u8 = 3;
const LOSS: u8 = 4;

const ESTABLISHED: u64 = 1;
const SYN_SENT: u64 = 2;
const SYN_RECEIVED: u64 = 3;
const FIN_WAIT_1: u64 = 4;
const TIME_WAIT: u64 = 6;
const CLOSE: u64 = 7;
const LAST_ACK: u64 = 9;
const NEW_SYN_RECEIVED: u64 = 12;

/// The tracepoints of the recording; the events of missing ones are found less exactly from samples.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "four tracepoints, each there or not whatever the others are")]
pub struct Has {
    /// Every segment that arrives.
    pub probes: bool,
    /// Every change of the congestion state.
    pub states: bool,
    /// Every retransmission.
    pub retransmissions: bool,
    /// Every step of the connection's life.
    pub life: bool,
}

/// A probe's values.
#[derive(Debug, Clone, Copy)]
pub struct Probe {
    /// When the segment arrived.
    pub time_ns: i64,
    /// When the one before it did; None for the first.
    pub since_ns: Option<i64>,
    /// Sequence number of the next new byte.
    pub snd_nxt: u32,
    /// Of the oldest byte that is not acknowledged.
    pub snd_una: u32,
    /// Segments.
    pub cwnd: i64,
    /// Segments.
    pub ssthresh: i64,
    /// µs.
    pub srtt_us: i64,
}

struct Acknowledged {
    una: u32,
    bytes: i64,
    /// What the kernel counts beside it: it counts a client's SYN too.
    beyond: Option<i64>,
}

/// A sample that waits for the next probe.
pub struct Waiting {
    /// When.
    pub time_ns: i64,
    /// The sender's numbers at that time.
    pub metrics: Metrics,
    /// Bytes acknowledged as the kernel counts them.
    pub bytes_acked: Option<i64>,
}

/// The counters of a sample: numbers that only grow.
#[derive(Clone, Copy)]
pub struct Counters {
    pub limited_us: [Option<u64>; 2],
    pub retransmissions: Option<i64>,
    pub timeouts: Option<i64>,
}

/// The state of a connection so far.
pub struct Connection {
    blank: Event,
    pub(super) has: Has,
    pub(super) mss: Option<i64>,
    pub(super) metrics: Metrics,
    acknowledged: Option<Acknowledged>,
    /// Samples that wait for the next probe, which shows the segment that they saw the result of.
    pub(super) waiting: VecDeque<Waiting>,
    pub(super) sampled: Option<Counters>,
    state: u8,
    state_since_ns: i64,
    timeouts: i64,
    pub(super) app_limited: bool,
    /// The receive window and the send buffer.
    pub(super) limits: [Limit; 2],
    pub(super) bbr: Option<&'static str>,
    pub(super) initial_window: Option<i64>,
}

impl Connection {
    /// One of which nothing has happened yet.
    pub fn new(
        number: u32,
        vantage: Vantage,
        flow: &str,
        mss: Option<i64>,
        has: Has,
        writer: &mut EventWriter,
    ) -> Self {
        let blank = Event::new(0, vantage, Source::Tcp, Kind::Metrics);
        Self {
            blank: Event { connection: number, flow: writer.text(flow), ..blank },
            has,
            mss,
            metrics: Metrics::default(),
            acknowledged: None,
            waiting: VecDeque::new(),
            sampled: None,
            state: OPEN,
            state_since_ns: i64::MIN,
            timeouts: 0,
            app_limited: false,
            limits: [Limit::default(); 2],
            bbr: None,
            initial_window: None,
        }
    }

    pub(super) fn row(&self, time_ns: i64, kind: Kind) -> Event {
        Event { time_ns, kind, ..self.blank }
    }

    pub(super) fn learn(&mut self, time_ns: i64, now: &Metrics, writer: &mut EventWriter) -> Result<(), Halt> {
        match self.metrics.learn(now) {
            Some(news) => writer.push(news.fill(&self.row(time_ns, Kind::Metrics))),
            None => Ok(()),
        }
    }

    /// A segment arrived.
    pub fn probe(&mut self, probe: &Probe, writer: &mut EventWriter) -> Result<(), Halt> {
        let made_ns = probe.since_ns.unwrap_or(probe.time_ns);
        self.initial_window = self.initial_window.or(Some(probe.cwnd));
        let mut window = Metrics::of_window(Some(probe.cwnd), Some(probe.ssthresh), Some(probe.srtt_us), self.mss);
        if self.state == OPEN {
            window.in_flight_bytes = Some(i64::from(probe.snd_nxt.wrapping_sub(probe.snd_una)));
        }
        let advance = self.advance(probe.snd_una);
        let mut at_ns = made_ns;
        for sample in std::mem::take(&mut self.waiting) {
            if at_ns == made_ns && made_ns <= sample.time_ns {
                // The first sample after a segment: what is new in it, that segment has made.
                let Metrics { cwnd_bytes, ssthresh_bytes, srtt_ns, .. } = sample.metrics;
                let made = Metrics { cwnd_bytes, ssthresh_bytes, srtt_ns, ..Metrics::default() };
                self.learn(self.not_before_state(made_ns, sample.time_ns), &made, writer)?;
            }
            if made_ns <= sample.time_ns {
                at_ns = sample.time_ns;
                if let Some(acknowledged) = &mut self.acknowledged {
                    acknowledged.beyond = sample.bytes_acked.map(|bytes| bytes.saturating_sub(acknowledged.bytes));
                }
            }
            self.learn(sample.time_ns, &sample.metrics, writer)?;
        }
        if advance > 0 {
            window.acked_bytes = self.acknowledged.as_ref().map(|acknowledged| acknowledged.bytes);
            writer.push(Event {
                packet_number: Some(i64::from(probe.snd_una)),
                size_bytes: Some(advance),
                acked_bytes: window.acked_bytes,
                ..self.row(made_ns, Kind::PacketAcked)
            })?;
        }
        self.learn(self.not_before_state(at_ns, probe.time_ns), &window, writer)
    }

    /// The later of a time and the last change of the congestion state, where that lies before another.
    fn not_before_state(&self, time_ns: i64, before_ns: i64) -> i64 {
        if self.state_since_ns <= before_ns { time_ns.max(self.state_since_ns) } else { time_ns }
    }

    /// How many bytes are newly acknowledged.
    fn advance(&mut self, una: u32) -> i64 {
        let Some(acknowledged) = &mut self.acknowledged else {
            self.acknowledged = Some(Acknowledged { una, bytes: 0, beyond: None });
            return 0;
        };
        let advance = i64::from(una.wrapping_sub(acknowledged.una) as i32);
        if advance > 0 {
            acknowledged.una = una;
            acknowledged.bytes += advance;
        }
        advance
    }

    /// No probe will come any more: the last samples show how much the last segments acknowledged.
    pub fn end(&mut self, writer: &mut EventWriter) -> Result<(), Halt> {
        for sample in std::mem::take(&mut self.waiting) {
            self.learn(sample.time_ns, &sample.metrics, writer)?;
            self.catch_up(&sample, writer)?;
        }
        Ok(())
    }

    fn catch_up(&mut self, sample: &Waiting, writer: &mut EventWriter) -> Result<(), Halt> {
        let Some(acknowledged) = &mut self.acknowledged else { return Ok(()) };
        let (Some(kernels), Some(beyond)) = (sample.bytes_acked, acknowledged.beyond) else { return Ok(()) };
        let advance = kernels.saturating_sub(beyond).saturating_sub(acknowledged.bytes);
        if advance <= 0 {
            return Ok(());
        }
        acknowledged.bytes = acknowledged.bytes.saturating_add(advance);
        acknowledged.una = acknowledged.una.wrapping_add(advance as u32);
        let (una, bytes) = (acknowledged.una, acknowledged.bytes);
        writer.push(Event {
            packet_number: Some(i64::from(una)),
            size_bytes: Some(advance),
            acked_bytes: Some(bytes),
            ..self.row(sample.time_ns, Kind::PacketAcked)
        })?;
        self.learn(sample.time_ns, &Metrics { acked_bytes: Some(bytes), ..Metrics::default() }, writer)
    }

    /// Congestion control entered a state.
    pub fn congestion(&mut self, time_ns: i64, state: u8, writer: &mut EventWriter) -> Result<(), Halt> {
        if state == LOSS {
            self.timeouts += 1;
            self.timeout(time_ns, self.timeouts, writer)?;
        } else {
            self.timeouts = 0;
        }
        self.enter(time_ns, state, writer)
    }

    pub(super) fn timeout(&mut self, time_ns: i64, count: i64, writer: &mut EventWriter) -> Result<(), Halt> {
        let name = writer.text("rto");
        writer.push(Event { name, value: Some(count as f64), ..self.row(time_ns, Kind::Pto) })
    }

    pub(super) fn enter(&mut self, time_ns: i64, state: u8, writer: &mut EventWriter) -> Result<(), Halt> {
        self.state_since_ns = time_ns;
        if state == self.state {
            return Ok(());
        }
        self.state = state;
        let name = match state {
            OPEN | DISORDER => self.growth(),
            CWR | RECOVERY => Some("recovery"),
            LOSS => Some("timeout"),
            _ => None,
        };
        let name = name.and_then(|name| writer.text(name));
        let detail = STATES.get(usize::from(state)).and_then(|own| writer.text(own));
        writer.push(Event { name, detail, ..self.row(time_ns, Kind::CongestionState) })
    }

    /// How the window grows while nothing is lost, as far as the last known figures show.
    fn growth(&self) -> Option<&'static str> {
        if self.bbr.is_some() {
            return self.bbr;
        }
        let cwnd = self.metrics.cwnd_bytes?;
        let slow = self.metrics.ssthresh_bytes.is_none_or(|threshold| cwnd < threshold);
        Some(if slow { "slow_start" } else { "congestion_avoidance" })
    }

    /// A segment was sent again. The event does not name the segment; the link's log does.
    pub fn retransmission(&mut self, time_ns: i64, socket: u64, writer: &mut EventWriter) -> Result<(), Halt> {
        writer.push(self.row(time_ns, Kind::PacketRetransmitted))?;
        let lost = match self.state {
            RECOVERY => "fast_retransmit",
            LOSS => "rto",
            _ => {
                // Outside of both, an established connection sends again only to probe for the loss of its last segment.
                if !matches!(socket, SYN_SENT | SYN_RECEIVED | NEW_SYN_RECEIVED) {
                    let name = writer.text("tlp");
                    writer.push(Event { name, value: Some(1.0), ..self.row(time_ns, Kind::Pto) })?;
                }
                return Ok(());
            }
        };
        let name = writer.text(lost);
        writer.push(Event { name, value: Some(1.0), ..self.row(time_ns, Kind::PacketLost) })
    }

    /// The connection went on to another state of its life.
    pub fn life(&mut self, time_ns: i64, old: u64, new: u64, writer: &mut EventWriter) -> Result<(), Halt> {
        match new {
            SYN_SENT => self.milestone(time_ns, "started", "SYN sent", writer),
            ESTABLISHED if matches!(old, SYN_SENT | SYN_RECEIVED) => {
                self.milestone(time_ns, "started", "TCP established", writer)
            }
            FIN_WAIT_1 | LAST_ACK => self.milestone(time_ns, "closing", "FIN sent", writer),
            TIME_WAIT => self.milestone(time_ns, "closed", "TIME-WAIT", writer),
            CLOSE if old != TIME_WAIT => self.milestone(time_ns, "closed", "CLOSED", writer),
            _ => Ok(()),
        }
    }

    /// The other end broke the connection.
    pub fn reset(&mut self, time_ns: i64, writer: &mut EventWriter) -> Result<(), Halt> {
        self.milestone(time_ns, "closing", "reset received", writer)
    }

    /// The kernel has destroyed the socket.
    pub fn gone(&mut self, time_ns: i64, message: &Message, writer: &mut EventWriter) -> Result<(), Halt> {
        self.end(writer)?;
        let bytes_acked = message.bytes_acked();
        self.catch_up(&Waiting { time_ns, metrics: Metrics::default(), bytes_acked }, writer)?;
        if self.has.life { Ok(()) } else { self.milestone(time_ns, "closed", "destroyed", writer) }
    }

    fn milestone(&self, time_ns: i64, name: &str, detail: &str, writer: &mut EventWriter) -> Result<(), Halt> {
        let (name, detail) = (writer.text(name), writer.text(detail));
        writer.push(Event { name, detail, ..self.row(time_ns, Kind::Milestone) })
    }
}

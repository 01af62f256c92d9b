//! Rows from samples of a socket: everything that no tracepoint reports, or all rows where there are no tracepoints.

use super::connection::{Connection, Counters, Waiting};
use super::limit::Edge;
use super::message::Message;
use super::metrics::Metrics;
use crate::event::{Event, Kind};
use crate::writer::{EventWriter, Halt};

/// Samples that wait for a probe; a sender that hears nothing for so long is idle.
const MOST_WAITING: usize = 64;

impl Connection {
    /// The socket was asked.
    pub fn sample(&mut self, time_ns: i64, message: &Message, writer: &mut EventWriter) -> Result<(), Halt> {
        if !message.has_info() {
            return Ok(());
        }
        self.mss = message.mss().or(self.mss);
        if self.sampled.is_none() {
            self.parameters(time_ns, message, writer)?;
        }
        let acked = if self.has.probes { None } else { message.bytes_acked() };
        let before = self.metrics.acked_bytes.unwrap_or(0);
        if let Some(now) = acked.filter(|now| *now > before) {
            let row = self.row(time_ns, Kind::PacketAcked);
            writer.push(Event { size_bytes: Some(now.saturating_sub(before)), acked_bytes: Some(now), ..row })?;
        }
        let metrics = Metrics::of_sample(message, self.mss, acked);
        self.waiting.push_back(Waiting { time_ns, metrics, bytes_acked: message.bytes_acked() });
        while self.waiting.len() > if self.has.probes { MOST_WAITING } else { 0 } {
            let Some(sample) = self.waiting.pop_front() else { break };
            self.learn(sample.time_ns, &sample.metrics, writer)?;
        }
        self.limits(time_ns, message, writer)?;
        self.bbr(time_ns, message, writer)?;
        self.count(time_ns, message, writer)
    }

    fn parameters(&mut self, time_ns: i64, message: &Message, writer: &mut EventWriter) -> Result<(), Halt> {
        let untouched = message.bytes_acked().is_some_and(|bytes| bytes <= 1); // a SYN's acknowledgement may count
        let first = self.initial_window.or(message.cwnd().filter(|_| untouched));
        let detail = serde_json::json!({
            "congestion_control": message.congestion_control,
            "initial_window_packets": first,
            "mss_bytes": self.mss,
        });
        let (name, detail) = (writer.text("recovery"), writer.text(&detail.to_string()));
        writer.push(Event { name, detail, ..self.row(time_ns, Kind::Parameters) })
    }

    fn limits(&mut self, time_ns: i64, message: &Message, writer: &mut EventWriter) -> Result<(), Halt> {
        if let Some(limited) = message.app_limited().filter(|limited| *limited != self.app_limited) {
            self.app_limited = limited;
            let value = Some(f64::from(u8::from(limited)));
            writer.push(Event { value, ..self.row(time_ns, Kind::AppLimited) })?;
        }
        let now = [message.receive_window_limited_us(), message.send_buffer_limited_us()];
        let before = self.sampled.map_or([Some(0); 2], |sampled| sampled.limited_us);
        let limits = [("receive_window", message.send_window()), ("send_buffer", message.send_buffer())];
        for (number, (name, limit)) in limits.into_iter().enumerate() {
            let grew = now[number] > before[number];
            let name = writer.text(name);
            match self.limits[number].sample(time_ns, grew) {
                Some(Edge::Begun) => {
                    let (value, detail) = (limit.map(|bytes| bytes as f64), writer.text("state"));
                    writer.push(Event { name, detail, value, ..self.row(time_ns, Kind::Blocked) })?;
                }
                Some(Edge::Ended(ended_ns)) => {
                    let detail = writer.text("ended");
                    writer.push(Event { name, detail, ..self.row(ended_ns, Kind::Blocked) })?;
                }
                None => {}
            }
        }
        Ok(())
    }

    /// BBR does not name its state, but each has gains of its own (`bbr_update_gains` of Linux).
    fn bbr(&mut self, time_ns: i64, message: &Message, writer: &mut EventWriter) -> Result<(), Halt> {
        const UNIT: u32 = 256;
        let Some((pacing, window)) = message.bbr_gains else { return Ok(()) };
        let state = match (pacing, window) {
            (0, 0) => "bbr_startup", // before its first acknowledgement
            (pacing, window) if window > 2 * UNIT => {
                if pacing > UNIT {
                    "bbr_startup"
                } else {
                    "bbr_drain"
                }
            }
            (_, window) if window == 2 * UNIT => "bbr_probe_bandwidth",
            (UNIT, UNIT) => "bbr_probe_rtt",
            _ => {
                let problem = format!("the gains {pacing}/{UNIT} and {window}/{UNIT} are of no state of BBR");
                writer.account.skip("unknown gains of BBR", 0, 0, problem);
                return Ok(());
            }
        };
        if self.bbr.replace(state) == Some(state) {
            return Ok(());
        }
        let detail = writer.text(&format!("pacing gain {pacing}/{UNIT}, window gain {window}/{UNIT}"));
        let name = writer.text(state);
        writer.push(Event { name, detail, ..self.row(time_ns, Kind::State) })
    }

    /// Events that tracepoints would report one by one, as differences of counters.
    fn count(&mut self, time_ns: i64, message: &Message, writer: &mut EventWriter) -> Result<(), Halt> {
        let now = Counters {
            limited_us: [message.receive_window_limited_us(), message.send_buffer_limited_us()],
            retransmissions: message.retransmissions(),
            timeouts: message.timeouts(),
        };
        let before = self.sampled.replace(now);
        let grown = |now: Option<i64>, before: Option<i64>| {
            now.zip(before.or(Some(0))).map_or(0, |(now, before)| now.saturating_sub(before))
        };
        if !self.has.states {
            let timeouts = grown(now.timeouts, before.and_then(|before| before.timeouts));
            if timeouts > 0 {
                self.timeout(time_ns, message.backoff().unwrap_or(timeouts).max(1), writer)?;
            }
            if let Some(state) = message.congestion_state() {
                self.enter(time_ns, state, writer)?;
            }
        }
        if !self.has.retransmissions {
            let again = grown(now.retransmissions, before.and_then(|before| before.retransmissions));
            if again > 0 {
                let value = Some(again as f64);
                writer.push(Event { value, ..self.row(time_ns, Kind::PacketRetransmitted) })?;
            }
        }
        Ok(())
    }
}

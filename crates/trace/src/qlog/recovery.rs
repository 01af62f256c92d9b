//! Loss detection and congestion control.

use crate::decimal::scaled;
use crate::event::Kind;
use crate::json::{self, Cursor};
use crate::qlog::metrics::Metrics;
use crate::qlog::record::Record;
use crate::qlog::{Qlog, Refusal, packet, states};
use crate::rows::At;
use crate::writer::EventWriter;

impl Qlog {
    pub(super) fn metrics(&mut self, at: At, record: &Record, writer: &mut EventWriter) -> Result<(), Refusal> {
        let before = self.numbers(at);
        let mut after = before;
        after.update(record.data, &mut self.quirks)?;
        self.metrics.insert((at.connection, at.path), after);
        self.lost_count(at, before.lost_packets, after.lost_packets, writer)?;
        if after.pto_count != before.pto_count {
            self.pto_count(at, after.pto_count, writer)?;
        }
        if after.app_limited != before.app_limited {
            let mut row = self.rows.row(at, Kind::AppLimited);
            row.value = after.app_limited.map(|limited| f64::from(u8::from(limited)));
            writer.push(row)?;
        }
        let numbers = Metrics { app_limited: before.app_limited, lost_packets: before.lost_packets, ..after };
        if numbers != before {
            let mut row = self.rows.row(at, Kind::Metrics);
            after.fill(&mut row);
            row.acked_bytes = Some(self.rows.connections[at.connection].acked_bytes);
            writer.push(row)?;
        }
        Ok(())
    }

    /// The last known numbers of a sender.
    pub(super) fn numbers(&self, at: At) -> Metrics {
        self.metrics.get(&(at.connection, at.path)).copied().unwrap_or_default()
    }

    /// Stacks that only count their losses: a row for what was added.
    fn lost_count(
        &self,
        at: At,
        before: Option<i64>,
        after: Option<i64>,
        writer: &mut EventWriter,
    ) -> Result<(), Refusal> {
        let added = after.unwrap_or(0).saturating_sub(before.unwrap_or(0));
        if added > 0 {
            let mut row = self.rows.row(at, Kind::PacketLost);
            row.value = Some(added as f64);
            writer.push(row)?;
        }
        Ok(())
    }

    /// A count that rises shows that a probe timeout fired, unless the timer's expiry was reported already.
    fn pto_count(&mut self, at: At, count: Option<i64>, writer: &mut EventWriter) -> Result<(), Refusal> {
        let count = count.unwrap_or(0);
        let before = std::mem::replace(&mut self.rows.connections[at.connection].probes, count);
        if count > before {
            self.rows.pto(at, count, writer)?;
        }
        Ok(())
    }

    pub(super) fn congestion_state(
        &mut self,
        at: At,
        record: &Record,
        writer: &mut EventWriter,
    ) -> Result<(), Refusal> {
        let (mut new, mut limited) = (None, None);
        Cursor::new(record.data).object(|key, cursor| {
            if key == b"new" || key == b"state" {
                new = Some(json::text(cursor.scalar()?).into_owned());
            } else if key == b"app_limited" {
                limited = Some(cursor.scalar()?);
            } else {
                cursor.skip()?;
            }
            Ok(())
        })?;
        if let (None, Some(limited)) = (&new, limited) {
            // mvfst: "app limited" and "app unlimited".
            let mut row = self.rows.row(at, Kind::AppLimited);
            row.value = Some(f64::from(u8::from(matches!(limited, b"app limited" | b"true"))));
            return Ok(writer.push(row)?);
        }
        let own = new.ok_or(Refusal::Skip("a congestion state without a name"))?;
        let mut row = self.rows.row(at, Kind::CongestionState);
        row.name = states::state(&own).and_then(|name| writer.text(name));
        row.detail = writer.text(&own);
        Ok(writer.push(row)?)
    }

    /// An event of the loss timer, or, with `any`, of whichever timer its type names: newer drafts have one event for all.
    pub(super) fn loss_timer(
        &mut self,
        at: At,
        record: &Record,
        any: bool,
        writer: &mut EventWriter,
    ) -> Result<(), Refusal> {
        let (mut what, mut timer): (&[u8], &[u8]) = (b"", b"");
        let (mut space, mut delta_ns, mut is_alarm) = (None, None, record.name.ends_with(b"loss_alarm"));
        Cursor::new(record.data).object(|key, cursor| {
            match key {
                b"event_type" => what = cursor.scalar()?,
                b"alarm_count" => {
                    is_alarm = true;
                    cursor.skip()?;
                }
                b"timer_type" | b"type" => timer = cursor.scalar()?,
                b"packet_number_space" => space = packet::space(cursor.scalar()?),
                b"delta" => delta_ns = scaled(cursor.scalar()?, self.header.time_power),
                _ => {
                    cursor.skip()?;
                }
            }
            Ok(())
        })?;
        if any && !matches!(timer.to_ascii_lowercase().as_slice(), b"" | b"ack" | b"pto" | b"loss_timeout") {
            return Err(Refusal::Ignore);
        }
        if is_alarm {
            // mvfst reports the timer when it fires, and so only.
            what = b"expired";
        }
        // Of an event for each: loss_timer_set, loss_timer_expired, loss_timer_cancelled.
        if what.is_empty() {
            what = &record.name[memchr::memrchr(b'_', record.name).map_or(0, |at| at + 1)..];
        }
        let name = match what.to_ascii_lowercase().as_slice() {
            b"set" => "set",
            b"expired" => "expired",
            b"cancelled" | b"canceled" => "cancelled",
            _ => return Err(Refusal::Skip("an unknown event of the loss timer")),
        };
        let mut row = self.rows.row(at, Kind::LossTimer);
        row.name = writer.text(name);
        row.detail = if timer.is_empty() { None } else { writer.text(&json::text(timer)) };
        row.space = space;
        row.value = delta_ns.map(|delta_ns| delta_ns as f64 / 1e9);
        writer.push(row)?;
        if name == "expired" && timer.eq_ignore_ascii_case(b"pto") {
            let known = self.numbers(at).pto_count.unwrap_or(0);
            let probes = &mut self.rows.connections[at.connection].probes;
            *probes = known.max(*probes).saturating_add(1);
            let count = *probes;
            self.rows.pto(at, count, writer)?;
        }
        Ok(())
    }
}

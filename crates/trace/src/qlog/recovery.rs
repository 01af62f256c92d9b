//! Loss detection and congestion control.

use crate::decimal::scaled;
use crate::event::Kind;
use crate::json::{self, Cursor};
use crate::qlog::connection::Metrics;
use crate::qlog::record::Record;
use crate::qlog::{At, LONGEST_FIRST_RTT_S, Qlog, Refusal, packet, states};
use crate::writer::EventWriter;

impl Qlog {
    pub(super) fn metrics(&mut self, at: At, record: &Record, writer: &mut EventWriter) -> Result<(), Refusal> {
        let rtt_power = self.rtt_power.unwrap_or_else(|| self.first_rtt_power(record));
        let connection = &mut self.connections[at.connection];
        let before = connection.metrics;
        let mut after = before;
        after.update(record.data, rtt_power)?;
        connection.metrics = after;
        self.lost_count(at, &after, writer)?;
        if after.pto_count != before.pto_count {
            self.pto_count(at, after.pto_count, writer)?;
        }
        if after.app_limited != before.app_limited {
            let mut row = self.row(at, Kind::AppLimited);
            row.value = after.app_limited.map(|limited| f64::from(u8::from(limited)));
            writer.push(row)?;
        }
        let silent = Metrics { app_limited: before.app_limited, lost_packets: before.lost_packets, ..after };
        if silent != before {
            let mut row = self.row(at, Kind::Metrics);
            after.fill(&mut row);
            row.acked_bytes = Some(self.connections[at.connection].acked_bytes);
            writer.push(row)?;
        }
        Ok(())
    }

    fn first_rtt_power(&mut self, record: &Record) -> i32 {
        let mut first = None;
        let read = Cursor::new(record.data).object(|key, cursor| {
            if key == b"smoothed_rtt" {
                first = scaled(cursor.scalar()?, 9);
            } else {
                cursor.skip()?;
            }
            Ok(())
        });
        let Some(first) = first.filter(|_| read.is_ok()) else { return 6 };
        let power = if Some(first) < scaled(LONGEST_FIRST_RTT_S, 9) { 9 } else { 6 };
        self.rtt_power = Some(power);
        power
    }

    /// Stacks that only count their losses: a row for what was added.
    fn lost_count(&mut self, at: At, after: &Metrics, writer: &mut EventWriter) -> Result<(), Refusal> {
        let Some(total) = after.lost_packets else { return Ok(()) };
        let connection = &mut self.connections[at.connection];
        let added = total.saturating_sub(connection.lost_packets);
        connection.lost_packets = total;
        if added > 0 {
            let mut row = self.row(at, Kind::PacketLost);
            row.value = Some(added as f64);
            writer.push(row)?;
        }
        Ok(())
    }

    /// A count that rises says that a probe timeout fired, unless the timer's expiry said so already.
    fn pto_count(&mut self, at: At, count: Option<i64>, writer: &mut EventWriter) -> Result<(), Refusal> {
        let count = count.unwrap_or(0);
        let told = std::mem::replace(&mut self.connections[at.connection].probes, count);
        if count > told { self.pto_row(at, count, writer) } else { Ok(()) }
    }

    fn pto_row(&self, at: At, count: i64, writer: &mut EventWriter) -> Result<(), Refusal> {
        let mut row = self.row(at, Kind::Pto);
        row.value = Some(count as f64);
        Ok(writer.push(row)?)
    }

    pub(super) fn congestion_state(
        &mut self,
        at: At,
        record: &Record,
        writer: &mut EventWriter,
    ) -> Result<(), Refusal> {
        let mut new = None;
        Cursor::new(record.data).object(|key, cursor| {
            if key == b"new" || key == b"state" {
                new = Some(json::text(cursor.scalar()?).into_owned());
            } else {
                cursor.skip()?;
            }
            Ok(())
        })?;
        let own = new.ok_or(Refusal::Skip("a congestion state without a name"))?;
        let mut row = self.row(at, Kind::CongestionState);
        row.name = states::state(&own).and_then(|name| writer.text(name));
        row.detail = writer.text(&own);
        Ok(writer.push(row)?)
    }

    pub(super) fn loss_timer(&mut self, at: At, record: &Record, writer: &mut EventWriter) -> Result<(), Refusal> {
        let (mut what, mut timer): (&[u8], &[u8]) = (b"", b"");
        let (mut space, mut delta_ns) = (None, None);
        Cursor::new(record.data).object(|key, cursor| {
            match key {
                b"event_type" => what = cursor.scalar()?,
                b"timer_type" => timer = cursor.scalar()?,
                b"packet_number_space" => space = packet::space(cursor.scalar()?),
                b"delta" => delta_ns = scaled(cursor.scalar()?, self.header.time_power),
                _ => {
                    cursor.skip()?;
                }
            }
            Ok(())
        })?;
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
        let mut row = self.row(at, Kind::LossTimer);
        row.name = writer.text(name);
        row.detail = if timer.is_empty() { None } else { writer.text(&json::text(timer)) };
        row.space = space;
        row.value = delta_ns.map(|delta_ns| delta_ns as f64 / 1e9);
        writer.push(row)?;
        if name == "expired" && timer.eq_ignore_ascii_case(b"pto") {
            let connection = &mut self.connections[at.connection];
            let count = connection.metrics.pto_count.unwrap_or(0).max(connection.probes) + 1;
            connection.probes = count;
            self.pto_row(at, count, writer)?;
        }
        Ok(())
    }
}

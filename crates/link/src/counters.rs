//! The counters of the summary.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::record::FIRST_DROP;

/// Packets that fit neither interface nor buffer: segmentation offload was left on.
pub const OVERSIZE: &str = "oversize";
/// Packets beyond what the router keeps in memory.
pub const OVERFLOW: &str = "overflow";

/// The reasons for a drop, in the order of their verdict codes: the stages' own, then the router's.
pub fn drop_reasons() -> Vec<&'static str> {
    let mut reasons: Vec<&'static str> = Vec::new();
    for reason in
        longlook_link_core::stages::ALL.iter().flat_map(|spec| spec.drop_reasons).copied().chain([OVERSIZE, OVERFLOW])
    {
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    reasons
}

/// The log's names of the verdicts: name to code.
pub fn verdicts() -> Value {
    let mut names = BTreeMap::from([("delivered".to_owned(), 0), ("queued".to_owned(), 1)]);
    names.extend(drop_reasons().iter().zip(FIRST_DROP..).map(|(reason, code)| (format!("dropped_{reason}"), code)));
    json!(names)
}

/// Counters of one direction.
#[derive(Debug, Default)]
pub struct Counters {
    pub arrived: u64,
    pub arrived_bytes: u64,
    /// Copies that stages made; they are not among the arrived.
    pub copied: u64,
    pub delivered: u64,
    pub delivered_bytes: u64,
    pub late_over_1ms: u64,
    /// How many packets surgery names.
    pub surgery_named: u64,
    /// Packets and copies that surgery let through where a stage would have dropped or corrupted them.
    pub surgery_forgiven: u64,
    /// Packets and copies that surgery made leave later.
    pub surgery_held: u64,
    /// Answers to packets that were too big; they leave at once and are not among the delivered.
    pub icmp_sent: u64,
    /// Frames that are not IP and pass unshaped; they are not among the arrived.
    pub other_passed: u64,
    /// Such frames for which there was no room.
    pub other_dropped: u64,
    dropped: Vec<(&'static str, u64)>,
}

impl Counters {
    /// Counters of a direction in which surgery names so many packets.
    pub fn new(surgery_named: u64) -> Self {
        let dropped = drop_reasons().into_iter().map(|reason| (reason, 0)).collect();
        Self { surgery_named, dropped, ..Self::default() }
    }

    /// Counts a drop and returns its verdict code.
    pub fn drop_for(&mut self, reason: &str) -> u8 {
        let known = self.dropped.iter_mut().zip(FIRST_DROP..).find(|((name, _), _)| *name == reason);
        let Some(((_, count), code)) = known else {
            unreachable!("the stages' specifications list every reason, and `{reason}` is not among them");
        };
        *count += 1;
        code
    }

    /// arrived + copied − delivered − dropped − `queued`: 0 unless the router has a bug.
    pub fn imbalance(&self, queued: u64) -> i64 {
        let dropped: u64 = self.dropped.iter().map(|(_, count)| count).sum();
        (self.arrived + self.copied) as i64 - (self.delivered + dropped + queued) as i64
    }

    /// The direction's part of the summary.
    pub fn summary(&self, queued: u64, max_queue_bytes: u64) -> Value {
        let mut summary = json!({
            "arrived": self.arrived,
            "copied": self.copied,
            "delivered": self.delivered,
            "queued": queued,
            "arrived_bytes": self.arrived_bytes,
            "delivered_bytes": self.delivered_bytes,
            "max_queue_bytes": max_queue_bytes,
            "late_over_1ms": self.late_over_1ms,
            "surgery_named": self.surgery_named,
            "surgery_forgiven": self.surgery_forgiven,
            "surgery_held": self.surgery_held,
            "icmp_sent": self.icmp_sent,
            "other_passed": self.other_passed,
            "other_dropped": self.other_dropped,
        });
        for (reason, count) in &self.dropped {
            summary[format!("dropped_{reason}")] = json!(count);
        }
        summary
    }
}

/// Whether the measurement can be trusted, as far as the router can see.
#[derive(Debug, Default)]
pub struct Guard {
    /// The longest that a packet or a due departure waited for the router to run.
    pub max_gap_ns: u64,
    /// The latest departure.
    pub max_late_ns: u64,
    /// Packets that the kernel dropped because a ring was full.
    pub ring_drops: u64,
    /// Packets whose checksum was left to hardware: checksum offload was left on.
    pub unfinished_checksums: u64,
    /// Records that the log lost because the disk was too slow.
    pub log_lost: u64,
    pub fifo: bool,
    pub locked_memory: bool,
    pub cpu_ns: u64,
}

impl Guard {
    pub fn gap(&mut self, ns: u64) {
        self.max_gap_ns = self.max_gap_ns.max(ns);
    }

    pub fn summary(&self) -> Value {
        json!({
            "max_gap_ns": self.max_gap_ns,
            "max_late_ns": self.max_late_ns,
            "ring_drops": self.ring_drops,
            "unfinished_checksums": self.unfinished_checksums,
            "log_lost": self.log_lost,
            "fifo": u8::from(self.fifo),
            "locked_memory": u8::from(self.locked_memory),
            "cpu_ns": self.cpu_ns,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_drops_are_those_of_the_header() {
        let mut counters = Counters::new(0);
        let named = verdicts();
        for reason in drop_reasons() {
            let code = counters.drop_for(reason);
            assert_eq!(named[format!("dropped_{reason}")], code);
        }
        assert_eq!(counters.imbalance(0), -(drop_reasons().len() as i64));
    }

    #[test]
    fn every_reason_has_a_counter_even_at_zero() {
        let summary = Counters::new(7).summary(0, 0);
        assert_eq!((&summary["surgery_named"], &summary["surgery_held"]), (&json!(7), &json!(0)));
        for name in ["dropped_loss", "dropped_queue", "dropped_surgery", "dropped_oversize", "dropped_overflow"] {
            assert_eq!(summary[name], 0, "{name}");
        }
    }
}

//! Events per second that are inferred from, over traces of a machine like a congestion controller's.
//!
//! `cargo run --release -p longlook-infer --example speed [EVENTS]...`; one line of JSON each.

use std::time::Instant;

use longlook_infer::{Event, Log, Trace, infer, verify};

/// Kinds, and where each may go: enough states, returns and rare branches to need splits.
const KINDS: [&str; 10] = [
    "init",
    "slow_start",
    "congestion_avoidance",
    "maxed",
    "application_limited",
    "recovery",
    "loss_probe",
    "timeout",
    "drain",
    "close",
];
const NEXT: [&[u16]; 10] =
    [&[1], &[2, 4, 5, 6, 1], &[3, 4, 5, 6], &[2, 5], &[2, 1], &[2, 7, 8], &[5, 2], &[1], &[2], &[]];

fn main() {
    let sizes: Vec<usize> = std::env::args().skip(1).map(|text| text.parse().expect("a number of events")).collect();
    for events in if sizes.is_empty() { vec![100_000, 1_000_000] } else { sizes } {
        let log = traces(events);
        let began = Instant::now();
        let machine = infer(&log).expect("a log");
        let took_s = began.elapsed().as_secs_f64();
        let flaws = verify::flaws(&machine, &log).len();
        println!(
            "{{\"events\":{events},\"traces\":{},\"seconds\":{took_s:.3},\"events_per_s\":{:.0},\"states\":{},\"invariants\":{},\"flaws\":{flaws}}}",
            log.traces.len(),
            events as f64 / took_s,
            machine.states.len(),
            machine.invariants.len(),
        );
    }
}

/// Traces of about 500 events; after a timeout a trace never drains, which one state per kind cannot express.
fn traces(events: usize) -> Log {
    let mut random = 88_172_645_463_325_252_u64;
    let mut draw = |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % below as u64) as usize
    };
    let mut left = events;
    let mut traces = Vec::new();
    while left > 0 {
        let length = left.min(500);
        let mut kind = 0;
        let mut timed_out = false;
        let mut list = Vec::with_capacity(length);
        for at in 0..length {
            list.push(Event { kind, time_ns: at as i64 * 1_000_000 });
            timed_out |= kind == 7;
            kind = NEXT[usize::from(kind)][draw(NEXT[usize::from(kind)].len())];
            if kind == 8 && timed_out || kind == 7 && draw(20) > 0 {
                kind = 2;
            }
        }
        list[length - 1].kind = 9;
        traces.push(Trace { name: format!("trace {}", traces.len()), end_ns: length as i64 * 1_000_000, events: list });
        left -= length;
    }
    Log { kinds: KINDS.map(String::from).to_vec(), traces }
}

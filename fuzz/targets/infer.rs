//! Any log at all: a machine in which `longlook_infer::verify` finds no flaw, or a refusal.

#![no_main]

use longlook_infer::{Event, Log, Trace};
use libfuzzer_sys::fuzz_target;

const MOST_EVENTS: usize = 300;

// A byte is an event of one of the kinds; above those, it ends a trace.
fuzz_target!(|bytes: &[u8]| {
    let Some((&first, rest)) = bytes.split_first() else { return };
    let kinds = usize::from(first % 8) + 1;
    let mut traces = vec![Trace { name: String::new(), events: Vec::new(), end_ns: 0 }];
    for (time_ns, &byte) in rest.iter().take(MOST_EVENTS).enumerate() {
        let time_ns = time_ns as i64;
        let kind = usize::from(byte) % (kinds + 2);
        let Some(trace) = traces.last_mut() else { return };
        trace.end_ns = time_ns;
        if kind <= kinds {
            trace.events.push(Event { kind: kind as u16, time_ns });
        } else {
            traces.push(Trace { name: String::new(), events: Vec::new(), end_ns: time_ns });
        }
    }
    let log = Log { kinds: (0..kinds).map(|kind| format!("k{kind}")).collect(), traces };
    match longlook_infer::infer(&log) {
        Ok(machine) => assert_eq!(longlook_infer::verify::flaws(&machine, &log), []),
        Err(_) => assert!(log.check().is_err()),
    }
});

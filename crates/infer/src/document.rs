//! A machine as the JSON that other programs read (docs/guide/infer.md describes it).

use serde_json::{Value, json};

use crate::graph::{INITIAL, TERMINAL};
use crate::machine::Machine;

/// Version of the document's form.
pub const SCHEMA_VERSION: u32 = 1;

/// The document. What there is much of, per trace, stands in columns.
#[must_use]
pub fn document(machine: &Machine) -> Value {
    let name = |kind: u16| machine.kinds[usize::from(kind)].as_str();
    let states: Vec<Value> = machine
        .states
        .iter()
        .enumerate()
        .map(|(id, state)| {
            let role = match id as u32 {
                INITIAL => "start",
                TERMINAL => "end",
                _ => "state",
            };
            json!({"id": id, "role": role, "name": state.kind.map(name), "visits": state.visits, "time_ns": state.time_ns})
        })
        .collect();
    let transitions: Vec<Value> = machine
        .transitions
        .iter()
        .map(|t| json!({"from": t.from, "to": t.to, "count": t.count, "probability": t.probability}))
        .collect();
    let invariants: Vec<Value> = machine
        .invariants
        .iter()
        .map(|invariant| json!({"relation": invariant.relation, "a": invariant.a.map(name), "b": name(invariant.b)}))
        .collect();
    let (stays, steps) = (&machine.stays, &machine.steps);
    json!({
        "schema_version": SCHEMA_VERSION,
        "events": machine.events,
        "traces": machine.traces,
        "relations": machine.relations,
        "smallest": machine.smallest,
        "states": states,
        "transitions": transitions,
        "invariants": invariants,
        "stays": {
            "trace": stays.iter().map(|stay| stay.trace).collect::<Vec<_>>(),
            "state": stays.iter().map(|stay| stay.state).collect::<Vec<_>>(),
            "visits": stays.iter().map(|stay| stay.visits).collect::<Vec<_>>(),
            "time_ns": stays.iter().map(|stay| stay.time_ns).collect::<Vec<_>>(),
        },
        "steps": {
            "trace": steps.iter().map(|step| step.trace).collect::<Vec<_>>(),
            "transition": steps.iter().map(|step| step.transition).collect::<Vec<_>>(),
            "count": steps.iter().map(|step| step.count).collect::<Vec<_>>(),
        },
    })
}

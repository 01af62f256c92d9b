//! Adding a stage leaves the draws of all others as they are.

use crate::common::{Arrival, Decided, fates_of, kinds};
use longlook_link_core::{PacketInfo, Transport};

const BOTTLENECKS: [&str; 6] = ["codel", "dualpi2", "fq_codel", "rate", "red", "step"];

/// Several flows and sizes, close enough together for queues and reordering.
fn traffic() -> Vec<Arrival> {
    let packet = |number: u64| {
        let size_bytes = [1_500, 1_300, 400, 1_450, 60][number as usize % 5];
        let transport = if number % 4 == 3 { Transport::Tcp } else { Transport::Udp };
        let info = PacketInfo { size_bytes, transport, flow: number % 3, ecn: 0 };
        Arrival { at_ns: number * 700_000 + number % 7 * 50_000, info }
    };
    (0..250).map(packet).collect()
}

/// What a stage does, without where it stands.
fn outcomes(fates: &[Decided]) -> Vec<impl PartialEq + std::fmt::Debug> {
    fates.iter().map(|one| (one.number, one.copy, one.due_ns(), one.reason(), one.fate.edits)).collect()
}

#[test]
fn idle_stages_change_nothing() {
    let plain = fates_of(11, &[], &traffic());
    for kind in kinds::all() {
        assert_eq!(outcomes(&fates_of(11, &[kinds::idle(kind)], &traffic())), outcomes(&plain), "{kind}");
    }
}

#[test]
fn active_stages_are_felt() {
    let plain = fates_of(11, &[], &traffic());
    // The router, which keeps the ports, knows which are too old.
    for kind in kinds::all().filter(|kind| *kind != "nat_timeout") {
        assert_ne!(outcomes(&fates_of(11, &[kinds::active(kind)], &traffic())), outcomes(&plain), "{kind}");
    }
}

#[test]
fn no_kind_disturbs_another_before_or_behind_it() {
    for kind in kinds::all() {
        let alone = fates_of(11, &[kinds::active(kind)], &traffic());
        // A second NAT is refused, and two of a kind have two streams.
        for other in kinds::all().filter(|other| *other != kind) {
            let (own, idle) = (kinds::active(kind), kinds::idle(other));
            // A rate by chance belongs to the number of the bottleneck, whatever its kind, so one before it counts.
            if !(BOTTLENECKS.contains(&kind) && BOTTLENECKS.contains(&other)) {
                let before = fates_of(11, &[idle.clone(), own.clone()], &traffic());
                assert_eq!(outcomes(&before), outcomes(&alone), "{kind} behind {other}");
            }
            // Whatever its draws, the access brings packets back into their order: that is its law.
            if (kind, other) == ("jitter", "access") {
                continue;
            }
            let behind = fates_of(11, &[own, idle], &traffic());
            assert_eq!(outcomes(&behind), outcomes(&alone), "{kind} before {other}");
        }
    }
}

#[test]
fn a_second_stage_of_a_kind_leaves_the_first_as_it_was() {
    for kind in kinds::repeatable() {
        let alone = fates_of(11, &[kinds::active(kind)], &traffic());
        let followed = fates_of(11, &[kinds::active(kind), kinds::idle(kind)], &traffic());
        assert_eq!(outcomes(&followed), outcomes(&alone), "{kind}");
    }
}

/// Whatever a stage in front does to a packet, chance that does not depend on time or queues meets it as before.
#[test]
fn what_happens_to_a_packet_before_does_not_change_its_chance() {
    let chances = ["loss", "gilbert_elliott", "burst_loss", "corrupt", "loss_index", "loss_trace"];
    let verdict = |one: &Decided| (one.reason(), one.fate.edits.corrupt);
    for chance in chances {
        let alone = fates_of(11, &[kinds::active(chance)], &traffic());
        for other in kinds::all().filter(|other| *other != chance) {
            let behind = fates_of(11, &[kinds::active(other), kinds::active(chance)], &traffic());
            let reached = behind.iter().filter(|one| one.reason().is_none_or(|reason| reason == chance));
            for one in reached.filter(|one| one.copy == 0) {
                let expected = verdict(&alone[one.number as usize]);
                let found = (one.reason(), if chance == "corrupt" { one.fate.edits.corrupt } else { 0 });
                assert_eq!(found, expected, "{chance} behind {other}, packet {}", one.number);
            }
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_fates_and_another_seed_others() {
    let drawn =
        ["access", "burst_loss", "corrupt", "duplicate", "gilbert_elliott", "jitter", "loss", "rate", "red", "reorder"];
    for kind in kinds::all() {
        let of = |seed| fates_of(seed, &[kinds::active(kind)], &traffic());
        assert_eq!(of(1), of(1), "{kind}");
        assert!(!drawn.contains(&kind) || of(1) != of(2), "{kind} does not depend on the seed");
    }
}

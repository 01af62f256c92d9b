//! Any link with any traffic: every packet and every copy has one fate, and it does not depend on who asks when.

use longlook_link_core::stages::ALL;
use longlook_link_core::{Event, PacketInfo, Transport, Verdict};
use proptest::prelude::*;

use crate::common::{Arrival, Decided, fates, upward};
use crate::generate::stages;

fn traffic() -> impl Strategy<Value = Vec<Arrival>> {
    let gap = prop_oneof![3 => Just(0_i64), 4 => 1..2_000_000_i64, 2 => 0..100_000_000_i64, 1 => -5_000_000..0_i64];
    let size = prop_oneof![8 => 20..=1_500_u32, 1 => 1_501..=65_535_u32];
    let transport = prop::sample::select(&[Transport::Udp, Transport::Tcp, Transport::Icmp, Transport::Other][..]);
    let one = (gap, size, transport, 0..5_u64, 0..4_u8);
    (0..1_u64 << 60, prop::collection::vec(one, 1..80)).prop_map(|(start_ns, packets)| {
        let mut at_ns = start_ns;
        let arrival = |(gap_ns, size_bytes, transport, flow, ecn)| {
            at_ns = at_ns.saturating_add_signed(gap_ns);
            Arrival { at_ns, info: PacketInfo { size_bytes, transport, flow, ecn } }
        };
        packets.into_iter().map(arrival).collect()
    })
}

proptest! {
    // `fates` asserts that all have one fate.
    #[test]
    fn every_packet_and_copy_has_one_fate(seed: u64, stages in stages(6), traffic in traffic()) {
        let mut latest_ns = 0;
        let came: Vec<u64> = traffic.iter().map(|arrival| { latest_ns = latest_ns.max(arrival.at_ns); latest_ns }).collect();
        for one in fates(&mut upward(seed, &stages), &traffic) {
            prop_assert!(one.copy < 256);
            match one.fate.verdict {
                Verdict::Deliver { due_ns } => prop_assert!(due_ns >= came[one.number as usize]),
                Verdict::Drop { stage, reason } => {
                    let kind = stages[stage]["kind"].as_str().expect("a name");
                    let spec = ALL.iter().find(|spec| spec.kind == kind).expect("registered");
                    prop_assert!(spec.drop_reasons.contains(&reason), "{kind} dropped for {reason}");
                }
            }
        }
    }

    #[test]
    fn fates_do_not_depend_on_how_often_the_link_is_asked(
        seed: u64, stages in stages(4), traffic in traffic(), pauses in prop::collection::vec(0..5_u64, 80)
    ) {
        let expected = fates(&mut upward(seed, &stages), &traffic);
        let (mut direction, mut events, mut latest_ns) = (upward(seed, &stages), Vec::new(), 0);
        for (arrival, parts) in traffic.iter().zip(pauses) {
            // Between two packets, at some moments, whether something is due or not.
            let gap_ns = arrival.at_ns.saturating_sub(latest_ns);
            for part in 0..if latest_ns == 0 { 0 } else { parts } {
                direction.advance(latest_ns + gap_ns * part / parts, &mut events);
            }
            latest_ns = latest_ns.max(arrival.at_ns);
            direction.arrive(arrival.at_ns, &arrival.info, &mut events);
        }
        while let Some(next_ns) = direction.next_event_ns() {
            prop_assert!(next_ns >= latest_ns, "what is due at {} was not done by {}", next_ns, latest_ns);
            direction.advance(next_ns, &mut events);
        }
        let mut found: Vec<Decided> = events
            .into_iter()
            .filter_map(|event| match event {
                Event::Decided { number, copy, fate } => Some(Decided { number, copy, fate }),
                Event::Copied { .. } => None,
            })
            .collect();
        found.sort_by_key(|one| (one.number, one.copy));
        prop_assert_eq!(found, expected);
    }
}

//! Every packet has one fate, and the same arrivals have the same fates.

use longlook_link_core::{Event, Fate, InFlight, PacketInfo, Verdict};
use proptest::prelude::*;

use super::links::{Packet, arrive, delay, direction_of, due_ns, fates, jitter, loss, rate, stages, traffic};

proptest! {
    #[test]
    fn every_packet_is_delivered_dropped_or_inside(seed: u64, stages in stages(), traffic in traffic()) {
        let mut direction = direction_of(seed, &stages);
        let mut inside = InFlight::default();
        let (mut delivered, mut dropped) = (0, 0);
        for (sequence, packet) in (0..).zip(&traffic) {
            while inside.pop_due(packet.at_ns).is_some() {
                delivered += 1;
            }
            match arrive(&mut direction, packet).verdict {
                Verdict::Deliver { due_ns } => inside.push(due_ns, sequence, ()),
                Verdict::Drop { .. } => dropped += 1,
            }
            prop_assert_eq!(sequence + 1, delivered + dropped + inside.len() as u64);
        }
        let left = inside.len() as u64;
        prop_assert_eq!(inside.drain().count() as u64, left);
        prop_assert_eq!(traffic.len() as u64, delivered + dropped + left);
    }

    #[test]
    fn no_packet_leaves_before_it_arrived(seed: u64, stages in stages(), traffic in traffic()) {
        for (packet, fate) in traffic.iter().zip(fates(seed, &stages, &traffic)) {
            prop_assert!(due_ns(&fate).is_none_or(|due_ns| due_ns >= packet.at_ns));
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_fates(seed: u64, stages in stages(), traffic in traffic()) {
        prop_assert_eq!(fates(seed, &stages, &traffic), fates(seed, &stages, &traffic));
    }

    #[test]
    fn what_is_decided_does_not_depend_on_how_often_one_asks(
        seed: u64, traffic in traffic(), asked in prop::collection::vec(0..2_000_000_000_u64, 0..100)
    ) {
        let stages = [delay(20_000_000), jitter(20_000_000, true), rate(5_000_000, 9_000), loss(0.1)];
        let mut direction = direction_of(seed, &stages);
        let (mut events, mut asked) = (Vec::new(), asked);
        asked.sort_unstable();
        let mut asked = asked.into_iter().peekable();
        for packet in &traffic {
            while let Some(at_ns) = asked.next_if(|at_ns| *at_ns <= packet.at_ns) {
                direction.advance(at_ns, &mut events);
            }
            direction.arrive(packet.at_ns, &PacketInfo::of_size(packet.size_bytes), &mut events);
        }
        direction.advance(u64::MAX, &mut events);
        let mut found: Vec<(u64, Fate)> = events
            .into_iter()
            .map(|event| match event {
                Event::Decided { number, fate, .. } => (number, fate),
                Event::Copied { .. } => panic!("nothing copies"),
            })
            .collect();
        found.sort_by_key(|(number, _)| *number);
        let found: Vec<Fate> = found.into_iter().map(|(_, fate)| fate).collect();
        prop_assert_eq!(found, fates(seed, &stages, &traffic));
    }
}

#[test]
fn a_whole_link_in_numbers() {
    // 1500 bytes at 12 Mbit/s take 1 ms; the queue holds two packets.
    let traffic = [0, 0, 0, 900_000, 1_000_000, 5_000_000].map(|at_ns| Packet { at_ns, size_bytes: 1500 });
    let outcome: Vec<(Option<u64>, u64, u32)> = fates(1, &[rate(12_000_000, 3_000), delay(10_000_000)], &traffic)
        .iter()
        .map(|fate| (due_ns(fate), fate.queue_bytes, fate.queue_packets))
        .collect();
    let expected = [
        (Some(11_000_000), 0, 0),
        (Some(12_000_000), 1_500, 1),
        (None, 3_000, 2),
        (None, 3_000, 2),
        (Some(13_000_000), 1_500, 1),
        (Some(16_000_000), 0, 0),
    ];
    assert_eq!(outcome, expected);
}

#[test]
fn a_link_without_stages_passes_packets_at_once() {
    let traffic = [Packet { at_ns: 7, size_bytes: 1500 }];
    assert_eq!(due_ns(&fates(1, &[], &traffic)[0]), Some(7));
}

#[test]
fn a_time_that_goes_back_counts_as_the_one_before() {
    let traffic = [Packet { at_ns: 1_000, size_bytes: 100 }, Packet { at_ns: 400, size_bytes: 100 }];
    assert_eq!(due_ns(&fates(1, &[delay(5)], &traffic)[1]), Some(1_005));
}

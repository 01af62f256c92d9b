use serde_json::{Value, json};

use crate::common::{Decided, MS, Packet, count, decide, stage};

/// One packet of 1500 bytes each millisecond.
const RATE_BPS: u64 = 12_000_000;

fn fq_codel(parameters: &Value) -> Value {
    let mut all = json!({"rate_bps": RATE_BPS});
    all.as_object_mut().expect("an object").extend(parameters.as_object().expect("an object").clone());
    stage("fq_codel", &all)
}

/// Packets of one flow, evenly spaced.
fn stream(flow: u64, size_bytes: u32, gap_ns: u64, until_ns: u64) -> Vec<Packet> {
    (0..until_ns / gap_ns).map(|number| Packet { at_ns: number * gap_ns, size_bytes, flow, ecn: 0 }).collect()
}

fn merged(streams: &[Vec<Packet>]) -> Vec<Packet> {
    let mut all = streams.concat();
    all.sort_by_key(|packet| packet.at_ns);
    all
}

/// When each packet of the flow left, and its size.
fn sent(decided: &[Decided], traffic: &[Packet], flow: u64) -> Vec<(u64, u64)> {
    let own = decided.iter().zip(traffic).filter(|(_, packet)| packet.flow == flow);
    own.filter_map(|(one, packet)| Some((one.due_ns()?, u64::from(packet.size_bytes)))).collect()
}

#[test]
fn saturating_flows_share_within_a_quantum() {
    // One sends 1500 bytes at twice the rate, the other 300 bytes at four times of it.
    for (quantum, seed) in [(300_u64, 1), (1_500, 2), (1_514, 3), (6_000, 4)] {
        let traffic = merged(&[stream(1, 1_500, MS / 2, 3_000 * MS), stream(2, 300, MS / 20, 3_000 * MS)]);
        let decided = decide(seed, &[fq_codel(&json!({"quantum_bytes": quantum, "flows": 65_536}))], &traffic);
        let (large, small) = (sent(&decided, &traffic, 1), sent(&decided, &traffic, 2));
        let mut all: Vec<(u64, i64)> = large.iter().map(|(due_ns, bytes)| (*due_ns, *bytes as i64)).collect();
        all.extend(small.iter().map(|(due_ns, bytes)| (*due_ns, -(*bytes as i64))));
        all.sort_unstable();
        // Both wait from 20 ms on; up to 3 s both still come.
        let both = all.iter().filter(|(due_ns, _)| (20 * MS..3_000 * MS).contains(due_ns));
        let ahead: Vec<i64> = both
            .scan(0, |sum, (_, bytes)| {
                *sum += bytes;
                Some(*sum)
            })
            .collect();
        let spread = ahead.iter().max().expect("some") - ahead.iter().min().expect("some");
        // Deficit round robin (Shreedhar and Varghese 1996): a turn's quantum, and a packet's rest of each flow.
        assert!(spread <= (quantum + 1_500 + 300) as i64, "quantum {quantum}: {spread} bytes");
        assert!(ahead.len() > 4_000);
    }
}

#[test]
fn ten_flows_have_a_tenth_each() {
    let streams: Vec<Vec<Packet>> = (0..10).map(|flow| stream(flow, 1_500, 3 * MS / (flow + 1), 5_000 * MS)).collect();
    let traffic = merged(&streams);
    let decided = decide(5, &[fq_codel(&json!({"flows": 65_536}))], &traffic);
    // Flow f offers (f + 1)/3 of the rate, all of them more than their tenth.
    let shares: Vec<usize> =
        (0..10).map(|flow| sent(&decided, &traffic, flow).iter().filter(|one| one.0 < 5_000 * MS).count()).collect();
    assert!(shares.iter().all(|share| (495..=505).contains(share)), "{shares:?}");
}

#[test]
fn a_sparse_flow_waits_for_one_packet_at_most() {
    // Beside five others that saturate the link, once they are no longer new themselves.
    let mut streams: Vec<Vec<Packet>> = (3..8).map(|flow| stream(flow, 1_500, 2 * MS, 4_000 * MS)).collect();
    streams.push(stream(2, 100, 7_300_001, 4_000 * MS));
    let traffic = merged(&streams);
    let decided = decide(1, &[fq_codel(&json!({"flows": 65_536}))], &traffic);
    let sparse = decided.iter().zip(&traffic).filter(|(_, packet)| packet.flow == 2 && packet.at_ns > 20 * MS);
    for (one, packet) in sparse {
        let due_ns = one.due_ns().expect("a sparse flow loses nothing");
        let delay_ns = due_ns - packet.at_ns;
        // The rest of a packet in transmission, and its own bits.
        assert!(delay_ns <= (1_600 * 8_000_000_000_u64).div_ceil(RATE_BPS), "{delay_ns} ns at {}", packet.at_ns);
    }
    let codel = stage("codel", &json!({"rate_bps": RATE_BPS}));
    let decided = decide(1, &[codel], &traffic);
    let sparse = decided.iter().zip(&traffic).filter(|(_, packet)| packet.flow == 2 && packet.at_ns > 20 * MS);
    let longest = sparse.filter_map(|(one, packet)| Some(one.due_ns()? - packet.at_ns)).max();
    assert!(longest > Some(100 * MS), "what it is without queues of their own: {longest:?}");
}

#[test]
fn a_flow_is_new_again_once_it_had_nothing_to_send() {
    // Flow 1 used 100 bytes of its quantum. If that were kept, its second large packet would have to wait for flow 2.
    let of = |at_ns: u64, flow: u64, size_bytes: u32| Packet { flow, ..Packet::new(at_ns, size_bytes) };
    let later = [of(100 * MS, 1, 1_450), of(100 * MS, 1, 1_450), of(100 * MS, 2, 1_450)];
    let traffic = [vec![of(0, 1, 100)], later.to_vec()].concat();
    let decided = decide(1, &[fq_codel(&json!({"flows": 65_536}))], &traffic);
    assert!(decided[2].due_ns() < decided[3].due_ns());
}

#[test]
fn a_full_queue_drops_from_the_fattest_flow() {
    // As in ns-3's FqCoDelQueueDiscIPFlowsSeparationAndPacketLimit, with one packet in transmission: of flow 1 three
    // wait, of flow 2 comes a second one to a limit of four that wait. Half of flow 1's bytes means two packets.
    let link = fq_codel(&json!({"queue_packets": 5, "flows": 65_536}));
    let flows = [9, 1, 1, 1, 2, 2];
    let traffic: Vec<Packet> = flows.iter().map(|flow| Packet { flow: *flow, ..Packet::new(0, 100) }).collect();
    let decided = decide(1, &[link], &traffic);
    let lost: Vec<bool> = decided.iter().map(|one| one.reason() == Some("queue")).collect();
    assert_eq!(lost, [false, true, true, false, false, false]);
    // It met what they left: one in transmission, one of flow 1 and one of its own.
    assert_eq!((decided[5].fate.queue_packets, decided[5].fate.queue_bytes), (3, 300));
    assert_eq!(decided[4].fate.queue_packets, 4);
}

#[test]
fn no_more_than_64_packets_are_dropped_at_once() {
    let link = fq_codel(&json!({"queue_packets": 1_000}));
    let traffic = vec![Packet::new(0, 1_000); 1_001];
    let decided = decide(1, &[link], &traffic);
    assert_eq!(count(&decided, "queue"), 64);
    assert!(decided[1..65].iter().all(|one| one.reason() == Some("queue")), "from the head of its queue");
    assert_eq!(decided[1_000].fate.queue_packets, 1_000 - 64);
}

#[test]
fn a_byte_limit_holds_with_packets_of_any_size() {
    // The fattest flow has small packets: more than one round of drops makes room for a large one.
    let link = fq_codel(&json!({"queue_bytes": 6_000, "flows": 65_536}));
    let mut traffic: Vec<Packet> = (0..64).map(|flow| Packet { flow, ..Packet::new(0, 90) }).collect();
    traffic.push(Packet { flow: 100, ..Packet::new(1, 1_400) });
    let decided = decide(1, &[link], &traffic);
    // It is the fattest itself.
    assert_eq!(count(&decided, "queue"), 1);
    assert_eq!(decided[64].reason(), Some("queue"));
    assert_eq!((decided[64].fate.queue_bytes, decided[64].fate.queue_packets), (64 * 90, 64));
}

#[test]
fn each_flow_has_a_control_law_of_its_own() {
    // One flow above the rate, one far below: only the first gets a signal.
    let traffic = merged(&[stream(1, 1_500, MS / 2, 2_000 * MS), stream(2, 1_500, 10 * MS, 2_000 * MS)]);
    let decided = decide(1, &[fq_codel(&json!({"flows": 65_536}))], &traffic);
    let early = |flow: u64| {
        decided.iter().zip(&traffic).filter(|(one, packet)| packet.flow == flow && one.reason() == Some("aqm")).count()
    };
    assert!(early(1) > 20);
    assert_eq!(early(2), 0);
}

#[test]
fn which_flows_share_a_queue_depends_on_the_seed() {
    // Two flows in two queues: for about half of the seeds they share one, and then the second gets no turn of its own.
    let traffic =
        [vec![Packet { flow: 1, ..Packet::new(0, 1_500) }; 10], vec![Packet { flow: 2, ..Packet::new(0, 100) }]]
            .concat();
    let shared = (0..200).filter(|seed| {
        let decided = decide(*seed, &[fq_codel(&json!({"flows": 2}))], &traffic);
        decided[10].due_ns() > decided[9].due_ns()
    });
    let shared = shared.count();
    assert!((70..=130).contains(&shared), "{shared} of 200");
}

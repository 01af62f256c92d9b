//! Super-packets, cut and gathered.

use etherparse::{IpHeaders, LaxNetSlice, LaxSlicedPacket, PacketBuilder, TransportSlice};
use proptest::prelude::*;

use super::batch::MAX_SEGMENTS;
use super::*;
use crate::ports::FRAME_BYTES;
use crate::virtio::finish_checksum;

const SEGMENT_BYTES: usize = 1_000;

/// A frame as the kernel hands it over, with `payload_bytes` of payload in segments of 1,000 bytes; one packet if it
/// is no more than that.
fn frame(version: u8, tcp: bool, payload_bytes: usize, flags: u8) -> Vec<u8> {
    let payload: Vec<u8> = (0..payload_bytes).map(|at| (at % 251) as u8).collect();
    let mut frame = vec![0; VIRTIO_BYTES];
    let builder = if version == 4 {
        PacketBuilder::ipv4([10, 8, 0, 1], [10, 8, 0, 2], 64)
    } else {
        PacketBuilder::ipv6([1; 16], [2; 16], 64)
    };
    if tcp {
        builder.tcp(40_000, 443, u32::MAX - 1_500, 1_000).ack(7).write(&mut frame, &payload)
    } else {
        builder.udp(40_000, 443).write(&mut frame, &payload)
    }
    .expect("it fits");
    let transport = frame.len() - payload_bytes - if tcp { 20 } else { 8 };
    if tcp {
        frame[transport + TCP_FLAGS] = flags;
    }
    let several = payload_bytes > SEGMENT_BYTES;
    let mut header = Virtio {
        flags: 1,
        checksum_start: (transport - VIRTIO_BYTES) as u16,
        checksum_offset: if tcp { TCP_CHECKSUM } else { UDP_CHECKSUM },
        ..Virtio::default()
    };
    header.write(&mut frame);
    let shape = Shape::of(&frame).expect("it has one");
    if several {
        header.segmentation = shape.segmentation();
        header.segment_bytes = SEGMENT_BYTES as u16;
        header.header_bytes = (shape.payload - VIRTIO_BYTES) as u16;
    }
    header.write(&mut frame);
    shape.set_length(&mut frame[..shape.payload], payload_bytes);
    frame
}

fn cut(frame: &[u8]) -> Vec<Vec<u8>> {
    let mut cut = Cut::begin(frame).expect("it stands for several");
    let mut packet = [0; FRAME_BYTES];
    std::iter::from_fn(|| cut.next(frame, &mut packet).map(|length| packet[..length].to_vec())).collect()
}

fn gathered(frames: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let (mut batch, mut written) = (Batch::default(), Vec::new());
    for frame in frames {
        if !batch.add(frame) {
            written.push(batch.finished().to_vec());
            batch.clear();
            assert!(batch.add(frame));
        }
    }
    written.push(batch.finished().to_vec());
    written
}

/// Payload, sequence and flags (of TCP) and identification (of IPv4) of a packet whose lengths and checksums are right.
fn checked(frame: &[u8]) -> (Vec<u8>, u32, u8, u16) {
    let mut frame = frame.to_vec();
    finish_checksum(&mut frame);
    let packet = &frame[VIRTIO_BYTES..];
    let sliced = LaxSlicedPacket::from_ip(packet).expect("a packet");
    let (ip, _) = IpHeaders::from_slice(packet).expect("headers");
    let Some(LaxNetSlice::Ipv4(_) | LaxNetSlice::Ipv6(_)) = sliced.net else { panic!("an IP packet") };
    let identification = match &ip {
        IpHeaders::Ipv4(header, _) => {
            assert_eq!(header.header_checksum, header.calc_header_checksum());
            assert_eq!(usize::from(header.total_len), packet.len());
            header.identification
        }
        IpHeaders::Ipv6(header, _) => {
            assert_eq!(usize::from(header.payload_length) + IPV6_HEADER_BYTES, packet.len());
            0
        }
    };
    match sliced.transport {
        Some(TransportSlice::Tcp(tcp)) => {
            let header = tcp.to_header();
            let expected = match &ip {
                IpHeaders::Ipv4(ip, _) => header.calc_checksum_ipv4(ip, tcp.payload()).expect("it fits"),
                IpHeaders::Ipv6(ip, _) => header.calc_checksum_ipv6(ip, tcp.payload()).expect("it fits"),
            };
            assert_eq!(header.checksum, expected);
            (tcp.payload().to_vec(), tcp.sequence_number(), tcp.slice()[TCP_FLAGS], identification)
        }
        Some(TransportSlice::Udp(udp)) => {
            let header = udp.to_header();
            let expected = match &ip {
                IpHeaders::Ipv4(ip, _) => header.calc_checksum_ipv4(ip, udp.payload()).expect("it fits"),
                IpHeaders::Ipv6(ip, _) => header.calc_checksum_ipv6(ip, udp.payload()).expect("it fits"),
            };
            assert_eq!(header.checksum, expected);
            assert_eq!(usize::from(header.length), udp.payload().len() + UDP_HEADER_BYTES);
            (udp.payload().to_vec(), 0, 0, identification)
        }
        other => panic!("neither TCP nor UDP: {other:?}"),
    }
}

#[test]
fn flags_that_concern_one_packet_stay_with_it() {
    let packets = cut(&frame(4, true, 2_500, ACK | PSH | FIN | CWR | ECE));
    let flags: Vec<u8> = packets.iter().map(|packet| checked(packet).2).collect();
    assert_eq!(flags, [ACK | ECE | CWR, ACK | ECE, ACK | ECE | PSH | FIN]);
}

#[test]
fn a_single_packet_is_not_cut() {
    for frame in [frame(4, true, 1_000, ACK), frame(6, false, 10, 0), vec![0; VIRTIO_BYTES], vec![], vec![9; 300]] {
        assert!(Cut::begin(&frame).is_none());
    }
}

#[test]
fn a_super_packet_whose_packets_fit_no_buffer_is_not_cut() {
    let mut frame = frame(4, true, 9_000, ACK);
    Virtio { segment_bytes: FRAME_BYTES as u16, ..Virtio::read(&frame) }.write(&mut frame);
    assert!(Cut::begin(&frame).is_none());
}

#[test]
fn packets_that_do_not_follow_each_other_go_alone() {
    let packets = cut(&frame(4, true, 3_000, ACK));
    let lost = [packets[0].clone(), packets[2].clone()];
    assert_eq!(gathered(&lost), lost);
    let swapped = [packets[1].clone(), packets[0].clone()];
    assert_eq!(gathered(&swapped), swapped);
    let twice = [packets[0].clone(), packets[0].clone()];
    assert_eq!(gathered(&twice), twice);
}

#[test]
fn a_packet_that_was_changed_goes_alone() {
    let packets = cut(&frame(4, true, 3_000, ACK));
    for at in [VIRTIO_BYTES + 1, VIRTIO_BYTES + 8, VIRTIO_BYTES + 21, VIRTIO_BYTES + 20 + 14] {
        let mut changed = packets.clone();
        changed[1][at] ^= 1;
        assert_eq!(gathered(&changed), changed, "byte {at}");
    }
    let mut finished = packets.clone();
    finish_checksum(&mut finished[1]);
    assert_eq!(gathered(&finished), finished);
}

#[test]
fn a_short_packet_and_a_push_are_the_last() {
    let short = [cut(&frame(4, true, 1_500, ACK)), cut(&frame(4, true, 2_000, ACK))].concat();
    assert_eq!(gathered(&short).len(), 2);
    let pushed = [frame(4, true, 1_000, ACK | PSH), frame(4, true, 1_000, ACK)];
    assert_eq!(gathered(&pushed), pushed);
}

#[test]
fn what_may_not_be_gathered_goes_alone() {
    let mut fragments = cut(&frame(4, false, 3_000, 0));
    for fragment in &mut fragments {
        fragment[VIRTIO_BYTES + 6] |= 0x20;
    }
    assert_eq!(gathered(&fragments), fragments);
    let acknowledgements = vec![frame(4, true, 0, ACK); 3];
    assert_eq!(gathered(&acknowledgements), acknowledgements);
}

#[test]
fn no_super_packet_has_more_datagrams_than_a_kernel_takes() {
    let packets = cut(&frame(4, false, 60_000, 0));
    assert!(packets.len() < MAX_SEGMENTS);
    let mut header = frame(4, false, 10_000, 0);
    Virtio { segment_bytes: 100, ..Virtio::read(&header) }.write(&mut header);
    assert_eq!(gathered(&cut(&header)).len(), 2);
}

proptest! {
    #[test]
    fn a_super_packet_is_cut_and_gathered_again(
        version in prop::sample::select(vec![4_u8, 6]),
        tcp in any::<bool>(),
        payload_bytes in SEGMENT_BYTES + 1..62_000_usize,
        push in any::<bool>(),
    ) {
        let whole = frame(version, tcp, payload_bytes, if push { ACK | PSH } else { ACK });
        let packets = cut(&whole);
        prop_assert_eq!(packets.len(), payload_bytes.div_ceil(SEGMENT_BYTES));
        let read: Vec<_> = packets.iter().map(|packet| checked(packet)).collect();
        let payload = read.iter().flat_map(|packet| packet.0.clone()).collect::<Vec<u8>>();
        prop_assert_eq!(&payload[..], &whole[whole.len() - payload_bytes..]);
        for (index, (_, sequence, _, identification)) in read.iter().enumerate() {
            let (first_sequence, first_identification) = (read[0].1, read[0].3);
            if tcp {
                let before = (index * SEGMENT_BYTES) as u32;
                prop_assert_eq!(*sequence, first_sequence.wrapping_add(before));
            }
            if version == 4 {
                prop_assert_eq!(*identification, first_identification.wrapping_add(index as u16));
            }
        }
        prop_assert_eq!(gathered(&packets), [whole]);
    }

    #[test]
    fn any_bytes_are_cut_and_gathered_without_a_crash(
        bytes in prop::collection::vec(any::<u8>(), VIRTIO_BYTES..200),
        first in prop::sample::select(vec![0x45_u8, 0x4f, 0x60]),
        kind in prop::sample::select(vec![0, TCP4, TCP6, UDP]),
        start in 0..60_u16,
        offset in prop::sample::select(vec![TCP_CHECKSUM, UDP_CHECKSUM, 3]),
    ) {
        let mut bytes = bytes;
        if let Some(byte) = bytes.get_mut(VIRTIO_BYTES) {
            *byte = first;
        }
        let header = Virtio {
            flags: 1, segmentation: kind, segment_bytes: 9, checksum_start: start, checksum_offset: offset,
            ..Virtio::default()
        };
        header.write(&mut bytes);
        if Cut::begin(&bytes).is_some() {
            prop_assert!(!cut(&bytes).is_empty());
        }
        let same = [bytes.clone(), bytes];
        let written: usize = gathered(&same).iter().map(Vec::len).sum();
        prop_assert!(written <= same[0].len() * 2);
        let mut finished = same[0].clone();
        finish_checksum(&mut finished);
        prop_assert_eq!(finished.len(), same[0].len());
    }
}

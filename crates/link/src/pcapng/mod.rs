//! The `pcapng` command: a packet log as a capture file for Wireshark and its like.
//!
//! Each packet stands where it arrived and, if it left, where it left, with headers made from its record and a comment
//! on its fate. The packets themselves are not in the log: what was captured is shorter than they were.

mod blocks;
mod packet;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use crate::logfile::LogFile;
use crate::record::{DELIVERED, Record};
use blocks::{Packet, write_interface, write_packet, write_section};
use longlook_support::failure::{Failure, print_line};

/// Later than any machine has run; beyond it a record is damaged.
const MAX_MONOTONIC_NS: u64 = 1 << 62;

/// Name and description, in the order of [`interface`].
const INTERFACES: [(&str, &str); 4] = [
    ("client-up", "client side: packets to the server as they arrive at the link"),
    ("server-up", "server side: packets to the server as they leave the link"),
    ("server-down", "server side: packets to the client as they arrive at the link"),
    ("client-down", "client side: packets to the client as they leave the link"),
];

/// The arguments of the command.
#[derive(Args)]
pub struct Options {
    /// The packet log
    log: PathBuf,
    /// The capture file to write
    out: PathBuf,
}

/// What was found in a log.
pub struct Counts {
    /// Whole records.
    pub records: u64,
    /// Packets in the capture file.
    pub packets: u64,
    /// Records that make no sense, which are left out.
    pub damaged_records: u64,
    /// Length of a last record that was cut off.
    pub truncated_bytes: u64,
}

/// Writes the capture file and prints its counts.
pub fn run(options: &Options) -> Result<(), Failure> {
    let found = export(&options.log, &options.out)?;
    print_line(&json!({"event": "pcapng", "records": found.records, "packets": found.packets,
        "damaged_records": found.damaged_records, "truncated_bytes": found.truncated_bytes}))
}

/// Writes the capture file of a log.
pub fn export(path: &Path, out: &Path) -> Result<Counts, Failure> {
    let mut log = LogFile::open(path)?;
    if is_same_file(path, out) {
        let reason = format!("{} is the log itself, which would be lost", out.display());
        return Err(Failure::usage(reason).hint("name another file for the capture: OUT.pcapng"));
    }
    let (moments, damaged_records) =
        moments(&mut log).map_err(|error| Failure::new(format!("{} cannot be read: {error}", path.display())))?;
    write(out, &log, &moments)
        .map_err(|error| Failure::new(format!("{} cannot be written: {error}", out.display())))?;
    let (records, truncated_bytes) = (log.count, log.truncated_bytes);
    Ok(Counts { records, packets: moments.len() as u64, damaged_records, truncated_bytes })
}

/// Whether both paths lead to one file, by whatever name or link.
fn is_same_file(one: &Path, other: &Path) -> bool {
    match (one.metadata(), other.metadata()) {
        (Ok(one), Ok(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
        _ => false,
    }
}

/// Something to write: when it was, whether the packet left, and the number of its record.
type Moment = (u64, bool, u64);

/// Everything in order of time, and how many records make no sense.
fn moments(log: &mut LogFile) -> io::Result<(Vec<Moment>, u64)> {
    let mut found = Vec::new();
    let mut skipped = 0;
    log.for_each(|index, record| {
        let times = [record.arrival_ns, record.due_ns, record.departure_ns];
        if record.direction > 1 || times.iter().any(|time_ns| *time_ns >= MAX_MONOTONIC_NS) {
            skipped += 1;
            return;
        }
        // A copy is made inside: only its original arrived.
        if record.copy == 0 {
            found.push((record.arrival_ns, false, index));
        }
        if record.verdict == DELIVERED {
            found.push((record.departure_ns, true, index));
        }
    })?;
    found.sort_unstable();
    Ok((found, skipped))
}

fn write(path: &Path, log: &LogFile, moments: &[Moment]) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let application = concat!("longlook-link ", env!("CARGO_PKG_VERSION"));
    let about = "packet log: headers are made from the log's records, payload was not captured";
    write_section(&mut out, application, &format!("{about}; configuration: {}", log.header["config"]))?;
    for (name, description) in INTERFACES {
        write_interface(&mut out, name, description)?;
    }
    let (mut bytes, mut body) = (Vec::new(), Vec::new());
    for &(time_ns, departed, index) in moments {
        let record = log.read(index)?;
        packet::headers(&record, departed, &mut bytes);
        let shown = Packet {
            interface: interface(&record, departed),
            unix_ns: time_ns.saturating_add_signed(log.unix_minus_monotonic_ns),
            bytes: &bytes,
            original_bytes: record.size_bytes,
            comment: &packet::comment(&record, log),
        };
        write_packet(&mut out, &shown, &mut body)?;
    }
    out.flush()
}

fn interface(record: &Record, departed: bool) -> u32 {
    u32::from(record.direction) * 2 + u32::from(departed)
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::time::Duration;

    use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
    use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
    use pcap_file::pcapng::{Block, PcapNgReader};

    use super::*;
    use crate::log::Log;
    use crate::quic;
    use crate::record::{EDIT_CE, EDIT_FORGIVEN, EDIT_HELD, NO_FLOW, NO_STAGE, QUEUED};
    use longlook_support::clock::Anchor;

    const UNIX_NS: u64 = 1_700_000_000_123_456_789;
    const MS: u64 = 1_000_000;

    fn record(sequence: u64, verdict: u8) -> Record {
        let mut address = [0; 16];
        address[..4].copy_from_slice(&[10, 8, 0, 1]);
        Record {
            arrival_ns: 1000 + sequence * MS,
            sequence,
            size_bytes: 1228,
            payload_bytes: 1200,
            client_port: 40_000,
            server_port: 443,
            verdict,
            stage: NO_STAGE,
            ip_protocol: 17,
            ip_version: 4,
            client_address: address,
            server_address: address,
            ecn: 2,
            ..Record::default()
        }
    }

    /// Interface, time, bytes there are, bytes there were, comment.
    type Shown = (u32, Duration, Vec<u8>, u32, String);

    fn exported(records: &[Record]) -> (Vec<String>, Vec<Shown>) {
        let name = format!("longlook-link-pcapng-{}-{:?}", std::process::id(), std::thread::current().id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir(&folder).expect("it is new");
        let options = Options { log: folder.join("log"), out: folder.join("out") };
        let config = json!({"up": [{"kind": "delay"}, {"kind": "rate"}], "down": []});
        let verdicts = json!({"delivered": 0, "queued": 1, "dropped_queue": 2});
        let clock = Anchor { monotonic_ns: 1000, unix_ns: UNIX_NS };
        let mut log = Log::create(&options.log, &config, &verdicts, clock).expect("it can be made");
        for record in records {
            log.push(*record, 0).expect("the writer lives");
        }
        log.finish().expect("all is written");
        run(&options).expect("the log is good");
        let read = read_back(File::open(&options.out).expect("it is there"));
        std::fs::remove_dir_all(&folder).expect("it can go");
        read
    }

    fn read_back(file: File) -> (Vec<String>, Vec<Shown>) {
        let mut reader = PcapNgReader::new(file).expect("a section header");
        let (mut names, mut packets) = (Vec::new(), Vec::new());
        while let Some(block) = reader.next_block() {
            match block.expect("a good block") {
                Block::InterfaceDescription(interface) => {
                    assert!(interface.options.contains(&InterfaceDescriptionOption::IfTsResol(9)));
                    names.extend(interface.options.iter().find_map(|option| match option {
                        InterfaceDescriptionOption::IfName(name) => Some(name.to_string()),
                        _ => None,
                    }));
                }
                Block::EnhancedPacket(packet) => {
                    let [EnhancedPacketOption::Comment(Cow::Borrowed(comment))] = packet.options[..] else {
                        panic!("each packet has one comment")
                    };
                    let bytes = packet.data.to_vec();
                    let (interface, length) = (packet.interface_id, packet.original_len);
                    packets.push((interface, packet.timestamp, bytes, length, comment.to_owned()));
                }
                _ => panic!("no other block was written"),
            }
        }
        (names, packets)
    }

    #[test]
    fn an_independent_reader_finds_every_packet_at_its_times() {
        let delivered = Record {
            due_ns: 1000 + 12 * MS,
            departure_ns: 5000 + 12 * MS,
            edits: EDIT_CE,
            flow: 0,
            quic_form: quic::INITIAL,
            connection_id: 0x0807_0605_0403_0201,
            connection_id_bytes: 9,
            ..record(0, DELIVERED)
        };
        let copy = Record {
            copy: 1,
            edits: EDIT_FORGIVEN | EDIT_HELD,
            due_ns: 1000 + 13 * MS,
            departure_ns: 1000 + 13 * MS,
            ..delivered
        };
        let dropped = Record { stage: 1, queue_packets: 3, queue_bytes: 4500, flow: 0, ..record(1, 2) };
        let unread = Record {
            direction: 1,
            size_bytes: 60,
            arrival_ns: 1000 + 2 * MS,
            verdict: QUEUED,
            stage: NO_STAGE,
            flow: NO_FLOW,
            ..Record::default()
        };
        let damaged = Record { direction: 7, ..record(9, DELIVERED) };
        let (names, packets) = exported(&[dropped, delivered, copy, unread, damaged]);
        assert_eq!(names, INTERFACES.map(|(name, _)| name));
        let at = |ns: u64| Duration::from_nanos(UNIX_NS + ns);
        let fate = "delivered, 12.0 ms queue+delay, late 4 µs; congestion experienced marked; packet 0 of flow 0; \
                    QUIC Initial to 0102030405060708…";
        let expected = [
            (0, at(0), 28, 1228, fate),
            (
                0,
                at(MS),
                28,
                1228,
                "dropped: queue, stage 1 (rate); met a queue of 3 packets, 4500 bytes; packet 1 of flow 0",
            ),
            (2, at(2 * MS), 0, 60, "still in flight at the end; packet 0"),
            (1, at(12 * MS + 4000), 28, 1228, fate),
            (
                1,
                at(13 * MS),
                28,
                1228,
                "delivered, 13.0 ms queue+delay, late 0 ns; forgiven by surgery; held by surgery; packet 0, copy 1 of flow 0; \
                 QUIC Initial to 0102030405060708…",
            ),
        ];
        assert_eq!(packets.len(), expected.len());
        for (packet, (interface, time, captured, original, comment)) in packets.iter().zip(expected) {
            assert_eq!((packet.0, packet.1, packet.2.len(), packet.3), (interface, time, captured, original));
            assert_eq!(packet.4, comment);
        }
        assert_eq!((packets[0].2[1], packets[3].2[1]), (2, 3));
    }

    #[test]
    fn a_log_is_not_overwritten_by_its_own_capture() {
        let name = format!("longlook-link-pcapng-itself-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir(&folder).expect("it is new");
        let path = folder.join("log");
        let clock = Anchor { monotonic_ns: 1000, unix_ns: UNIX_NS };
        Log::create(&path, &json!({}), &json!({}), clock).expect("it can be made").finish().expect("all is written");
        let before = std::fs::read(&path).expect("it is there");
        std::os::unix::fs::symlink("log", folder.join("link")).expect("it can be made");
        for out in [path.clone(), folder.join("link")] {
            let refusal = run(&Options { log: path.clone(), out }).expect_err("it would be lost");
            assert_eq!((refusal.exit_code, refusal.hint.is_some()), (2, true));
        }
        assert_eq!(std::fs::read(&path).expect("it is there"), before);
        std::fs::remove_dir_all(&folder).expect("it can go");
    }

    #[test]
    fn a_log_without_packets() {
        let (names, packets) = exported(&[]);
        assert_eq!((names.len(), packets.len()), (4, 0));
    }
}

//! Any packet log: a capture file that another reader finds whole, or a refusal.

#![no_main]

use std::fs::File;
use std::io::{BufReader, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;

use libfuzzer_sys::fuzz_target;
use longlook_link::pcapng::export;
use nix::sys::memfd::{MFdFlags, memfd_create};
use pcap_file::pcapng::{Block, PcapNgReader};

/// A capture repeats the names of a log's header for each packet; no file grows beyond this many times the log.
const MOST_GROWTH: u64 = 1000;

fuzz_target!(|bytes: &[u8]| {
    let (log, out) = (file(bytes), file(&[]));
    match export(&path(&log), &path(&out)) {
        Ok(counts) => {
            assert!(counts.packets <= 2 * (counts.records - counts.damaged_records));
            let written = File::open(path(&out)).expect("it was made");
            assert!(written.metadata().expect("it is open").len() <= MOST_GROWTH * (bytes.len() as u64 + 1));
            let mut reader = PcapNgReader::new(BufReader::new(written)).expect("a section");
            let mut packets = 0;
            while let Some(block) = reader.next_block() {
                packets += u64::from(matches!(block.expect("a whole block"), Block::EnhancedPacket(_)));
            }
            assert_eq!(packets, counts.packets);
        }
        Err(failure) => assert_eq!(failure.exit_code, 2, "{failure}"),
    }
});

/// A file that is in memory only.
fn file(bytes: &[u8]) -> File {
    let mut file: File = memfd_create("fuzz", MFdFlags::empty()).map(OwnedFd::into).expect("there is memory");
    file.write_all(bytes).expect("there is memory");
    file
}

fn path(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

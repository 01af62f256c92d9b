//! Frames in memory.

use crate::ports::FRAME_BYTES;
use crate::record::Record;
use crate::translator::Mapping;

/// Half a gigabyte of frames: beyond it the router drops instead of growing without bound.
const MAX_FRAMES: usize = 262_144;
const FIRST_FRAMES: usize = 256;

/// A frame in memory and its record for the log.
pub struct Packet {
    pub bytes: [u8; FRAME_BYTES],
    pub length: usize,
    pub record: Record,
    /// If packets are due at the same time, the one with the lower turn leaves first.
    pub turn: u64,
    /// The NAT's mapping of the client's port, if the packet passes a NAT: of a packet of the client's, only how often
    /// the port was forgotten for its silence (`epoch`) when it came.
    pub mapping: Option<Mapping>,
}

impl Packet {
    /// The frame as it goes out.
    pub fn frame(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// Takes over the bytes and the record.
    pub fn become_copy_of(&mut self, other: &Self) {
        self.bytes[..other.length].copy_from_slice(other.frame());
        (self.length, self.record, self.mapping) = (other.length, other.record, other.mapping);
    }
}

/// Frames that are not in use, so that the datapath need not allocate in steady state.
pub struct Pool {
    #[expect(clippy::vec_box, reason = "packets move between pool, heap and batch, and each is 2 KB")]
    free: Vec<Box<Packet>>,
    made: usize,
}

impl Pool {
    pub fn new() -> Self {
        let mut pool = Self { free: Vec::new(), made: 0 };
        pool.free = (0..FIRST_FRAMES).map(|_| pool.make()).collect();
        pool
    }

    fn make(&mut self) -> Box<Packet> {
        self.made += 1;
        Box::new(Packet { bytes: [0; FRAME_BYTES], length: 0, record: Record::default(), turn: 0, mapping: None })
    }

    pub fn take(&mut self) -> Box<Packet> {
        self.free.pop().unwrap_or_else(|| self.make())
    }

    pub fn give_back(&mut self, packet: Box<Packet>) {
        self.free.push(packet);
    }

    /// Whether the router keeps as many packets as it may.
    pub fn is_exhausted(&self) -> bool {
        self.free.is_empty() && self.made >= MAX_FRAMES
    }
}

//! A TCP segment's header and options (RFC 9293, RFC 7323, RFC 2018).

use crate::capture::packet::{Packet, Refusal};

const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
const ACK: u8 = 16;

/// A segment.
pub struct Segment<'a> {
    pub sequence: u32,
    pub acknowledgement: u32,
    flags: u8,
    pub window: u16,
    pub header_bytes: usize,
    /// Of its data, as they were sent.
    pub data_bytes: usize,
    /// What was kept of them.
    pub data: &'a [u8],
    pub segment_size: Option<u16>,
    pub window_scale: Option<u8>,
    /// Own and echoed time.
    pub timestamps: Option<(u32, u32)>,
    sacks: [(u32, u32); 4],
    sack_count: usize,
}

impl<'a> Segment<'a> {
    /// Reads a segment, with the options that were kept.
    pub fn read(packet: &Packet<'a>) -> Result<Self, Refusal> {
        let bytes = packet.bytes;
        let header = bytes.get(..20).ok_or(Refusal::Damaged("packets of which too little was kept"))?;
        let half = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let header_bytes = usize::from(header[12] >> 4) * 4;
        if header_bytes < 20 || header_bytes > packet.length {
            return Err(Refusal::Damaged("damaged TCP headers"));
        }
        let mut found = Self {
            sequence: word(header, 4),
            acknowledgement: word(header, 8),
            flags: header[13],
            window: half(14),
            header_bytes,
            data_bytes: packet.length - header_bytes,
            data: bytes.get(header_bytes..).unwrap_or_default(),
            segment_size: None,
            window_scale: None,
            timestamps: None,
            sacks: [(0, 0); 4],
            sack_count: 0,
        };
        found.options(&bytes[20..header_bytes.min(bytes.len())]);
        Ok(found)
    }

    fn options(&mut self, mut options: &[u8]) {
        while let [kind, rest @ ..] = options {
            if *kind == 0 {
                return;
            }
            if *kind == 1 {
                options = rest;
                continue;
            }
            let Some(length) = rest.first().map(|length| usize::from(*length)) else { return };
            let Some(value) = options.get(2..length) else { return };
            match (kind, value) {
                (2, [high, low]) => self.segment_size = Some(u16::from_be_bytes([*high, *low])),
                (3, [scale]) => self.window_scale = Some((*scale).min(14)),
                (5, blocks) => {
                    let room = &mut self.sacks[self.sack_count..];
                    for (sack, block) in room.iter_mut().zip(blocks.chunks_exact(8)) {
                        *sack = (word(block, 0), word(block, 4));
                        self.sack_count += 1;
                    }
                }
                (8, times) if times.len() == 8 => self.timestamps = Some((word(times, 0), word(times, 4))),
                _ => {}
            }
            options = &options[length..];
        }
    }

    /// Blocks that arrived out of order, with the newest first.
    pub fn sacks(&self) -> &[(u32, u32)] {
        &self.sacks[..self.sack_count]
    }

    pub fn opens(&self) -> bool {
        self.flags & SYN != 0
    }

    pub fn closes(&self) -> bool {
        self.flags & FIN != 0
    }

    pub fn resets(&self) -> bool {
        self.flags & RST != 0
    }

    pub fn acknowledges(&self) -> bool {
        self.flags & ACK != 0
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

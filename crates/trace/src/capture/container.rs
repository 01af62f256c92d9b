//! pcap and pcapng → frames, in the order of the file.
//!
//! Formats: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng. A file is read block by block, in a buffer that grows no
//! longer than the longest block.

use std::io::{self, Read};

const CHUNK_BYTES: usize = 1 << 18;
/// A longer packet or block is damage: no link carries it.
const MOST_BLOCK_BYTES: usize = 16 << 20;
const MOST_INTERFACES: usize = 1 << 12;
const MOST_SECRET_BYTES: usize = 64 << 20;

const SECTION_HEADER: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const INTERFACE: u32 = 1;
const OLD_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const PACKET: u32 = 6;
const SECRETS: u32 = 10;
const TLS_KEY_LOG: u32 = 0x544c_534b;
const OPTION_TIME_RESOLUTION: u16 = 9;
const OPTION_TIME_OFFSET: u16 = 14;
const MICROSECONDS: u8 = 6;
const BLOCK_BYTES: usize = 12;

const MICRO: u32 = 0xa1b2_c3d4;
const NANO: u32 = 0xa1b2_3c4d;
/// A variant of old patched kernels: eight bytes more before each packet.
const MODIFIED: u32 = 0xa1b2_cd34;
const HEADER_BYTES: usize = 24;
const RECORD_BYTES: usize = 16;
const MODIFIED_BYTES: usize = 24;

/// One packet as it was captured.
pub struct Frame<'a> {
    /// Counted from 1, as Wireshark does.
    pub number: u64,
    /// Since 1970, of the capturing machine's clock.
    pub unix_ns: i64,
    /// Which interface of the file, from 0.
    pub interface: u32,
    /// LINKTYPE_ of tcpdump.org.
    pub link_type: u16,
    /// What was kept of it, from the link's header on.
    pub bytes: &'a [u8],
    /// How long it was.
    pub original_bytes: usize,
}

/// Whether a file that begins so is a capture.
#[must_use]
pub fn is_capture(start: &[u8]) -> bool {
    start.starts_with(&SECTION_HEADER) || pcap_order(start).is_some()
}

/// Magic number and byte order: whether the file is big endian.
fn pcap_order(start: &[u8]) -> Option<(u32, bool)> {
    let magic: [u8; 4] = start.get(..4)?.try_into().ok()?;
    [(u32::from_le_bytes(magic), false), (u32::from_be_bytes(magic), true)]
        .into_iter()
        .find(|(magic, _)| matches!(*magic, MICRO | NANO | MODIFIED))
}

#[derive(Clone, Copy)]
struct Interface {
    link_type: u16,
    /// Ticks of a second.
    ticks: u64,
    offset_s: i64,
    snap_bytes: usize,
}

enum Kind {
    Pcap { ticks_ns: i64, record_bytes: usize },
    Pcapng,
}

/// Reads the frames of one file.
pub struct Reader {
    reader: Box<dyn Read>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    offset: u64,
    kind: Kind,
    big_endian: bool,
    interfaces: Vec<Interface>,
    frames: u64,
    /// TLS secrets of the file, as lines of a key log.
    pub secrets: Vec<u8>,
    /// Blocks that are no packets, and packets without a time.
    pub without_time: u64,
    /// Why reading ended before the end of the file, if it did.
    pub damage: Option<String>,
}

impl Reader {
    /// Begins to read; `None` if this is no capture.
    pub fn new(reader: Box<dyn Read>) -> Option<Self> {
        let mut found = Self {
            reader,
            buffer: Vec::new(),
            start: 0,
            end: 0,
            offset: 0,
            kind: Kind::Pcapng,
            big_endian: false,
            interfaces: Vec::new(),
            frames: 0,
            secrets: Vec::new(),
            without_time: 0,
            damage: None,
        };
        found.has(4);
        let start = found.pending();
        if let Some((magic, big_endian)) = pcap_order(start) {
            found.big_endian = big_endian;
            found.pcap(magic);
        } else if !start.starts_with(&SECTION_HEADER) {
            return None;
        }
        Some(found)
    }

    /// How the file is built.
    #[must_use]
    pub fn container(&self) -> &'static str {
        match self.kind {
            Kind::Pcap { .. } => "pcap",
            Kind::Pcapng => "pcapng",
        }
    }

    /// How much of the unpacked file was read.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The next frame; `None` at the end, or where the file is cut or damaged.
    pub fn next_frame(&mut self) -> Option<Frame<'_>> {
        match self.kind {
            Kind::Pcap { ticks_ns, record_bytes } => self.next_record(ticks_ns, record_bytes),
            Kind::Pcapng => self.next_packet(),
        }
    }

    fn pcap(&mut self, magic: u32) {
        let ticks_ns = if magic == NANO { 1 } else { 1000 };
        let record_bytes = if magic == MODIFIED { MODIFIED_BYTES } else { RECORD_BYTES };
        self.kind = Kind::Pcap { ticks_ns, record_bytes };
        if !self.has(HEADER_BYTES) {
            self.damage = Some("the file ends within its header".into());
            return;
        }
        let link_type = self.number32(20) as u16;
        self.interfaces.push(Interface { link_type, ticks: 1, offset_s: 0, snap_bytes: MOST_BLOCK_BYTES });
        self.consume(HEADER_BYTES);
    }

    fn next_record(&mut self, ticks_ns: i64, header_bytes: usize) -> Option<Frame<'_>> {
        if self.ends(header_bytes) {
            return None;
        }
        let [seconds, ticks, kept_bytes, original_bytes] = [0, 4, 8, 12].map(|at| self.number32(at));
        let kept_bytes = kept_bytes as usize;
        if kept_bytes > MOST_BLOCK_BYTES {
            return self.stop(format!("a packet of {kept_bytes} bytes, which no link carries"));
        }
        let whole = header_bytes + kept_bytes;
        if self.ends(whole) {
            return None;
        }
        let at = self.start + header_bytes;
        self.consume(whole);
        self.frames += 1;
        Some(Frame {
            number: self.frames,
            unix_ns: i64::from(seconds) * 1_000_000_000 + i64::from(ticks) * ticks_ns,
            interface: 0,
            link_type: self.interfaces.first()?.link_type,
            bytes: &self.buffer[at..at + kept_bytes],
            original_bytes: (original_bytes as usize).max(kept_bytes),
        })
    }

    fn next_packet(&mut self) -> Option<Frame<'_>> {
        loop {
            if self.ends(BLOCK_BYTES) {
                return None;
            }
            if self.pending().starts_with(&SECTION_HEADER) {
                let order = [8, 9, 10, 11].map(|at| self.pending()[at]);
                self.big_endian = match order {
                    _ if u32::from_le_bytes(order) == BYTE_ORDER_MAGIC => false,
                    _ if u32::from_be_bytes(order) == BYTE_ORDER_MAGIC => true,
                    _ => return self.stop("a section without a byte order".into()),
                };
                self.interfaces.clear();
            }
            let (kind, length) = (self.number32(0), self.number32(4) as usize);
            if !(BLOCK_BYTES..=MOST_BLOCK_BYTES).contains(&length) {
                return self.stop(format!("a block of {length} bytes"));
            }
            // Lengths are multiples of four, but not every program rounds the field up.
            let whole = length.next_multiple_of(4);
            if self.ends(whole) {
                return None;
            }
            let body = self.start + 8..self.start + length - 4;
            self.consume(whole);
            match kind {
                INTERFACE if self.interfaces.len() == MOST_INTERFACES => {
                    return self.stop("too many interfaces".into());
                }
                INTERFACE => {
                    let Some(interface) = self.interface(body.clone()) else {
                        return self.stop("a damaged interface".into());
                    };
                    self.interfaces.push(interface);
                }
                SECRETS => self.keep_secrets(body),
                PACKET | OLD_PACKET => {
                    let Some((interface, unix_ns, kept, original_bytes)) = self.packet(kind, body) else {
                        return self.stop("a damaged packet".into());
                    };
                    self.frames += 1;
                    let Some(unix_ns) = unix_ns else {
                        self.without_time += 1;
                        continue;
                    };
                    return Some(Frame {
                        number: self.frames,
                        unix_ns,
                        interface,
                        link_type: self.interfaces[interface as usize].link_type,
                        bytes: &self.buffer[kept],
                        original_bytes,
                    });
                }
                SIMPLE_PACKET => {
                    self.frames += 1;
                    self.without_time += 1;
                }
                _ => {}
            }
        }
    }

    /// Interface, time, place of its bytes in the buffer and true length of a packet's block.
    #[allow(clippy::type_complexity, reason = "the fields of one block, used once")]
    fn packet(
        &self,
        kind: u32,
        body: std::ops::Range<usize>,
    ) -> Option<(u32, Option<i64>, std::ops::Range<usize>, usize)> {
        let block = &self.buffer[body.clone()];
        let word = |at: usize| self.word(block.get(at..at + 4)?);
        let interface = match kind {
            PACKET => word(0)?,
            _ => u32::from(self.half(block.get(..2)?)?),
        };
        let ticks = u64::from(word(4)?) << 32 | u64::from(word(8)?);
        let (kept_bytes, original_bytes) = (word(12)? as usize, word(16)? as usize);
        let known = self.interfaces.get(interface as usize)?;
        let from = body.start + 20;
        let to = from.checked_add(kept_bytes).filter(|to| *to <= body.end)?;
        let kept = from..to.min(from + known.snap_bytes);
        Some((interface, known.unix_ns(ticks), kept, original_bytes.max(kept_bytes)))
    }

    fn interface(&self, body: std::ops::Range<usize>) -> Option<Interface> {
        let block = &self.buffer[body];
        let link_type = self.half(block.get(..2)?)?;
        let snap = self.word(block.get(4..8)?)? as usize;
        let snap_bytes = if snap == 0 { MOST_BLOCK_BYTES } else { snap };
        let mut interface = Interface { link_type, ticks: 1_000_000, offset_s: 0, snap_bytes };
        let mut options = &block[8..];
        while let (Some(code), Some(length)) = (options.get(..2), options.get(2..4)) {
            let (code, length) = (self.half(code)?, self.half(length)? as usize);
            let Some(value) = options.get(4..4 + length) else { break };
            match code {
                0 => break,
                OPTION_TIME_RESOLUTION => interface.ticks = ticks_of(*value.first().unwrap_or(&MICROSECONDS))?,
                OPTION_TIME_OFFSET => {
                    let (high, low) = (self.word(value.get(..4)?)?, self.word(value.get(4..8)?)?);
                    let (high, low) = if self.big_endian { (high, low) } else { (low, high) };
                    interface.offset_s = (u64::from(high) << 32 | u64::from(low)) as i64;
                }
                _ => {}
            }
            options = options.get(4 + length.next_multiple_of(4)..).unwrap_or_default();
        }
        Some(interface)
    }

    fn keep_secrets(&mut self, body: std::ops::Range<usize>) {
        let block = &self.buffer[body];
        let (Some(kind), Some(length)) = (block.get(..4), block.get(4..8)) else { return };
        let (Some(kind), Some(length)) = (self.word(kind), self.word(length)) else { return };
        let secrets = &block[8..];
        let secrets = &secrets[..secrets.len().min(length as usize)];
        if kind == TLS_KEY_LOG && self.secrets.len() + secrets.len() <= MOST_SECRET_BYTES {
            let secrets = secrets.to_vec();
            self.secrets.extend_from_slice(&secrets);
            self.secrets.push(b'\n');
        }
    }

    fn half(&self, bytes: &[u8]) -> Option<u16> {
        let bytes = bytes.try_into().ok()?;
        Some(if self.big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
    }

    fn word(&self, bytes: &[u8]) -> Option<u32> {
        let bytes = bytes.try_into().ok()?;
        Some(if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    /// A number of the pending bytes, which are there.
    fn number32(&self, at: usize) -> u32 {
        self.pending().get(at..at + 4).and_then(|bytes| self.word(bytes)).unwrap_or_default()
    }

    fn pending(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    fn consume(&mut self, bytes: usize) {
        self.start += bytes;
        self.offset += bytes as u64;
    }

    fn stop<T>(&mut self, problem: String) -> Option<T> {
        self.damage.get_or_insert(problem);
        self.start = self.end;
        self.reader = Box::new(io::empty());
        None
    }

    /// Whether the file ends before so many more bytes; if it does so within something, that is damage.
    fn ends(&mut self, bytes: usize) -> bool {
        if self.has(bytes) {
            return false;
        }
        if self.start < self.end {
            self.stop::<()>("the file ends within a packet".into());
        }
        true
    }

    fn has(&mut self, bytes: usize) -> bool {
        if self.end - self.start >= bytes {
            return true;
        }
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        let room = bytes.max(CHUNK_BYTES);
        if self.buffer.len() < room {
            self.buffer.resize(room, 0);
        }
        while self.end < bytes {
            match self.reader.read(&mut self.buffer[self.end..]) {
                Ok(0) => return false,
                Ok(count) => self.end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.damage.get_or_insert(error.to_string());
                    return false;
                }
            }
        }
        true
    }
}

impl Interface {
    fn unix_ns(&self, ticks: u64) -> Option<i64> {
        let ns = i128::from(ticks) * 1_000_000_000 / i128::from(self.ticks) + i128::from(self.offset_s) * 1_000_000_000;
        i64::try_from(ns).ok()
    }
}

/// Ticks of a second by an interface's resolution: a negative power of ten, or of two.
fn ticks_of(resolution: u8) -> Option<u64> {
    let power = u32::from(resolution & 0x7f);
    if resolution & 0x80 == 0 { 10_u64.checked_pow(power) } else { 2_u64.checked_pow(power) }
}

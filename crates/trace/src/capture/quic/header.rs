//! Headers of QUIC packets, as far as they are not encrypted (RFC 9000, 17; RFC 8999; RFC 9369).

use crate::event::Space;

pub const VERSION_1: u32 = 1;
pub const VERSION_2: u32 = 0x6b33_43cf;
const MOST_ID_BYTES: usize = 20;
const LEAST_INITIAL_BYTES: usize = 1200;

/// A packet with a long header.
pub struct Long<'a> {
    pub version: u32,
    /// `None` for a version that is not known.
    pub space: Option<Space>,
    pub destination: &'a [u8],
    pub source: &'a [u8],
    /// Of an Initial packet.
    pub token: &'a [u8],
    /// Where the packet number begins.
    pub number_at: usize,
    /// The whole packet's length: others may follow in its datagram.
    pub bytes: usize,
    datagram_bytes: usize,
}

impl<'a> Long<'a> {
    /// Reads the header of the packet that a datagram begins with; `length` is of the datagram as it was sent.
    pub fn read(bytes: &'a [u8], length: usize) -> Option<Self> {
        let first = *bytes.first()?;
        let version = u32::from_be_bytes(bytes.get(1..5)?.try_into().ok()?);
        if first & 0x80 == 0 {
            return None;
        }
        let (destination, at) = id(bytes, 5)?;
        let (source, at) = id(bytes, at)?;
        let kind = (first >> 4) & 3;
        let space = match (version, kind) {
            (0, _) => Some(Space::VersionNegotiation),
            (VERSION_1, 0) | (VERSION_2, 1) => Some(Space::Initial),
            (VERSION_1, 1) | (VERSION_2, 2) => Some(Space::ZeroRtt),
            (VERSION_1, 2) | (VERSION_2, 3) => Some(Space::Handshake),
            (VERSION_1 | VERSION_2, _) => Some(Space::Retry),
            _ => None,
        };
        if version != 0 && first & 0x40 == 0 {
            return None;
        }
        let mut found = Self {
            version,
            space,
            destination,
            source,
            token: &[],
            number_at: at,
            bytes: length,
            datagram_bytes: length,
        };
        if !matches!(space, Some(Space::Initial | Space::ZeroRtt | Space::Handshake)) {
            return Some(found);
        }
        let mut at = at;
        if space == Some(Space::Initial) {
            let (token_bytes, from) = number(bytes, at)?;
            let to = from.checked_add(usize::try_from(token_bytes).ok()?)?;
            found.token = bytes.get(from..to)?;
            at = to;
        }
        let (rest, at) = number(bytes, at)?;
        found.number_at = at;
        found.bytes = at.checked_add(usize::try_from(rest).ok()?).filter(|end| *end <= length)?;
        Some(found)
    }

    /// Whether it may open a connection: an Initial packet in a datagram as long as a client's has to be.
    pub fn opens(&self) -> bool {
        self.space == Some(Space::Initial) && self.datagram_bytes >= LEAST_INITIAL_BYTES && self.destination.len() >= 8
    }
}

fn id(bytes: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let length = usize::from(*bytes.get(at)?);
    if length > MOST_ID_BYTES {
        return None;
    }
    let end = at + 1 + length;
    Some((bytes.get(at + 1..end)?, end))
}

/// A number of variable length, and where it ends (RFC 9000, 16).
pub fn number(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let first = *bytes.get(at)?;
    let length = 1 << (first >> 6);
    let rest = bytes.get(at + 1..at + length)?;
    let value = rest.iter().fold(u64::from(first & 0x3f), |value, byte| value << 8 | u64::from(*byte));
    Some((value, at + length))
}

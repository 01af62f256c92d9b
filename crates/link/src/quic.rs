//! The part of a QUIC packet's header that the log keeps (RFC 8999, 9000 and 9369): the part that is not encrypted.
//!
//! Only the first QUIC packet of a datagram is looked at. Nothing proves that a datagram is QUIC: a long header
//! is believed where its version is one of those below, a short header wherever its two fixed bits and its size allow it.

/// No UDP payload.
pub const NO_QUIC: u8 = 0;
/// Values of `quic_form`.
pub const SHORT: u8 = 1;
pub const INITIAL: u8 = 2;
pub const ZERO_RTT: u8 = 3;
pub const HANDSHAKE: u8 = 4;
pub const RETRY: u8 = 5;
pub const VERSION_NEGOTIATION: u8 = 6;
/// A datagram that is no QUIC, or of a version that is not known here.
pub const NOT_QUIC: u8 = 255;

const VERSION_1: u32 = 1;
const VERSION_2: u32 = 0x6b33_43cf;
/// Drafts of version 1: `ff0000NN`.
const DRAFTS: u32 = 0xff00_0000;

/// Versions that servers list and do not speak (RFC 9000, section 15).
const GREASE_MASK: u32 = 0x0f0f_0f0f;
const GREASE: u32 = 0x0a0a_0a0a;

const LONG_BIT: u8 = 0x80;
const FIXED_BIT: u8 = 0x40;
const MAX_CONNECTION_ID_BYTES: u8 = 20;
/// First byte, packet number and data of 4 bytes, and the tag: a shorter packet could not be decrypted.
const MIN_SHORT_BYTES: usize = 21;
const LONG_PREFIX_BYTES: usize = 6;

/// See the module.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quic {
    pub form: u8,
    /// The first 8 bytes of the destination's connection id, little endian. For a short header, which does not show how
    /// long the id is: the 8 bytes where it stands.
    pub connection_id: u64,
    /// Length of the id; 0 where it is unknown or there is none.
    pub connection_id_bytes: u8,
    /// The last 6 bytes of the datagram, little endian, the first two and the four behind them: the end of the last
    /// packet's authentication tag, which no other packet has. 0 where there is none.
    pub tag_start: u16,
    pub tag_end: u32,
}

/// Reads a datagram.
pub fn parse(datagram: &[u8]) -> Quic {
    let quic = header(datagram);
    match (quic.form, datagram.last_chunk::<6>()) {
        (SHORT..=RETRY, Some(end)) => {
            let (start, rest) = (leading(&end[..2]) as u16, leading(&end[2..]) as u32);
            Quic { tag_start: start, tag_end: rest, ..quic }
        }
        _ => quic,
    }
}

fn header(datagram: &[u8]) -> Quic {
    match datagram.first() {
        None => Quic { form: NO_QUIC, ..Quic::default() },
        Some(first) if first & LONG_BIT != 0 => long(datagram).unwrap_or(Quic { form: NOT_QUIC, ..Quic::default() }),
        Some(first) if first & FIXED_BIT != 0 && datagram.len() >= MIN_SHORT_BYTES => {
            Quic { form: SHORT, connection_id: leading(&datagram[1..9]), ..Quic::default() }
        }
        Some(_) => Quic { form: NOT_QUIC, ..Quic::default() },
    }
}

/// The first 8 of some bytes as a number, little endian.
pub fn leading(bytes: &[u8]) -> u64 {
    let mut eight = [0; 8];
    let count = bytes.len().min(8);
    eight[..count].copy_from_slice(&bytes[..count]);
    u64::from_le_bytes(eight)
}

fn long(datagram: &[u8]) -> Option<Quic> {
    let version = u32::from_be_bytes(datagram.get(1..5)?.try_into().ok()?);
    let form = form(datagram[0], version)?;
    let length = *datagram.get(5)?;
    if length > MAX_CONNECTION_ID_BYTES {
        return None;
    }
    let (id, rest) = datagram.get(LONG_PREFIX_BYTES..)?.split_at_checked(usize::from(length))?;
    if form == VERSION_NEGOTIATION && !lists_versions(rest) {
        return None;
    }
    Some(Quic { form, connection_id: leading(id), connection_id_bytes: length, ..Quic::default() })
}

/// Whether a source's connection id follows and a list of versions with one that QUIC has: other protocols have four
/// zeros there too.
fn lists_versions(rest: &[u8]) -> bool {
    let versions = rest.split_first().and_then(|(length, rest)| rest.get(usize::from(*length)..)).unwrap_or_default();
    let mut versions = versions.chunks_exact(4);
    versions.remainder().is_empty()
        && versions.any(|four| {
            let version = u32::from_be_bytes([four[0], four[1], four[2], four[3]]);
            version != 0 && (form(0, version).is_some() || version & GREASE_MASK == GREASE)
        })
}

fn form(first: u8, version: u32) -> Option<u8> {
    let packet_type = (first >> 4) & 3;
    match version {
        0 => Some(VERSION_NEGOTIATION),
        VERSION_1 => Some([INITIAL, ZERO_RTT, HANDSHAKE, RETRY][usize::from(packet_type)]),
        VERSION_2 => Some([RETRY, INITIAL, ZERO_RTT, HANDSHAKE][usize::from(packet_type)]),
        _ if version & 0xffff_ff00 == DRAFTS => Some([INITIAL, ZERO_RTT, HANDSHAKE, RETRY][usize::from(packet_type)]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A long header; the datagram goes on behind it.
    fn long_header(first: u8, version: u32, id: &[u8]) -> Vec<u8> {
        let mut bytes = vec![first];
        bytes.extend_from_slice(&version.to_be_bytes());
        bytes.push(id.len() as u8);
        bytes.extend_from_slice(id);
        bytes.extend_from_slice(&[0; 40]);
        bytes
    }

    /// The client's Initial of RFC 9001, appendix A.2, and of RFC 9369, appendix A.2: the header's first bytes.
    #[test]
    fn the_examples_of_both_versions() {
        let id = [0x83, 0x94, 0xc8, 0xf0, 0x3e, 0x51, 0x57, 0x08];
        let connection_id = u64::from_le_bytes(id);
        let expected = Quic { form: INITIAL, connection_id, connection_id_bytes: 8, ..Quic::default() };
        assert_eq!(parse(&long_header(0xc0, 1, &id)), expected);
        assert_eq!(parse(&long_header(0xd7, 0x6b33_43cf, &id)), expected);
        // Retry: A.4 of both.
        assert_eq!(parse(&long_header(0xff, 1, &[])).form, RETRY);
        assert_eq!(parse(&long_header(0xcf, 0x6b33_43cf, &[])).form, RETRY);
    }

    #[test]
    fn types_of_long_headers() {
        let forms = |version| [0xc0, 0xd0, 0xe0, 0xf0].map(|first| parse(&long_header(first, version, &[])).form);
        assert_eq!(forms(1), [INITIAL, ZERO_RTT, HANDSHAKE, RETRY]);
        assert_eq!(forms(0xff00_001d), [INITIAL, ZERO_RTT, HANDSHAKE, RETRY]);
        assert_eq!(forms(0x6b33_43cf), [RETRY, INITIAL, ZERO_RTT, HANDSHAKE]);
        assert_eq!(forms(0), [NOT_QUIC; 4]);
        assert_eq!(forms(0x1a2a_3a4a), [NOT_QUIC; 4]);
    }

    #[test]
    fn version_negotiation_lists_versions() {
        let form = |versions: &[u8]| parse(&[&[0x80, 0, 0, 0, 0, 1, 9, 2, 8, 8], versions].concat()).form;
        assert_eq!(form(&[0, 0, 0, 1, 0x6b, 0x33, 0x43, 0xcf]), VERSION_NEGOTIATION);
        assert_eq!(form(&[0x1a, 0x2a, 0x3a, 0x4a, 0xfa, 0xce, 0xb0, 2]), VERSION_NEGOTIATION);
        for other in [&[][..], &[0, 0, 0, 1, 7], &[0, 0, 0, 0], &[7; 4]] {
            assert_eq!(form(other), NOT_QUIC);
        }
    }

    #[test]
    fn connection_ids_of_any_length() {
        let id: Vec<u8> = (1..=20).collect();
        let quic = parse(&long_header(0xc0, 1, &id));
        assert_eq!((quic.connection_id, quic.connection_id_bytes), (0x0807_0605_0403_0201, 20));
        let quic = parse(&long_header(0xc0, 1, &id[..2]));
        assert_eq!((quic.connection_id, quic.connection_id_bytes), (0x0201, 2));
        assert_eq!(parse(&long_header(0xc0, 1, &[7; 21])).form, NOT_QUIC);
    }

    #[test]
    fn short_headers() {
        let mut bytes = [0x43; 21];
        bytes[1..9].copy_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8]);
        bytes[15..].copy_from_slice(&[1, 2, 3, 4, 5, 6]);
        let expected = Quic {
            form: SHORT,
            connection_id: 0x0807_0605_0403_0201,
            connection_id_bytes: 0,
            tag_start: 0x0201,
            tag_end: 0x0605_0403,
        };
        assert_eq!(parse(&bytes), expected);
        assert_eq!(parse(&bytes[..20]).form, NOT_QUIC);
        bytes[0] = 0x03;
        assert_eq!(parse(&bytes).form, NOT_QUIC);
        assert_eq!(parse(&[]).form, NO_QUIC);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_crash(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let quic = parse(&bytes);
            prop_assert!(quic.connection_id_bytes <= MAX_CONNECTION_ID_BYTES);
            prop_assert!(quic.form <= VERSION_NEGOTIATION || quic.form == NOT_QUIC);
        }

        #[test]
        fn a_long_header_cut_anywhere_is_none(id in prop::collection::vec(any::<u8>(), 0..=20), cut in 1_usize..26) {
            let whole = long_header(0xc0, 1, &id);
            let short = &whole[..cut.min(6 + id.len() - 1)];
            prop_assert_eq!(parse(short), Quic { form: NOT_QUIC, ..Quic::default() });
        }
    }
}

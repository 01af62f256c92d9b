//! A frame → its TCP segment or UDP datagram: headers of links and of the Internet protocol.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::capture::container::Frame;

const LOOPBACK: u16 = 0;
const ETHERNET: u16 = 1;
const RAW: [u16; 3] = [101, 12, 14];
const LOOPBACK_BIG_ENDIAN: u16 = 108;
const COOKED: u16 = 113;
const RAW_V4: u16 = 228;
const RAW_V6: u16 = 229;
const COOKED_2: u16 = 276;

const IP_V4: u16 = 0x0800;
const IP_V6: u16 = 0x86dd;
const VLAN: [u16; 3] = [0x8100, 0x88a8, 0x9100];
const MOST_TAGS: usize = 4;
const MOST_EXTENSIONS: usize = 16;

const TCP: u8 = 6;
const UDP: u8 = 17;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
/// Hop-by-hop, routing, destination, mobility, host identity, shim.
const EXTENSIONS: [u8; 6] = [0, 43, 60, 135, 139, 140];

/// What the Internet protocol carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Transport {
    Tcp,
    Udp,
}

/// A packet's transport header and what follows it.
#[derive(Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    pub transport: Transport,
    pub source: SocketAddr,
    pub destination: SocketAddr,
    /// From the transport's header on, as far as it was kept.
    pub bytes: &'a [u8],
    /// The same as it was sent.
    pub length: usize,
    /// Time to live, or hop limit.
    pub hops: u8,
    /// The interface of the machine, where the link's header names it.
    pub device: Option<u32>,
}

/// Why a frame gives no packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is something else.
    Other(&'static str),
    /// It should be one, and is not whole.
    Damaged(&'static str),
}

const CUT: Refusal = Refusal::Damaged("packets of which too little was kept");

/// The transport's part of a frame.
pub fn packet<'a>(frame: &Frame<'a>) -> Result<Packet<'a>, Refusal> {
    let (kind, header_bytes, device) = link(frame.link_type, frame.bytes)?;
    let bytes = frame.bytes.get(header_bytes..).ok_or(CUT)?;
    let length = frame.original_bytes - header_bytes;
    let mut found = match kind {
        IP_V4 => version_4(bytes, length),
        IP_V6 => version_6(bytes, length),
        0x0806 => Err(Refusal::Other("ARP")),
        _ => Err(Refusal::Other("other protocols of links")),
    }?;
    found.device = device;
    Ok(found)
}

/// Protocol, length of the link's header, and the machine's interface.
fn link(link_type: u16, bytes: &[u8]) -> Result<(u16, usize, Option<u32>), Refusal> {
    let half = |at: usize| bytes.get(at..at + 2).map(|two| u16::from_be_bytes([two[0], two[1]])).ok_or(CUT);
    match link_type {
        ETHERNET => tagged(half, 12, None),
        COOKED => tagged(half, 14, None),
        COOKED_2 => {
            let device = bytes.get(4..8).ok_or(CUT)?;
            let device = u32::from_be_bytes([device[0], device[1], device[2], device[3]]);
            let kind = half(0)?;
            if VLAN.contains(&kind) { tagged(half, 22, Some(device)) } else { Ok((kind, 20, Some(device))) }
        }
        RAW_V4 => Ok((IP_V4, 0, None)),
        RAW_V6 => Ok((IP_V6, 0, None)),
        _ if RAW.contains(&link_type) => Ok((version(bytes, 0)?, 0, None)),
        LOOPBACK | LOOPBACK_BIG_ENDIAN => Ok((version(bytes, 4)?, 4, None)),
        _ => Err(Refusal::Other("frames of links that are not read")),
    }
}

/// The protocol behind tags of VLANs, the first at `at`.
fn tagged(
    half: impl Fn(usize) -> Result<u16, Refusal>,
    mut at: usize,
    device: Option<u32>,
) -> Result<(u16, usize, Option<u32>), Refusal> {
    for _ in 0..=MOST_TAGS {
        let kind = half(at)?;
        if !VLAN.contains(&kind) {
            return Ok((kind, at + 2, device));
        }
        at += 4;
    }
    Err(Refusal::Damaged("frames with too many tags"))
}

/// The protocol by the version in the first byte of its header: address families differ between systems.
fn version(bytes: &[u8], at: usize) -> Result<u16, Refusal> {
    match bytes.get(at).ok_or(CUT)? >> 4 {
        4 => Ok(IP_V4),
        6 => Ok(IP_V6),
        _ => Err(Refusal::Other("other protocols of links")),
    }
}

fn version_4(bytes: &[u8], captured_length: usize) -> Result<Packet<'_>, Refusal> {
    let header = bytes.get(..20).ok_or(CUT)?;
    let header_bytes = usize::from(header[0] & 0xf) * 4;
    if header[0] >> 4 != 4 || header_bytes < 20 {
        return Err(Refusal::Damaged("damaged IP headers"));
    }
    if u16::from_be_bytes([header[6], header[7]]) & 0x3fff != 0 {
        return Err(Refusal::Other("fragments of IP"));
    }
    // A packet that the device will cut into segments may be too long for the field, which is 0 then.
    let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
    let total = if total == 0 { captured_length } else { total };
    let address = |at: usize| IpAddr::V4(Ipv4Addr::new(header[at], header[at + 1], header[at + 2], header[at + 3]));
    let length = total.checked_sub(header_bytes).ok_or(Refusal::Damaged("damaged IP headers"))?;
    transport(header[9], bytes.get(header_bytes..).ok_or(CUT)?, length, address(12), address(16), header[8])
}

fn version_6(bytes: &[u8], captured_length: usize) -> Result<Packet<'_>, Refusal> {
    let header = bytes.get(..40).ok_or(CUT)?;
    if header[0] >> 4 != 6 {
        return Err(Refusal::Damaged("damaged IP headers"));
    }
    let declared = usize::from(u16::from_be_bytes([header[4], header[5]]));
    let mut length = if declared == 0 { captured_length.saturating_sub(40) } else { declared };
    let address = |at: usize| {
        let bytes: [u8; 16] = std::array::from_fn(|place| header[at + place]);
        IpAddr::V6(Ipv6Addr::from(bytes))
    };
    let (mut next, mut rest) = (header[6], &bytes[40..]);
    for _ in 0..MOST_EXTENSIONS {
        let extension_bytes = match next {
            FRAGMENT => {
                let fragment = rest.get(..8).ok_or(CUT)?;
                if u16::from_be_bytes([fragment[2], fragment[3]]) & 0xfff9 != 0 {
                    return Err(Refusal::Other("fragments of IP"));
                }
                8
            }
            AUTHENTICATION => (usize::from(*rest.get(1).ok_or(CUT)?) + 2) * 4,
            _ if EXTENSIONS.contains(&next) => (usize::from(*rest.get(1).ok_or(CUT)?) + 1) * 8,
            _ => return transport(next, rest, length, address(8), address(24), header[7]),
        };
        next = *rest.first().ok_or(CUT)?;
        rest = rest.get(extension_bytes..).ok_or(CUT)?;
        length = length.checked_sub(extension_bytes).ok_or(Refusal::Damaged("damaged IP headers"))?;
    }
    Err(Refusal::Damaged("damaged IP headers"))
}

fn transport(
    protocol: u8,
    bytes: &[u8],
    length: usize,
    source: IpAddr,
    destination: IpAddr,
    hops: u8,
) -> Result<Packet<'_>, Refusal> {
    let transport = match protocol {
        TCP => Transport::Tcp,
        UDP => Transport::Udp,
        1 | 58 => return Err(Refusal::Other("ICMP")),
        _ => return Err(Refusal::Other("other protocols of IP")),
    };
    let bytes = &bytes[..bytes.len().min(length)];
    let ports = bytes.get(..4).ok_or(CUT)?;
    let port = |at: usize| u16::from_be_bytes([ports[at], ports[at + 1]]);
    Ok(Packet {
        transport,
        source: SocketAddr::new(source, port(0)),
        destination: SocketAddr::new(destination, port(2)),
        bytes,
        length,
        hops,
        device: None,
    })
}

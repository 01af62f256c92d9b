//! The few blocks of a pcapng file that a log needs (draft-ietf-opsawg-pcapng).

use std::io::{self, Write};

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const UNKNOWN_LENGTH: i64 = -1;
/// Packets begin with their IP header.
const LINKTYPE_RAW: u16 = 101;

const OPTION_COMMENT: u16 = 1;
const OPTION_INTERFACE_NAME: u16 = 2;
const OPTION_INTERFACE_DESCRIPTION: u16 = 3;
const OPTION_USER_APPLICATION: u16 = 4;
const OPTION_TIME_RESOLUTION: u16 = 9;
const NANOSECONDS: u8 = 9;
/// The length of an option is 16 bits, and readers have limits of their own.
const MAX_OPTION_BYTES: usize = 60_000;

/// A packet of the file.
pub struct Packet<'a> {
    pub interface: u32,
    pub unix_ns: u64,
    /// The captured bytes.
    pub bytes: &'a [u8],
    pub original_bytes: u32,
    pub comment: &'a str,
}

/// Begins the file.
pub fn write_section(out: &mut impl Write, application: &str, comment: &str) -> io::Result<()> {
    let mut body = Vec::new();
    body.extend_from_slice(&BYTE_ORDER_MAGIC.to_le_bytes());
    body.extend_from_slice(&1_u16.to_le_bytes());
    body.extend_from_slice(&0_u16.to_le_bytes());
    body.extend_from_slice(&UNKNOWN_LENGTH.to_le_bytes());
    put_option(&mut body, OPTION_COMMENT, comment.as_bytes());
    put_option(&mut body, OPTION_USER_APPLICATION, application.as_bytes());
    end_options(&mut body);
    write_block(out, SECTION_HEADER, &body)
}

/// Describes the next interface; they are numbered from 0.
pub fn write_interface(out: &mut impl Write, name: &str, description: &str) -> io::Result<()> {
    let mut body = Vec::new();
    body.extend_from_slice(&LINKTYPE_RAW.to_le_bytes());
    body.extend_from_slice(&[0; 2]);
    body.extend_from_slice(&0_u32.to_le_bytes()); // no limit on what is captured of a packet
    put_option(&mut body, OPTION_INTERFACE_NAME, name.as_bytes());
    put_option(&mut body, OPTION_INTERFACE_DESCRIPTION, description.as_bytes());
    put_option(&mut body, OPTION_TIME_RESOLUTION, &[NANOSECONDS]);
    end_options(&mut body);
    write_block(out, INTERFACE_DESCRIPTION, &body)
}

/// Writes a packet. `body` is room that is used again.
pub fn write_packet(out: &mut impl Write, packet: &Packet<'_>, body: &mut Vec<u8>) -> io::Result<()> {
    body.clear();
    let (high, low) = ((packet.unix_ns >> 32) as u32, packet.unix_ns as u32);
    for word in [packet.interface, high, low, packet.bytes.len() as u32, packet.original_bytes] {
        body.extend_from_slice(&word.to_le_bytes());
    }
    body.extend_from_slice(packet.bytes);
    pad(body);
    put_option(body, OPTION_COMMENT, packet.comment.as_bytes());
    end_options(body);
    write_block(out, ENHANCED_PACKET, body)
}

fn write_block(out: &mut impl Write, kind: u32, body: &[u8]) -> io::Result<()> {
    let total_bytes = (body.len() as u32 + 12).to_le_bytes();
    out.write_all(&kind.to_le_bytes())?;
    out.write_all(&total_bytes)?;
    out.write_all(body)?;
    out.write_all(&total_bytes)
}

fn put_option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    let value = &value[..value.len().min(MAX_OPTION_BYTES)];
    body.extend_from_slice(&code.to_le_bytes());
    body.extend_from_slice(&(value.len() as u16).to_le_bytes());
    body.extend_from_slice(value);
    pad(body);
}

fn end_options(body: &mut Vec<u8>) {
    body.extend_from_slice(&[0; 4]);
}

fn pad(body: &mut Vec<u8>) {
    body.resize(body.len().next_multiple_of(4), 0);
}

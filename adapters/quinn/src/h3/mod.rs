//! HTTP/3 over QUIC.

use quinn::VarInt;

pub mod client;
mod moving;
pub mod server;
mod two_addresses;

/// H3_NO_ERROR
const NO_ERROR: VarInt = VarInt::from_u32(0x100);

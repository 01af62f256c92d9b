//! HTTP/3 over QUIC.

use noq::VarInt;

pub mod client;
mod moving;
mod over;
mod paths;
pub mod server;

/// H3_NO_ERROR
const NO_ERROR: VarInt = VarInt::from_u32(0x100);

//! Datagrams of one QUIC connection → rows, as one end sees them.

pub mod header;

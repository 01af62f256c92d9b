//! Packets → connections: the same in every pass over a file, so that their numbers are too.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;

use crate::capture::packet::{Packet, Transport};
use crate::capture::quic::header::Long;
use crate::capture::tcp::segment::Segment;

const MOST_FLOWS: usize = 1 << 16;
/// Ids of a connection of QUIC that are remembered to tell a second connection between the same ports.
const MOST_IDS: usize = 16;

type Key = (Transport, SocketAddr, SocketAddr);

/// What a packet is to its connection.
#[derive(Clone, Copy)]
pub struct Member {
    /// Which connection.
    pub flow: usize,
    /// Whether the packet goes from the lower of the two addresses to the higher one.
    pub ascends: bool,
}

enum State {
    Tcp { opened_with: Option<u32> },
    Quic { ids: Vec<Vec<u8>> },
}

/// The connections of a file so far.
#[derive(Default)]
pub struct Flows {
    current: HashMap<Key, usize>,
    states: Vec<State>,
    /// Where connections of QUIC were opened to: further ports that talk to them belong to one that moved.
    servers: HashSet<SocketAddr>,
}

impl Flows {
    /// The connection of a TCP segment.
    pub fn of_segment(&mut self, packet: &Packet, segment: &Segment) -> Option<Member> {
        let opens = (segment.opens() && !segment.acknowledges()).then_some(segment.sequence);
        let (key, ascends) = key_of(packet);
        if let Some(&flow) = self.current.get(&key) {
            let State::Tcp { opened_with } = &mut self.states[flow] else { return None };
            // A SYN with another number begins a connection between the same ports; the same SYN is only sent again.
            if opens.is_none() || *opened_with == opens {
                return Some(Member { flow, ascends });
            }
        }
        self.begin(key, State::Tcp { opened_with: opens }).map(|flow| Member { flow, ascends })
    }

    /// The connection of a UDP datagram, if it is of QUIC.
    pub fn of_datagram(&mut self, packet: &Packet, first: Option<&Long>) -> Option<Member> {
        let (key, ascends) = key_of(packet);
        let opens = first.filter(|long| long.opens());
        if let Some(&flow) = self.current.get(&key) {
            let State::Quic { ids } = &mut self.states[flow] else { return None };
            let Some(long) = first else { return Some(Member { flow, ascends }) };
            let known = ids.is_empty() || ids.iter().any(|id| id == long.destination || id == long.source);
            if known || opens.is_none() {
                remember(ids, long);
                return Some(Member { flow, ascends });
            }
        }
        let ends = [packet.source, packet.destination];
        let on_port = ends.iter().any(|end| end.port() == 443 || self.servers.contains(end));
        if opens.is_none() && !(on_port && packet.bytes.get(8).is_some_and(|byte| byte & 0x40 != 0)) {
            return None;
        }
        let mut ids = Vec::new();
        if let Some(long) = first {
            remember(&mut ids, long);
        }
        if opens.is_some() && self.servers.len() < MOST_FLOWS {
            self.servers.insert(packet.destination);
        }
        self.begin(key, State::Quic { ids }).map(|flow| Member { flow, ascends })
    }

    fn begin(&mut self, key: Key, state: State) -> Option<usize> {
        if self.states.len() == MOST_FLOWS {
            return None;
        }
        self.states.push(state);
        self.current.insert(key, self.states.len() - 1);
        Some(self.states.len() - 1)
    }
}

fn key_of(packet: &Packet) -> (Key, bool) {
    let ascends = packet.source < packet.destination;
    let (low, high) = if ascends { (packet.source, packet.destination) } else { (packet.destination, packet.source) };
    ((packet.transport, low, high), ascends)
}

fn remember(ids: &mut Vec<Vec<u8>>, long: &Long) {
    for id in [long.destination, long.source] {
        if !id.is_empty() && ids.len() < MOST_IDS && !ids.iter().any(|known| known == id) {
            ids.push(id.to_vec());
        }
    }
}

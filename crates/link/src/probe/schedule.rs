//! When the probe sends which packet.

use std::path::Path;

use longlook_support::failure::Failure;

/// One packet: nanoseconds after the start, bytes of the IP packet, and which of the sender's sockets it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    pub offset_ns: u64,
    pub size_bytes: u32,
    pub flow: u32,
}

/// `count` packets at `per_second`, `group` of them at a time; 0 a second: all at once.
pub fn regular(count: u64, per_second: f64, group: u64, size_bytes: u32) -> Vec<Packet> {
    let offset_ns = |number: u64| match per_second {
        0.0 => 0,
        rate => ((number - number % group) as f64 * 1e9 / rate) as u64,
    };
    (0..count).map(|number| Packet { offset_ns: offset_ns(number), size_bytes, flow: 0 }).collect()
}

/// Reads lines of `offset_ns [size_bytes [flow]]`, in the order of time.
pub fn read(path: &Path, size_bytes: u32) -> Result<Vec<Packet>, Failure> {
    let shown = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::usage(format!("the schedule {shown} cannot be read: {error}")))?;
    parse(&text, size_bytes).map_err(|(line, reason)| Failure::usage(format!("{shown}, line {line}: {reason}")))
}

fn parse(text: &str, size_bytes: u32) -> Result<Vec<Packet>, (usize, String)> {
    let mut packets: Vec<Packet> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let mut words = line.split_whitespace();
        let offset = words.next().ok_or_else(|| (number, "no time stands here".to_owned()))?;
        let packet = Packet {
            offset_ns: whole(offset).map_err(|reason| (number, reason))?,
            size_bytes: words.next().map_or(Ok(size_bytes), whole).map_err(|reason| (number, reason))?,
            flow: words.next().map_or(Ok(0), whole).map_err(|reason| (number, reason))?,
        };
        if packets.last().is_some_and(|before| before.offset_ns > packet.offset_ns) {
            return Err((number, "it is earlier than the line before".to_owned()));
        }
        packets.push(packet);
    }
    if packets.is_empty() { Err((1, "the schedule is empty".to_owned())) } else { Ok(packets) }
}

fn whole<T: std::str::FromStr>(word: &str) -> Result<T, String> {
    word.parse().map_err(|_| format!("{word:?} is no whole number in range"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_share_a_time_and_keep_the_mean_rate() {
        let offsets: Vec<u64> = regular(5, 1_000.0, 2, 100).iter().map(|packet| packet.offset_ns).collect();
        assert_eq!(offsets, [0, 0, 2_000_000, 2_000_000, 4_000_000]);
        assert!(regular(3, 0.0, 1, 100).iter().all(|packet| packet.offset_ns == 0));
    }

    #[test]
    fn a_line_may_leave_out_size_and_flow() {
        let packets = parse("0\n5 200\n5 300 2\n", 100).expect("it is sound");
        let read: Vec<_> = packets.iter().map(|packet| (packet.offset_ns, packet.size_bytes, packet.flow)).collect();
        assert_eq!(read, [(0, 100, 0), (5, 200, 0), (5, 300, 2)]);
    }

    #[test]
    fn bad_schedules_are_told_with_their_line() {
        for (text, line) in [("", 1), ("0\n\n", 2), ("0\nx", 2), ("0\n5\n4", 3), ("-1", 1)] {
            assert_eq!(parse(text, 100).expect_err(text).0, line, "{text:?}");
        }
    }
}

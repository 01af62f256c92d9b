//! The pages of a trace buffer: what a read of `trace_pipe_raw` gives. Their layout is part of the kernel's interface
//! (`events/header_page`, `events/header_event`).

/// Bytes of one read; the kernel gives at most one page of its buffer.
pub const PAGE_BYTES: usize = 4096;

const HEADER_BYTES: usize = 16;
const LENGTH_MASK: u64 = 0x000f_ffff;
const MISSED_EVENTS: u64 = 1 << 31;
const MISSED_STORED: u64 = 1 << 30;
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
const TIME_BITS: u32 = 27;
const STAMP_BITS: u32 = 59;

/// Whether the kernel describes its pages as we read them.
#[must_use]
pub fn knows(header_page: &str) -> bool {
    let has = |name: &str, place: &str| {
        header_page
            .lines()
            .any(|line| line.contains(name) && line.split_whitespace().collect::<String>().contains(place))
    };
    has("timestamp;", "offset:0;size:8;") && has("commit;", "offset:8;size:8;") && has("data;", "offset:16;")
}

/// Events that were overwritten before this page: None for none, 0 if the kernel does not report how many.
#[must_use]
pub fn missed(page: &[u8]) -> Option<u64> {
    let commit = word64(page, 8)?;
    if commit & MISSED_EVENTS == 0 {
        return None;
    }
    let stored = (commit & MISSED_STORED != 0).then(|| word64(page, HEADER_BYTES + (commit & LENGTH_MASK) as usize));
    Some(stored.flatten().unwrap_or(0))
}

/// Calls `each` with the time and the bytes of every event of a page, in order.
pub fn each_event(page: &[u8], mut each: impl FnMut(u64, &[u8])) {
    let (Some(mut time_ns), Some(commit)) = (word64(page, 0), word64(page, 8)) else { return };
    let end = (HEADER_BYTES + (commit & LENGTH_MASK) as usize).min(page.len());
    let mut at = HEADER_BYTES;
    while let Some(head) = word32(&page[..end], at) {
        let (kind, delta) = (head & 31, u64::from(head >> 5));
        at += 4;
        let first = word32(&page[..end], at).map(u64::from);
        match (kind, first) {
            (PADDING, Some(length)) if delta > 0 => at += length as usize,
            (TIME_EXTEND, Some(high)) => {
                time_ns += delta + (high << TIME_BITS);
                at += 4;
            }
            (TIME_STAMP, Some(high)) => {
                time_ns = (delta + (high << TIME_BITS)) | (time_ns >> STAMP_BITS << STAMP_BITS);
                at += 4;
            }
            (0, Some(length)) if length >= 4 => {
                time_ns += delta;
                let bytes = at + 4..at + length as usize;
                let Some(raw) = page[..end].get(bytes) else { return };
                each(time_ns, raw);
                at += (length as usize).next_multiple_of(4);
            }
            (1..PADDING, _) => {
                time_ns += delta;
                let length = kind as usize * 4;
                let Some(raw) = page[..end].get(at..at + length) else { return };
                each(time_ns, raw);
                at += length;
            }
            _ => return,
        }
    }
}

fn word32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn word64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(words: &[u32], flags: u64) -> Vec<u8> {
        let mut bytes = 1_000_u64.to_ne_bytes().to_vec();
        bytes.extend(((words.len() as u64 * 4) | flags).to_ne_bytes());
        bytes.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
        bytes
    }

    fn events(page: &[u8]) -> Vec<(u64, usize, u8)> {
        let mut found = vec![];
        each_event(page, |time_ns, raw| found.push((time_ns, raw.len(), raw[0])));
        found
    }

    #[test]
    fn every_form_of_entry_is_understood() {
        let words = [
            1 | 5 << 5,
            0xa1, // an event of one word, 5 ns later
            TIME_EXTEND | 7 << 5,
            1, // 7 + 2^27 ns later …
            2,
            0xa2,
            0, // … one of two words
            3 << 5,
            8,
            0xa3, // one with its length of 4 bytes in a word of its own
            PADDING | 1 << 5,
            8,
            0, // a discarded event
            TIME_STAMP | 9 << 5,
            2, // an absolute time
            1 | 1 << 5,
            0xa4,
            PADDING, // the end
            0xffff_ffff,
        ];
        let stamp = 9 + (2 << 27) + 1;
        let later = 1_005 + 7 + (1 << 27);
        assert_eq!(
            events(&page(&words, 0)),
            [(1_005, 4, 0xa1), (later, 8, 0xa2), (later + 3, 4, 0xa3), (stamp, 4, 0xa4)]
        );
    }

    #[test]
    fn lost_events_are_counted_where_the_kernel_says_so() {
        assert_eq!(missed(&page(&[1, 2], 0)), None);
        assert_eq!(missed(&page(&[1, 2], MISSED_EVENTS)), Some(0));
        let mut counted = page(&[1, 2], MISSED_EVENTS | MISSED_STORED);
        counted.extend(77_u64.to_ne_bytes());
        assert_eq!(missed(&counted), Some(77));
    }

    #[test]
    fn a_broken_page_ends_and_does_not_fail() {
        let whole = page(&[1 | 5 << 5, 0xa1, 28, 0, 0], 0);
        assert_eq!(events(&whole), [(1_005, 4, 0xa1)]);
        for end in 0..whole.len() {
            events(&whole[..end]);
        }
    }

    #[test]
    fn the_kernel_says_how_its_pages_are() {
        let format = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:8;\
                    \tsigned:1;\n\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";
        assert!(knows(format));
        assert!(!knows(&format.replace("size:8;\tsigned:1", "size:4;\tsigned:1")));
        assert!(!knows(""));
    }
}

//! Sorting more events than memory holds: sorted runs in temporary files, merged at the end.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};

use crate::event::{Event, Kind, Source, Space, Text, Vantage};

const NUMBERS: usize = 15;
const HEAD_BYTES: usize = 30;

/// Sorted runs of events beside the output; their files have no names once they are open.
pub struct Runs {
    folder: PathBuf,
    files: Vec<File>,
}

impl Runs {
    /// None yet; files will be made in the folder of `output`.
    #[must_use]
    pub fn beside(output: &Path) -> Self {
        Self { folder: output.parent().unwrap_or(Path::new("")).to_owned(), files: Vec::new() }
    }

    /// Keeps one run, which is in order.
    pub fn add(&mut self, events: &[Event]) -> io::Result<()> {
        let path = self.folder.join(format!(".longlook-trace-{}-{}", std::process::id(), self.files.len()));
        let file = File::options().read(true).write(true).create_new(true).open(&path)?;
        std::fs::remove_file(&path)?;
        let mut out = BufWriter::with_capacity(1 << 18, file);
        for event in events {
            write_event(&mut out, event)?;
        }
        let mut file = out.into_inner()?;
        file.rewind()?;
        self.files.push(file);
        Ok(())
    }

    /// Gives all events in order of time; of equal times, in the order of the runs.
    pub fn merge<E: From<io::Error>>(self, mut each: impl FnMut(Event) -> Result<(), E>) -> Result<(), E> {
        let mut readers: Vec<_> = self.files.into_iter().map(|file| BufReader::with_capacity(1 << 16, file)).collect();
        let mut heads = Vec::with_capacity(readers.len());
        let mut order = BinaryHeap::new();
        for (run, reader) in readers.iter_mut().enumerate() {
            let head = read_event(reader)?;
            order.extend(head.map(|event| Reverse((event.time_ns, run))));
            heads.push(head);
        }
        while let Some(Reverse((_, run))) = order.pop() {
            if let Some(event) = heads[run] {
                each(event)?;
            }
            heads[run] = read_event(&mut readers[run])?;
            order.extend(heads[run].map(|event| Reverse((event.time_ns, run))));
        }
        Ok(())
    }
}

fn numbers(event: &mut Event) -> [&mut Option<i64>; NUMBERS - 1] {
    [
        &mut event.packet_number,
        &mut event.size_bytes,
        &mut event.stream,
        &mut event.cwnd_bytes,
        &mut event.ssthresh_bytes,
        &mut event.in_flight_bytes,
        &mut event.srtt_ns,
        &mut event.rttvar_ns,
        &mut event.min_rtt_ns,
        &mut event.latest_rtt_ns,
        &mut event.pacing_bps,
        &mut event.pto_count,
        &mut event.acked_bytes,
        &mut event.path,
    ]
}

fn write_event(out: &mut impl Write, event: &Event) -> io::Result<()> {
    let mut event = *event;
    let mut record = [0; HEAD_BYTES + 8 * NUMBERS];
    record[..8].copy_from_slice(&event.time_ns.to_le_bytes());
    record[8] = event.vantage as u8;
    record[9] = event.source as u8;
    record[10] = event.kind as u8;
    record[11] = event.space.map_or(0, |space| space as u8 + 1);
    record[12..16].copy_from_slice(&event.connection.to_le_bytes());
    for (slot, text) in [event.flow, event.name, event.detail].into_iter().enumerate() {
        let number = text.map_or(0, |text| text.number() + 1);
        record[16 + 4 * slot..20 + 4 * slot].copy_from_slice(&number.to_le_bytes());
    }
    let value = event.value.map(|value| value.to_bits() as i64);
    let mut present = 0_u16;
    let mut end = HEAD_BYTES;
    for (slot, number) in numbers(&mut event).into_iter().map(|number| *number).chain([value]).enumerate() {
        if let Some(number) = number {
            present |= 1 << slot;
            record[end..end + 8].copy_from_slice(&number.to_le_bytes());
            end += 8;
        }
    }
    record[28..30].copy_from_slice(&present.to_le_bytes());
    out.write_all(&record[..end])
}

fn read_event(from: &mut impl Read) -> io::Result<Option<Event>> {
    let mut head = [0; HEAD_BYTES];
    match from.read_exact(&mut head) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        done => done?,
    }
    let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let text = |at: usize| word(at).checked_sub(1).map(Text::new);
    let mut time = [0; 8];
    time.copy_from_slice(&head[..8]);
    let mut event = Event::new(
        i64::from_le_bytes(time),
        Vantage::ALL[head[8] as usize],
        Source::ALL[head[9] as usize],
        Kind::ALL[head[10] as usize],
    );
    event.space = (head[11] as usize).checked_sub(1).map(|space| Space::ALL[space]);
    event.connection = word(12);
    (event.flow, event.name, event.detail) = (text(16), text(20), text(24));
    let present = u16::from_le_bytes([head[28], head[29]]);
    let mut number = |slot: usize| -> io::Result<Option<i64>> {
        let mut bytes = [0; 8];
        if present & 1 << slot == 0 {
            return Ok(None);
        }
        from.read_exact(&mut bytes)?;
        Ok(Some(i64::from_le_bytes(bytes)))
    };
    for (slot, place) in numbers(&mut event).into_iter().enumerate() {
        *place = number(slot)?;
    }
    event.value = number(NUMBERS - 1)?.map(|bits| f64::from_bits(bits as u64));
    Ok(Some(event))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_survives_its_record() {
        let mut event = Event::new(-5, Vantage::Server, Source::Qlog, Kind::Blocked);
        event.space = Some(Space::VersionNegotiation);
        event.connection = 7;
        event.detail = Some(Text::new(0));
        event.packet_number = Some(i64::MIN);
        event.acked_bytes = Some(3);
        event.path = Some(1);
        event.value = Some(-0.5);
        let mut bytes = Vec::new();
        write_event(&mut bytes, &event).unwrap();
        assert_eq!(read_event(&mut bytes.as_slice()).unwrap(), Some(event));
        assert_eq!(read_event(&mut [].as_slice()).unwrap(), None);
    }
}

//! The packet log: the datapath fills chunks, a thread of normal priority writes them.
//!
//! The datapath never waits for the disk. When the writer falls behind by `CHUNKS_WAITING` chunks, records are lost,
//! counted, and the run fails at its end. When the writer fails, the datapath learns it with its next chunk.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::thread::JoinHandle;

use serde_json::{Value, json};

use crate::record::{RECORD_BYTES, Record};
use longlook_support::clock::Anchor;
use longlook_support::failure::Failure;

/// How a log begins; the digit is the version.
pub const MAGIC: &[u8; 8] = b"LLLINK2\n";
const ALIGNMENT: usize = 64;
const CHUNK_RECORDS: usize = 512;
/// 64 MB of records: half a second at a million packets/s, as a link with segmentation offload carries them.
const CHUNKS_WAITING: usize = 1024;
/// A quiet link's records reach the file after this long.
const FLUSH_NS: u64 = 100_000_000;

/// The datapath's end of the log.
pub struct Log {
    chunk: Vec<u8>,
    full: SyncSender<Vec<u8>>,
    empty: Receiver<Vec<u8>>,
    writer: JoinHandle<io::Result<()>>,
    path: String,
    lost: u64,
    flush_due_ns: Option<u64>,
}

/// The writer has stopped; [`Log::finish`] returns the reason.
#[derive(Debug)]
pub struct WriterStopped;

impl Log {
    /// Creates the file, writes the header and starts the writer.
    pub fn create(path: &Path, config: &Value, verdicts: &Value, clock: Anchor) -> Result<Self, Failure> {
        let shown = path.display().to_string();
        let failed = |error: &io::Error| log_failure(&shown, error);
        let mut file = File::create(path).map_err(|error| failed(&error))?;
        file.write_all(&header(config, verdicts, clock)).map_err(|error| failed(&error))?;
        let (full, chunks) = sync_channel(CHUNKS_WAITING);
        let (recycle, empty) = channel();
        let writer = std::thread::Builder::new()
            .name("log".to_owned())
            .spawn(move || write_chunks(file, &chunks, &recycle))
            .map_err(|error| failed(&error))?;
        Ok(Self {
            chunk: Vec::with_capacity(CHUNK_RECORDS * RECORD_BYTES),
            full,
            empty,
            writer,
            path: shown,
            lost: 0,
            flush_due_ns: None,
        })
    }

    /// Adds one record.
    pub fn push(&mut self, record: Record, now_ns: u64) -> Result<(), WriterStopped> {
        self.chunk.extend_from_slice(&record.to_bytes());
        if self.chunk.len() >= CHUNK_RECORDS * RECORD_BYTES {
            return self.flush();
        }
        self.flush_due_ns.get_or_insert(now_ns + FLUSH_NS);
        Ok(())
    }

    /// Adds one record and waits for the writer if it must: for the end, when no packet waits any more.
    ///
    /// The packets of a long link would be more than may wait, all at one moment.
    pub fn push_at_the_end(&mut self, record: Record) {
        self.chunk.extend_from_slice(&record.to_bytes());
        if self.chunk.len() >= CHUNK_RECORDS * RECORD_BYTES {
            let next = self.empty();
            // If the writer has stopped, `finish` returns the reason.
            let _ = self.full.send(std::mem::replace(&mut self.chunk, next));
        }
    }

    /// When a chunk that is not full should be handed over; None while there is nothing to write.
    pub fn flush_due_ns(&self) -> Option<u64> {
        self.flush_due_ns
    }

    /// Hands the current chunk to the writer without waiting.
    pub fn flush(&mut self) -> Result<(), WriterStopped> {
        self.flush_due_ns = None;
        let next = self.empty();
        match self.full.try_send(std::mem::replace(&mut self.chunk, next)) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(chunk)) => {
                self.lost += (chunk.len() / RECORD_BYTES) as u64;
                Ok(())
            }
            Err(TrySendError::Disconnected(_)) => Err(WriterStopped),
        }
    }

    fn empty(&self) -> Vec<u8> {
        self.empty.try_recv().unwrap_or_else(|_| Vec::with_capacity(CHUNK_RECORDS * RECORD_BYTES))
    }

    /// Writes what is left, waiting as long as it takes. Returns how many records were lost on the way.
    pub fn finish(self) -> Result<u64, Failure> {
        // A writer that has stopped returns its reason below.
        let _ = self.full.send(self.chunk);
        drop(self.full);
        match self.writer.join() {
            Ok(Ok(())) => Ok(self.lost),
            Ok(Err(error)) => Err(log_failure(&self.path, &error)),
            Err(_) => Err(Failure::new("the log's writer crashed")),
        }
    }
}

fn log_failure(path: &str, error: &io::Error) -> Failure {
    let failure = Failure::new(format!("the packet log {path} cannot be written: {error}"));
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            failure.hint("free space on that file system, or put the run's folder on another one")
        }
        _ => failure,
    }
}

fn write_chunks(mut file: File, chunks: &Receiver<Vec<u8>>, recycle: &Sender<Vec<u8>>) -> io::Result<()> {
    for mut chunk in chunks {
        file.write_all(&chunk)?;
        chunk.clear();
        // The datapath may be gone already; then the chunk is not needed.
        let _ = recycle.send(chunk);
    }
    Ok(())
}

fn header(config: &Value, verdicts: &Value, clock: Anchor) -> Vec<u8> {
    let mut text = json!({
        "version": 2,
        "record_bytes": RECORD_BYTES,
        "fields": Record::describe(),
        "config": config,
        "clock": {"monotonic_ns": clock.monotonic_ns, "unix_ns": clock.unix_ns},
        "verdicts": verdicts,
    })
    .to_string()
    .into_bytes();
    let before = MAGIC.len() + size_of::<u32>();
    text.resize((before + text.len()).next_multiple_of(ALIGNMENT) - before, b' ');
    let mut header = MAGIC.to_vec();
    header.extend_from_slice(&(text.len() as u32).to_le_bytes());
    header.append(&mut text);
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    fn create(path: &str) -> Log {
        let clock = Anchor { monotonic_ns: 1, unix_ns: 2 };
        Log::create(Path::new(path), &json!({"seed": 1}), &json!({"delivered": 0}), clock).expect("it can be made")
    }

    #[test]
    fn the_file_holds_header_and_every_record() {
        let path = std::env::temp_dir().join(format!("longlook-link-log-{}", std::process::id()));
        let mut log = create(path.to_str().expect("text"));
        let count = CHUNK_RECORDS * 2 + 3;
        for sequence in 0..count {
            log.push(Record { sequence: sequence as u64, ..Record::default() }, 0).expect("the writer lives");
        }
        assert_eq!(log.finish().expect("all is written"), 0);
        let bytes = std::fs::read(&path).expect("it is there");
        std::fs::remove_file(&path).expect("it can go");
        let length = u32::from_le_bytes(bytes[8..12].try_into().expect("four bytes")) as usize;
        assert_eq!((12 + length) % ALIGNMENT, 0);
        let parsed: Value = serde_json::from_slice(&bytes[12..12 + length]).expect("JSON");
        assert_eq!(parsed["record_bytes"], RECORD_BYTES);
        assert_eq!(bytes.len() - 12 - length, count * RECORD_BYTES);
    }

    #[test]
    fn nothing_is_lost_at_the_end_however_much_it_is() {
        let path = std::env::temp_dir().join(format!("longlook-link-log-end-{}", std::process::id()));
        let mut log = create(path.to_str().expect("text"));
        let before = std::fs::metadata(&path).expect("it is there").len();
        let count = CHUNK_RECORDS * (CHUNKS_WAITING + 50);
        for sequence in 0..count {
            log.push_at_the_end(Record { sequence: sequence as u64, ..Record::default() });
        }
        assert_eq!(log.finish().expect("all is written"), 0);
        let after = std::fs::metadata(&path).expect("it is there").len();
        std::fs::remove_file(&path).expect("it can go");
        assert_eq!(after - before, (count * RECORD_BYTES) as u64);
    }

    #[test]
    fn a_full_disk_is_told_with_a_hint() {
        let failure =
            Log::create(Path::new("/dev/full"), &json!({}), &json!({}), Anchor { monotonic_ns: 1, unix_ns: 2 })
                .err()
                .expect("nothing can be written there");
        assert!(failure.reason.contains("/dev/full"), "{failure}");
        assert!(failure.hint.is_some());
    }

    #[test]
    fn an_impossible_path_is_told() {
        let clock = Anchor { monotonic_ns: 1, unix_ns: 2 };
        let failure = Log::create(Path::new("/nonexistent/x"), &json!({}), &json!({}), clock).err().expect("no folder");
        assert!(failure.reason.contains("/nonexistent/x"), "{failure}");
    }
}

//! A trace file → a table of events.

use std::path::{Path, PathBuf};

use failure::Failure;

use crate::account::Account;
use crate::event::Vantage;
use crate::input::{Input, RECORD_MARK};
use crate::tcp;
use crate::walk::{Learned, Walk};
use crate::writer::{self, Halt};

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
const HINT: &str = "longlook-trace decode reads qlog (JSON, NDJSON, JSON-SEQ), also packed with gzip, and recordings of the kernel's TCP";

/// What to decode, and how.
pub struct Task {
    /// The trace.
    pub input: PathBuf,
    /// The table to write.
    pub output: PathBuf,
    /// Where the trace was written, for traces that do not say it.
    pub vantage: Vantage,
    /// How much of the unpacked trace is read.
    pub limit_bytes: u64,
}

/// Decodes a trace, recognised by its content.
pub fn decode(task: &Task) -> Result<Account, Failure> {
    let mut input = open(task)?;
    input.more();
    if input.pending().starts_with(tcp::MAGIC) {
        return tcp::decode(&task.input, &task.output, task.limit_bytes);
    }
    let container = match recognise(&mut input) {
        Some(container) => container,
        None => return Err(refuse(&task.input, &input)),
    };
    let mut learned: Option<Learned> = None;
    let account = writer::write(
        &task.output,
        || Account::new("qlog", container),
        |writer| {
            let mut input = open(task)?;
            recognise(&mut input);
            let again = Walk::new(&mut input, writer, task.vantage, learned.as_ref()).file()?;
            match again {
                Some(seen) => {
                    learned = Some(seen);
                    Err(Halt::Learned)
                }
                None => Ok(()),
            }
        },
    )?;
    Ok(account)
}

fn open(task: &Task) -> Result<Input, Failure> {
    Ok(Input::open(&task.input)?.limited(task.limit_bytes))
}

/// The container, with what comes before its first object passed over.
fn recognise(input: &mut Input) -> Option<&'static str> {
    input.more();
    if input.pending().starts_with(BYTE_ORDER_MARK) {
        input.consume(BYTE_ORDER_MARK.len());
    }
    let mark = input.pending().first() == Some(&RECORD_MARK);
    match input.skip_space() {
        Some(b'{') => Some(if mark { "json-seq" } else { "ndjson" }),
        _ => None,
    }
}

fn refuse(path: &Path, input: &Input) -> Failure {
    let name = path.display();
    let reason = match (input.pending().first(), input.cut()) {
        (None, Some(reason)) => format!("{name} holds nothing that can be unpacked: {reason}"),
        (None, None) => format!("{name} is empty"),
        _ => format!("{name} is no trace: it does not begin with a JSON object"),
    };
    Failure::usage(reason).hint(HINT)
}

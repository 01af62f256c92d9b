//! A trace file → a table of events.

use std::io::Read;
use std::path::{Path, PathBuf};

use longlook_support::failure::Failure;

use crate::account::Account;
use crate::capture;
use crate::event::Vantage;
use crate::input::{Input, RECORD_MARK};
use crate::packing;
use crate::tcp;
use crate::walk::{Learned, Walk};
use crate::writer::{self, Halt};

const MOST_KEY_BYTES: u64 = 256 << 20;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
const HINT: &str = "longlook-trace decode reads qlog (JSON, NDJSON, JSON-SEQ) and Chromium's netlog, recordings \
                    of the kernel's TCP, and captures (pcap, pcapng), also packed with gzip or zstd";

/// How files begin that people take for traces, and what they are.
const OTHERS: [(&[u8], &str); 2] =
    [(b"\xfd7zXZ", "packed with xz (unpack it: xz -d)"), (b"PK\x03\x04", "a ZIP archive (unpack it: unzip)")];

/// The options of decoding.
pub struct Task {
    /// The trace.
    pub input: PathBuf,
    /// The table to write.
    pub output: PathBuf,
    /// Where events of a netlog's requests are written, if they are wanted.
    pub requests: Option<PathBuf>,
    /// Where the trace was written, for traces that do not name it.
    pub vantage: Vantage,
    /// Of a capture: secrets of TLS, as a key log in NSS's format.
    pub keys: Option<PathBuf>,
    /// How much of the unpacked trace is read.
    pub limit_bytes: u64,
}

/// Decodes a trace, recognised by its content.
pub fn decode(task: &Task) -> Result<Account, Failure> {
    let open = || Ok(Input::open(&task.input)?.limited(task.limit_bytes));
    let mut input = open()?;
    input.more();
    if input.pending().starts_with(tcp::MAGIC) {
        let bytes = || Ok(Box::new(tcp::open(&task.input)?.take(task.limit_bytes)) as Box<dyn Read>);
        return tcp::decode(&bytes, &task.input, &task.output);
    }
    if capture::is_capture(input.pending()) {
        let open = || Ok(Box::new(packing::open(&task.input)?.take(task.limit_bytes)) as Box<dyn Read>);
        let (name, output) = (task.input.as_path(), task.output.as_path());
        let keys = task.keys.as_deref().map(key_log).transpose()?.unwrap_or_default();
        return capture::decode(&capture::Task { open: &open, name, output, vantage: task.vantage, keys: &keys });
    }
    if task.keys.is_some() {
        let reason = format!("{} is no capture of packets, and needs no key log", task.input.display());
        return Err(Failure::usage(reason).hint("leave --keys out"));
    }
    decode_with(&open, &task.input, &task.output, task.vantage, task.requests.as_deref())
}

/// Decodes a trace that is text, from wherever it is opened; `name` is for people. It may be opened several times.
pub fn decode_text(
    open: &dyn Fn() -> Result<Input, Failure>,
    name: &Path,
    output: &Path,
    vantage: Vantage,
) -> Result<Account, Failure> {
    decode_with(open, name, output, vantage, None)
}

fn key_log(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut log = Vec::new();
    packing::open(path)?.take(MOST_KEY_BYTES).read_to_end(&mut log).map_err(|error| {
        let hint = "name the file that SSLKEYLOGFILE of the client or the server wrote";
        Failure::usage(format!("the key log {} cannot be read: {error}", path.display())).hint(hint)
    })?;
    Ok(log)
}

fn decode_with(
    open: &dyn Fn() -> Result<Input, Failure>,
    name: &Path,
    output: &Path,
    vantage: Vantage,
    requests: Option<&Path>,
) -> Result<Account, Failure> {
    let mut input = open()?;
    let Some(container) = recognise(&mut input) else { return Err(refuse(name, &input)) };
    let mut learned: Option<Learned> = None;
    writer::write(
        output,
        || Account::new("qlog", container),
        |writer| {
            let mut input = open()?;
            recognise(&mut input);
            match Walk::new(&mut input, writer, vantage, learned.as_ref()).with_requests(requests).file()? {
                Some(seen) => {
                    learned = Some(seen);
                    Err(Halt::Learned)
                }
                None => Ok(()),
            }
        },
    )
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
    let known = |(magic, _): &&(&[u8], &str)| input.pending().starts_with(magic);
    if let Some((_, what)) = OTHERS.iter().find(known) {
        let reason = format!("{name} is {what}, which is not read");
        return Failure::usage(reason).hint(HINT);
    }
    let reason = match (input.pending().first(), input.cut()) {
        (None, Some(reason)) => format!("{name} holds nothing that can be unpacked: {reason}"),
        (None, None) => format!("{name} is empty"),
        _ => format!("{name} is not a trace: it does not begin with a JSON object"),
    };
    Failure::usage(reason).hint(HINT)
}

//! A log as other programs hand it over: an Arrow IPC stream of three columns, and nothing else.

use std::io::Read;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, DictionaryArray, RecordBatch};
use arrow_ipc::reader::StreamReader;

use crate::log::{Event, Log, MOST_KINDS, Trace};

/// The end of a trace that has not been given.
const OPEN_NS: i64 = i64::MIN;

/// Columns and their types, for messages.
pub const COLUMNS: &str = "trace: dictionary<int32, utf8>, time_ns: int64, name: dictionary<int32, utf8>";

/// Reads a log. The rows of one trace stand in order of time; those of several may be mixed. A row without a name is the
/// end of its trace; a trace that has none ends with its last event.
///
/// # Errors
/// The problem of the stream, in words.
pub fn read(stream: impl Read) -> Result<Log, String> {
    let reader = StreamReader::try_new(stream, None).map_err(|error| format!("not an Arrow IPC stream: {error}"))?;
    let mut kinds = Names::default();
    let mut names = Names::default();
    let mut traces: Vec<Trace> = Vec::new();
    for batch in reader {
        let batch = batch.map_err(|error| format!("the Arrow IPC stream is broken: {error}"))?;
        add(&batch, &mut kinds, &mut names, &mut traces)?;
    }
    for trace in &mut traces {
        if trace.end_ns == OPEN_NS {
            trace.end_ns = trace.events.last().map_or(OPEN_NS, |event| event.time_ns);
        }
    }
    // Dictionaries may name traces that no row belongs to.
    traces.retain(|trace| !trace.events.is_empty() || trace.end_ns != OPEN_NS);
    Ok(Log { kinds: kinds.texts, traces })
}

fn add(batch: &RecordBatch, kinds: &mut Names, names: &mut Names, traces: &mut Vec<Trace>) -> Result<(), String> {
    let (trace_of_row, trace_names) = texts(batch, "trace")?;
    let (kind_of_row, kind_names) = texts(batch, "name")?;
    let times = batch.column_by_name("time_ns").and_then(|column| column.as_primitive_opt::<Int64Type>());
    let times = times.filter(|times| times.null_count() == 0).ok_or_else(|| wrong("time_ns"))?;
    let trace_numbers: Vec<usize> = trace_names.iter().map(|name| names.number(name)).collect();
    let kind_numbers: Vec<usize> = kind_names.iter().map(|name| kinds.number(name)).collect();
    if kinds.texts.len() > MOST_KINDS {
        return Err(format!("{} kinds of events; at most {MOST_KINDS} can be distinguished", kinds.texts.len()));
    }
    for (row, &time_ns) in times.values().iter().enumerate() {
        let trace = trace_of_row[row].ok_or_else(|| format!("row {row} belongs to no trace"))?;
        let number = trace_numbers[trace];
        while traces.len() <= number {
            let name = names.texts[traces.len()].clone();
            traces.push(Trace { name, events: Vec::new(), end_ns: OPEN_NS });
        }
        let trace = &mut traces[number];
        if let Some(kind) = kind_of_row[row] {
            if trace.end_ns != OPEN_NS {
                return Err(format!("trace {}: row {row} stands behind its end", trace.name));
            }
            trace.events.push(Event { kind: kind_numbers[kind] as u16, time_ns });
        } else {
            trace.end_ns = time_ns;
        }
    }
    Ok(())
}

/// The place of each row among the texts of a column.
fn texts(batch: &RecordBatch, name: &str) -> Result<(Vec<Option<usize>>, Vec<String>), String> {
    let column = batch.column_by_name(name).ok_or_else(|| wrong(name))?;
    let column: &DictionaryArray<Int32Type> = column.as_dictionary_opt::<Int32Type>().ok_or_else(|| wrong(name))?;
    let values = column.values().as_string_opt::<i32>().ok_or_else(|| wrong(name))?;
    let texts = values.iter().map(|text| text.unwrap_or_default().to_owned()).collect();
    Ok((column.keys_iter().map(|key| key.filter(|&key| values.is_valid(key))).collect(), texts))
}

fn wrong(column: &str) -> String {
    format!("column {column} is missing or of another type")
}

/// Texts in the order in which they were first seen.
#[derive(Default)]
struct Names {
    texts: Vec<String>,
    numbers: std::collections::HashMap<String, usize>,
}

impl Names {
    fn number(&mut self, text: &str) -> usize {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        self.texts.push(text.to_owned());
        self.numbers.insert(text.to_owned(), self.texts.len() - 1);
        self.texts.len() - 1
    }
}

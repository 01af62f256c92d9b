//! Events → Parquet, in order of time, in bounded memory.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{Array, StringArray};
use arrow_schema::{DataType, SchemaRef};
use longlook_support::failure::Failure;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use crate::account::Account;
use crate::batch;
use crate::event::{Event, Text};
use crate::external_sort::Runs;
use crate::interner::Interner;
use crate::plausible::Plausible;

/// Rows of a row group.
const GROUP_ROWS: usize = 1 << 16;
/// Rows of one half of the window in which events are put in order. A row takes 300 bytes: a larger window costs a short
/// trace a quarter of its time in pages of memory that are touched once.
const WINDOW_ROWS: usize = 1 << 14;
const RUN_ROWS: usize = 4 * GROUP_ROWS;
/// Rows that are turned into columns at a time: few enough to stay in a processor's cache while each column is made.
const BATCH_ROWS: usize = 1 << 12;

/// Why writing stopped.
#[derive(Debug)]
pub enum Halt {
    /// An event lies before rows that are written already: begin again with a full sort ([`write`] does).
    Disordered,
    /// A later part of the trace changes the meaning of rows that are written already: begin again ([`write`] does, once).
    Learned,
    /// It cannot go on.
    Failed(Failure),
}

impl From<Failure> for Halt {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<io::Error> for Halt {
    fn from(error: io::Error) -> Self {
        Self::Failed(Failure::machine(format!("events cannot be written: {error}")).hint("free space for the output"))
    }
}

impl From<ParquetError> for Halt {
    fn from(error: ParquetError) -> Self {
        Self::Failed(Failure::machine(format!("events cannot be written: {error}")).hint("free space for the output"))
    }
}

/// Writes a table: `fill` pushes the events of a trace, in any order. A trace whose events are nearly in order is
/// written as it comes; for others `fill` is called a second time, and everything is sorted by way of files.
///
/// # Errors
/// Whatever `fill` fails with, and an output that cannot be written.
pub fn write(
    output: &Path,
    account: impl Fn() -> Account,
    mut fill: impl FnMut(&mut EventWriter) -> Result<(), Halt>,
) -> Result<Account, Failure> {
    let (mut sort, mut learned) = (false, false);
    loop {
        let order = if sort { Order::Full(Runs::beside(output)) } else { Order::Window };
        let done = EventWriter::create(output, account(), order).and_then(|mut writer| {
            fill(&mut writer)?;
            writer.finish()
        });
        match done {
            Ok(account) => return Ok(account),
            Err(Halt::Disordered) if !sort => sort = true,
            Err(Halt::Learned) if !learned => learned = true,
            Err(Halt::Failed(failure)) => return Err(failure),
            Err(again) => return Err(Failure::new(format!("{again:?} a second time"))),
        }
    }
}

enum Order {
    Window,
    Full(Runs),
}

/// Takes events and writes them.
pub struct EventWriter {
    /// The account of the trace; it becomes the table's metadata.
    pub account: Account,
    /// Compares the trace with itself.
    pub plausible: Plausible,
    texts: Interner,
    order: Order,
    /// Events in order, all of them before those of `newer` once those are sorted in.
    older: Vec<Event>,
    newer: Vec<Event>,
    newer_is_ordered: bool,
    written_ns: i64,
    table: Table,
}

impl EventWriter {
    fn create(output: &Path, account: Account, order: Order) -> Result<Self, Halt> {
        Ok(Self {
            account,
            plausible: Plausible::default(),
            texts: Interner::default(),
            order,
            older: Vec::with_capacity(WINDOW_ROWS),
            newer: Vec::with_capacity(WINDOW_ROWS),
            newer_is_ordered: true,
            written_ns: i64::MIN,
            table: Table::create(output)?,
        })
    }

    /// The text for an event's `flow`, `name` or `detail`; `None` when the trace has too many different ones.
    pub fn text(&mut self, text: &str) -> Option<Text> {
        self.texts.intern(text)
    }

    /// Takes one row.
    pub fn push(&mut self, event: Event) -> Result<(), Halt> {
        self.plausible.see(&event);
        self.take(&event)
    }

    fn take(&mut self, event: &Event) -> Result<(), Halt> {
        if let Order::Full(_) = self.order {
            self.newer.push(*event);
            return if self.newer.len() == RUN_ROWS { self.spill() } else { Ok(()) };
        }
        if event.time_ns < self.written_ns {
            return Err(Halt::Disordered);
        }
        let last = self.newer.last().or(self.older.last());
        self.newer_is_ordered &= last.is_none_or(|last| last.time_ns <= event.time_ns);
        self.account.count_row(event);
        self.newer.push(*event);
        if self.newer.len() < WINDOW_ROWS {
            return Ok(());
        }
        self.put_in_order();
        self.write_older()?;
        std::mem::swap(&mut self.older, &mut self.newer);
        Ok(())
    }

    fn put_in_order(&mut self) {
        if !self.newer_is_ordered {
            self.older.append(&mut self.newer);
            self.older.sort_by_key(|event| event.time_ns);
            self.newer = self.older.split_off(self.older.len().saturating_sub(WINDOW_ROWS));
            self.newer_is_ordered = true;
        }
    }

    fn write_older(&mut self) -> Result<(), Halt> {
        if let Some(last) = self.older.last() {
            self.written_ns = last.time_ns;
            self.table.write(&self.older, &self.texts)?;
            self.older.clear();
        }
        Ok(())
    }

    fn spill(&mut self) -> Result<(), Halt> {
        self.newer.sort_by_key(|event| event.time_ns);
        if let Order::Full(runs) = &mut self.order {
            runs.add(&self.newer)?;
        }
        self.newer.clear();
        Ok(())
    }

    fn merge(&mut self) -> Result<(), Halt> {
        self.spill()?;
        let Order::Full(runs) = std::mem::replace(&mut self.order, Order::Window) else { return Ok(()) };
        runs.merge(|event| self.take(&event))
    }

    fn finish(mut self) -> Result<Account, Halt> {
        if let Order::Full(_) = self.order {
            self.merge()?;
        }
        self.put_in_order();
        self.write_older()?;
        std::mem::swap(&mut self.older, &mut self.newer);
        self.write_older()?;
        if self.texts.refused() > 0 {
            let refused = self.texts.refused();
            self.account.warn(0, 0, format!("{refused} texts left out: the trace has too many different ones"));
        }
        let (implausible, unchecked) = self.plausible.contradictions();
        self.account.implausible = implausible;
        if let Some(unchecked) = unchecked {
            self.account.warn(0, 0, unchecked);
        }
        self.table.finish(&self.account)?;
        Ok(self.account)
    }
}

struct Table {
    schema: SchemaRef,
    parquet: ArrowWriter<File>,
    values: Arc<StringArray>,
}

impl Table {
    fn create(output: &Path) -> Result<Self, Halt> {
        let schema = batch::schema();
        let file = File::create(output).map_err(|error| {
            Failure::machine(format!("{} cannot be written: {error}", output.display())).hint("name another --out")
        })?;
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .set_statistics_enabled(EnabledStatistics::None)
            .set_column_statistics_enabled(ColumnPath::from("time_ns"), EnabledStatistics::Chunk);
        for field in schema.fields() {
            let path = ColumnPath::from(field.name().as_str());
            properties = match field.data_type() {
                DataType::Int64 | DataType::Int32 => properties
                    .set_column_dictionary_enabled(path.clone(), false)
                    .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
                DataType::Float64 => properties.set_column_dictionary_enabled(path, false),
                _ => properties,
            };
        }
        let parquet = ArrowWriter::try_new(file, schema.clone(), Some(properties.build()))?;
        Ok(Self { schema, parquet, values: Arc::new(StringArray::from_iter_values([""; 0])) })
    }

    fn write(&mut self, events: &[Event], texts: &Interner) -> Result<(), Halt> {
        if self.values.len() < texts.len() {
            self.values = Arc::new(texts.array());
        }
        for events in events.chunks(BATCH_ROWS) {
            let batch = batch::batch(&self.schema, events, &self.values).map_err(ParquetError::from)?;
            self.parquet.write(&batch)?;
        }
        Ok(())
    }

    fn finish(mut self, account: &Account) -> Result<(), Halt> {
        let account = serde_json::to_string(account).map_err(|error| Failure::new(error.to_string()))?;
        self.parquet.append_key_value_metadata(KeyValue::new("longlook".to_owned(), account));
        self.parquet.close()?;
        Ok(())
    }
}

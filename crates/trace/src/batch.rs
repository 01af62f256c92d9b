//! Events → columns.

use std::sync::Arc;

use arrow_array::types::{ArrowDictionaryKeyType, ArrowPrimitiveType, Float64Type, Int8Type, Int32Type, Int64Type};
use arrow_array::{ArrayRef, BooleanArray, DictionaryArray, PrimitiveArray, RecordBatch, StringArray};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder, NullBuffer};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

use crate::event::{Event, Kind, Source, Space, Text, Vantage};

/// The columns, in their order.
#[must_use]
pub fn schema() -> SchemaRef {
    let word = || DataType::Dictionary(DataType::Int8.into(), DataType::Utf8.into());
    let text = || DataType::Dictionary(DataType::Int32.into(), DataType::Utf8.into());
    let mut fields = vec![
        Field::new("time_ns", DataType::Int64, false),
        Field::new("vantage", word(), false),
        Field::new("source", word(), false),
        Field::new("kind", word(), false),
        Field::new("priming", DataType::Boolean, false),
        Field::new("flow", text(), true),
        Field::new("space", word(), true),
        Field::new("packet_number", DataType::Int64, true),
        Field::new("size_bytes", DataType::Int64, true),
        Field::new("name", text(), true),
        Field::new("detail", text(), true),
        Field::new("stream", DataType::Int64, true),
        Field::new("value", DataType::Float64, true),
    ];
    fields.extend(METRICS.iter().map(|(name, _)| Field::new(*name, DataType::Int64, true)));
    fields.push(Field::new("path", DataType::Int64, true));
    fields.push(Field::new("connection", DataType::Int32, false));
    Arc::new(Schema::new(fields))
}

type Number = fn(&Event) -> Option<i64>;

const METRICS: [(&str, Number); 10] = [
    ("cwnd_bytes", |event| event.cwnd_bytes),
    ("ssthresh_bytes", |event| event.ssthresh_bytes),
    ("in_flight_bytes", |event| event.in_flight_bytes),
    ("srtt_ns", |event| event.srtt_ns),
    ("rttvar_ns", |event| event.rttvar_ns),
    ("min_rtt_ns", |event| event.min_rtt_ns),
    ("latest_rtt_ns", |event| event.latest_rtt_ns),
    ("pacing_bps", |event| event.pacing_bps),
    ("pto_count", |event| event.pto_count),
    ("acked_bytes", |event| event.acked_bytes),
];

/// The events as one batch of the schema; `texts` are all texts by number.
pub fn batch(schema: &SchemaRef, events: &[Event], texts: &Arc<StringArray>) -> Result<RecordBatch, ArrowError> {
    let words = |members: Vec<&str>| Arc::new(StringArray::from_iter_values(members));
    let vantages = words(Vantage::ALL.iter().map(|vantage| vantage.as_str()).collect());
    let sources = words(Source::ALL.iter().map(|source| source.as_str()).collect());
    let kinds = words(Kind::ALL.iter().map(|kind| kind.as_str()).collect());
    let spaces = words(Space::ALL.iter().map(|space| space.as_str()).collect());
    let text = |of: fn(&Event) -> Option<Text>| {
        dictionary::<Int32Type>(column(events, |event| of(event).map(|text| text.number() as i32)), texts)
    };
    let number = |of: Number| -> ArrayRef { Arc::new(column::<Int64Type>(events, of)) };
    let mut columns = vec![
        Arc::new(PrimitiveArray::<Int64Type>::from_iter_values(events.iter().map(|event| event.time_ns))) as ArrayRef,
        dictionary::<Int8Type>(required(events, |event| event.vantage as i8), &vantages)?,
        dictionary::<Int8Type>(required(events, |event| event.source as i8), &sources)?,
        dictionary::<Int8Type>(required(events, |event| event.kind as i8), &kinds)?,
        Arc::new(BooleanArray::new(BooleanBuffer::new_unset(events.len()), None)),
        text(|event| event.flow)?,
        dictionary::<Int8Type>(column(events, |event| event.space.map(|space| space as i8)), &spaces)?,
        number(|event| event.packet_number),
        number(|event| event.size_bytes),
        text(|event| event.name)?,
        text(|event| event.detail)?,
        number(|event| event.stream),
        Arc::new(column::<Float64Type>(events, |event| event.value)),
    ];
    columns.extend(METRICS.iter().map(|(_, of)| number(*of)));
    columns.push(number(|event| event.path));
    columns.push(Arc::new(required::<Int32Type>(events, |event| event.connection as i32)));
    RecordBatch::try_new(schema.clone(), columns)
}

fn required<T: ArrowPrimitiveType>(events: &[Event], of: impl Fn(&Event) -> T::Native) -> PrimitiveArray<T> {
    PrimitiveArray::from_iter_values(events.iter().map(of))
}

fn column<T: ArrowPrimitiveType>(events: &[Event], of: impl Fn(&Event) -> Option<T::Native>) -> PrimitiveArray<T> {
    let mut values = Vec::with_capacity(events.len());
    let mut present = BooleanBufferBuilder::new(events.len());
    for event in events {
        let value = of(event);
        present.append(value.is_some());
        values.push(value.unwrap_or_default());
    }
    PrimitiveArray::new(values.into(), Some(NullBuffer::new(present.finish())))
}

fn dictionary<K: ArrowDictionaryKeyType>(
    keys: PrimitiveArray<K>,
    values: &Arc<StringArray>,
) -> Result<ArrayRef, ArrowError> {
    Ok(Arc::new(DictionaryArray::try_new(keys, values.clone())?))
}

//! One event as it stands in the file: its parts, not yet understood.

use crate::json::{Bad, Cursor};

/// A part of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// Its time, in the trace's format.
    Time,
    /// Since the reference.
    RelativeTime,
    /// Since the event before.
    DeltaTime,
    /// Category and name in one.
    Name,
    /// The category alone.
    Category,
    /// The name without its category.
    Event,
    /// The trigger, where it stands beside the data.
    Trigger,
    /// The event's data.
    Data,
    /// Which connection it belongs to.
    Group,
    /// Which path of it.
    Path,
    /// Which pair of addresses.
    Tuple,
    /// The source of a row of ours.
    Source,
    /// Something else.
    Other,
}

impl Field {
    /// By its key.
    #[must_use]
    pub fn of(key: &[u8]) -> Self {
        match key {
            b"time" => Self::Time,
            b"name" => Self::Name,
            b"data" => Self::Data,
            b"group_id" | b"group" => Self::Group,
            b"path_id" => Self::Path,
            b"tuple" => Self::Tuple,
            b"relative_time" => Self::RelativeTime,
            b"delta_time" => Self::DeltaTime,
            b"category" => Self::Category,
            b"event" | b"event_type" | b"type" => Self::Event,
            b"trigger" => Self::Trigger,
            b"longlook_source" => Self::Source,
            _ if key.iter().any(u8::is_ascii_uppercase) => Self::of(&key.to_ascii_lowercase()),
            _ => Self::Other,
        }
    }
}

/// The parts of one event; texts as they are written.
#[derive(Clone, Copy, Default)]
pub struct Record<'a> {
    /// Time, in whichever format.
    pub time: Option<&'a [u8]>,
    /// `category:event`, or only the event.
    pub name: &'a [u8],
    /// Where the name is without one.
    pub category: &'a [u8],
    /// The trigger.
    pub trigger: Option<&'a [u8]>,
    /// Which connection it belongs to.
    pub group: Option<&'a [u8]>,
    /// Which path of it.
    pub path: Option<&'a [u8]>,
    /// Which pair of addresses.
    pub tuple: Option<&'a [u8]>,
    /// The source of a row of ours.
    pub source: Option<&'a [u8]>,
    /// The data: one JSON value, or nothing.
    pub data: &'a [u8],
}

impl<'a> Record<'a> {
    /// Reads an event, which is an object or, by `fields`, an array.
    pub fn read(cursor: &mut Cursor<'a>, fields: &[Field]) -> Result<Self, Bad> {
        let mut record = Self::default();
        if cursor.peek()? == b'[' {
            cursor.array(|place, cursor| record.part(fields.get(place).copied().unwrap_or(Field::Other), cursor))?;
        } else {
            cursor.object(|key, cursor| record.part(Field::of(key), cursor))?;
        }
        Ok(record)
    }

    fn part(&mut self, field: Field, cursor: &mut Cursor<'a>) -> Result<(), Bad> {
        match field {
            Field::Time | Field::RelativeTime | Field::DeltaTime => self.time = Some(cursor.scalar()?),
            Field::Name | Field::Event => self.name = cursor.scalar()?,
            Field::Category => self.category = cursor.scalar()?,
            Field::Data => self.data = cursor.skip()?,
            Field::Trigger => self.trigger = scalar_or_nothing(cursor)?,
            Field::Group => self.group = scalar_or_nothing(cursor)?,
            Field::Path => self.path = scalar_or_nothing(cursor)?,
            Field::Tuple => self.tuple = scalar_or_nothing(cursor)?,
            Field::Source => self.source = scalar_or_nothing(cursor)?,
            Field::Other => {
                cursor.skip()?;
            }
        }
        Ok(())
    }
}

fn scalar_or_nothing<'a>(cursor: &mut Cursor<'a>) -> Result<Option<&'a [u8]>, Bad> {
    if matches!(cursor.peek()?, b'{' | b'[') {
        cursor.skip()?;
        return Ok(None);
    }
    cursor.scalar().map(Some)
}

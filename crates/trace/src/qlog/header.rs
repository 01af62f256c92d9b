//! The header of a trace in a qlog file: everything but its events.

use serde_json::Value;

use crate::decimal::scaled;
use crate::event::Vantage;
use crate::json::Members;
use crate::qlog::longlook::LonglookFields;
use crate::qlog::record::Field;
use crate::rfc3339;

const LONGEST_TEXT: usize = 200;

/// How the times of events are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeFormat {
    /// The file does not name it; the first time shows it.
    Unknown,
    /// Since the reference.
    Relative,
    /// Since 1970, or another epoch.
    Absolute,
    /// Since the event before.
    Delta,
}

/// The header of one trace.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are enough")]
pub struct Header {
    pub vantage: Vantage,
    pub schema: Option<String>,
    pub producer: Option<String>,
    pub connection_id: Option<String>,
    pub time_format: TimeFormat,
    /// Power of ten from the file's unit of time to nanoseconds.
    pub time_power: i32,
    /// Whether the file declares that unit: up to draft-02, for round trips too.
    pub declares_unit: bool,
    pub time_offset_ns: i64,
    pub reference_unix_ns: Option<i64>,
    pub clock: &'static str,
    /// The meaning of the places of an event that is written as an array.
    pub fields: Vec<Field>,
    /// Present in files that `longlook trace convert` wrote.
    pub longlook: Option<LonglookFields>,
}

impl Header {
    /// Reads the header of a trace from its members and those of its file.
    #[must_use]
    pub fn new(file: &Members, trace: &Members) -> Self {
        let common = object(trace, "common_fields").or(object(file, "common_fields"));
        let configuration = object(trace, "configuration").or(object(file, "configuration"));
        let of_common = |key: &str| common.and_then(|common| common.get(key));
        let of_configuration = |key: &str| configuration.and_then(|configuration| configuration.get(key));
        let declared = match of_configuration("time_units").and_then(Value::as_str) {
            Some("ms") => Some(6),
            Some("us") => Some(3),
            Some("ns") => Some(0),
            _ => None,
        };
        let time_power = declared.unwrap_or(6);
        let (reference_unix_ns, clock) = reference(of_common("reference_time"), time_power);
        let fields: Vec<Field> = trace
            .get("event_fields")
            .and_then(Value::as_array)
            .map(|names| names.iter().map(|name| Field::of(name.as_str().unwrap_or_default().as_bytes())).collect())
            .unwrap_or_default();
        let given = of_common("time_format").and_then(Value::as_str).unwrap_or_default();
        let time_format = match given {
            "relative" | "relative_to_epoch" => TimeFormat::Relative,
            "absolute" => TimeFormat::Absolute,
            "delta" | "relative_to_previous_event" => TimeFormat::Delta,
            _ if fields.contains(&Field::RelativeTime) => TimeFormat::Relative,
            _ if fields.contains(&Field::DeltaTime) => TimeFormat::Delta,
            _ => TimeFormat::Unknown,
        };
        let connection_id =
            ["ODCID", "group_id", "group_ids", "dcid"].into_iter().find_map(|key| hexadecimal(of_common(key)));
        Self {
            vantage: vantage(trace.get("vantage_point")),
            schema: schema(file, trace).as_deref().map(cut),
            producer: producer(file, trace).as_deref().map(cut),
            connection_id: connection_id.or_else(|| hexadecimal(trace.get("description"))),
            time_format,
            time_power,
            declares_unit: declared.is_some(),
            time_offset_ns: of_configuration("time_offset").and_then(|value| number(value, time_power)).unwrap_or(0),
            reference_unix_ns,
            clock,
            fields,
            longlook: LonglookFields::of(trace),
        }
    }
}

/// The beginning of a text that every trace of a file may repeat.
fn cut(text: &str) -> String {
    text.chars().take(LONGEST_TEXT).collect()
}

fn object<'a>(members: &'a Members, key: &str) -> Option<&'a Members> {
    members.get(key).and_then(Value::as_object)
}

/// A number, also one in quotes, times ten to the power.
#[must_use]
pub fn number(value: &Value, power: i32) -> Option<i64> {
    match value {
        Value::Number(number) => scaled(number.to_string().as_bytes(), power),
        Value::String(text) => scaled(text.as_bytes(), power),
        _ => None,
    }
}

fn hexadecimal(value: Option<&Value>) -> Option<String> {
    let text = match value? {
        Value::Array(several) => several.first()?.as_str()?,
        one => one.as_str()?,
    };
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let is_id = !digits.is_empty() && digits.len() <= 40 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| digits.to_ascii_lowercase())
}

/// Older files give milliseconds since 1970 (0 for "unknown"), newer ones a time, or an object with one.
fn reference(value: Option<&Value>, power: i32) -> (Option<i64>, &'static str) {
    match value {
        Some(Value::Object(members)) => {
            let time = |key: &str| members.get(key).and_then(Value::as_str).and_then(rfc3339::unix_ns);
            let clock = match members.get("clock_type").and_then(Value::as_str) {
                Some("monotonic") => "monotonic",
                None | Some("system") => "wall",
                Some(_) => "unknown",
            };
            (time("wall_clock_time").or(time("epoch")), clock)
        }
        Some(Value::String(text)) => {
            let known = rfc3339::unix_ns(text).or(scaled(text.as_bytes(), power)).filter(|time| *time > 0);
            (known, if known.is_some() { "wall" } else { "unknown" })
        }
        Some(value) => {
            let known = number(value, power).filter(|time| *time > 0);
            (known, if known.is_some() { "wall" } else { "unknown" })
        }
        None => (None, "unknown"),
    }
}

fn vantage(value: Option<&Value>) -> Vantage {
    let given = match value {
        Some(Value::String(text)) => text.as_str(),
        Some(Value::Object(members)) => members.get("type").and_then(Value::as_str).unwrap_or_default(),
        _ => "",
    };
    match given.to_ascii_lowercase().as_str() {
        "client" => Vantage::Client,
        "server" => Vantage::Server,
        _ => Vantage::Unknown,
    }
}

fn schema(file: &Members, trace: &Members) -> Option<String> {
    let events = trace.get("event_schemas").or(file.get("event_schemas")).and_then(Value::as_array);
    let quic = events.and_then(|schemas| {
        let last = |schema: &Value| Some(schema.as_str()?.rsplit(':').next()?.to_owned());
        schemas.iter().filter_map(last).find(|name| name.starts_with("quic"))
    });
    let version = || file.get("qlog_version").or(trace.get("qlog_version")).and_then(Value::as_str).map(str::to_owned);
    quic.or_else(version).or_else(|| file.get("file_schema").and_then(Value::as_str).map(str::to_owned))
}

/// Returns the producer: the title of most files, the vantage point's name of some; tquic's ids name it.
fn producer(file: &Members, trace: &Members) -> Option<String> {
    let text = |members: &Members, key: &str| members.get(key).and_then(Value::as_str).map(str::to_owned);
    let title = text(file, "title").or_else(|| text(trace, "title")).unwrap_or_default();
    let description = text(file, "description").or_else(|| text(trace, "description")).unwrap_or_default();
    if matches!(title.as_str(), "server qlog" | "client qlog") && description.starts_with("id=") {
        return Some("tquic".into());
    }
    let name = title.strip_suffix(" qlog").unwrap_or(&title).trim();
    let version = [Some(file), object(file, "configuration"), object(trace, "configuration")]
        .into_iter()
        .flatten()
        .find_map(|members| text(members, "code_version"));
    let point = || object(trace, "vantage_point").and_then(|point| text(point, "name"));
    match (name, version) {
        ("", _) => point().filter(|name| !name.is_empty()),
        (name, Some(version)) => Some(format!("{name} {version}")),
        (name, None) => Some(name.to_owned()),
    }
}

//! The input of inference: traces of events, each the entry into a state of the program that was watched.

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Which kind: an index into [`Log::kinds`].
    pub kind: u16,
    /// When, in nanoseconds on the trace's own clock.
    pub time_ns: i64,
}

/// The events of one run in order of time. The last one lasts until `end_ns`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Its name.
    pub name: String,
    /// The number of its kind.
    pub events: Vec<Event>,
    /// When the watching ended.
    pub end_ns: i64,
}

/// Traces over one set of kinds of events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// Names of the kinds, at most [`MOST_KINDS`].
    pub kinds: Vec<String>,
    /// At least one, none empty.
    pub traces: Vec<Trace>,
}

/// How many kinds of events a log may have: invariants are mined for every pair.
pub const MOST_KINDS: usize = 1_000;

/// Why a log cannot be inferred from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogError {
    /// There is no trace.
    NoTraces,
    /// A trace has no event.
    EmptyTrace(String),
    /// An event's kind is not among the names.
    UnknownKind(String, usize),
    /// An event is earlier than the one before it, or the trace ends before it.
    Backwards(String, usize),
    /// There are more kinds than [`MOST_KINDS`].
    TooManyKinds(usize),
}

impl std::fmt::Display for LogError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoTraces => write!(out, "there is no trace to infer from"),
            Self::EmptyTrace(trace) => write!(out, "trace {trace} has no event"),
            Self::UnknownKind(trace, event) => write!(out, "trace {trace}, event {event}: its kind has no name"),
            Self::Backwards(trace, event) => write!(out, "trace {trace}, event {event}: time runs backwards"),
            Self::TooManyKinds(kinds) => {
                write!(out, "{kinds} kinds of events; at most {MOST_KINDS} can be distinguished")
            }
        }
    }
}

impl std::error::Error for LogError {}

impl Log {
    /// Checks the conditions that its types cannot express.
    pub fn check(&self) -> Result<(), LogError> {
        if self.kinds.len() > MOST_KINDS {
            return Err(LogError::TooManyKinds(self.kinds.len()));
        }
        if self.traces.is_empty() {
            return Err(LogError::NoTraces);
        }
        for trace in &self.traces {
            if trace.events.is_empty() {
                return Err(LogError::EmptyTrace(trace.name.clone()));
            }
            let mut last_ns = i64::MIN;
            for (place, event) in trace.events.iter().enumerate() {
                if usize::from(event.kind) >= self.kinds.len() {
                    return Err(LogError::UnknownKind(trace.name.clone(), place));
                }
                if event.time_ns < last_ns {
                    return Err(LogError::Backwards(trace.name.clone(), place));
                }
                last_ns = event.time_ns;
            }
            if trace.end_ns < last_ns {
                return Err(LogError::Backwards(trace.name.clone(), trace.events.len()));
            }
        }
        Ok(())
    }
}

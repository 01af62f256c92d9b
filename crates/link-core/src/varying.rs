//! Parameters that change with time: their value at a moment.

use std::sync::Arc;

use crate::schedule::Schedule;
use crate::stream::Stream;

/// A value and until when it stays.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Piece {
    /// The value.
    pub value: f64,
    /// The first moment that may have another one; `u64::MAX`: never.
    pub until_ns: u64,
}

/// A parameter's value over link time. Moments may be asked for in any order; rising ones are cheap.
pub struct Varying(Form);

enum Form {
    Constant(f64),
    Steps { points: Arc<[(u64, f64)]>, repeat_ns: Option<u64>, index: usize },
    Drawn { next: Next, every_ns: u64, values: Vec<f64>, stream: Box<Stream> },
}

enum Next {
    Uniform { minimum: f64, maximum: f64 },
    Walk { start: f64, step: f64, minimum: f64, maximum: f64 },
}

impl Varying {
    /// `stream` gives the draws of what is drawn; a trace of opportunities is no value.
    ///
    /// # Panics
    /// For [`Schedule::Opportunities`].
    #[must_use]
    pub fn new(schedule: &Schedule, stream: Stream) -> Self {
        let drawn = |next, every_ns| Form::Drawn { next, every_ns, values: Vec::new(), stream: Box::new(stream) };
        Self(match *schedule {
            Schedule::Constant(value) => Form::Constant(value),
            Schedule::Steps { ref points, repeat_ns } => Form::Steps { points: points.clone(), repeat_ns, index: 0 },
            Schedule::Uniform { minimum, maximum, every_ns } => drawn(Next::Uniform { minimum, maximum }, every_ns),
            Schedule::Walk { start, step, minimum, maximum, every_ns } => {
                drawn(Next::Walk { start, step, minimum, maximum }, every_ns)
            }
            Schedule::Opportunities { .. } => panic!("a trace of opportunities is transmitted, not asked for a value"),
        })
    }

    /// Whether it never changes.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        matches!(self.0, Form::Constant(_))
    }

    /// Its value at a moment of link time.
    pub fn at(&mut self, at_ns: u64) -> f64 {
        match self.0 {
            Form::Constant(value) => value,
            _ => self.piece(at_ns).value,
        }
    }

    /// Its value at a moment, rounded to a whole number.
    pub fn whole_at(&mut self, at_ns: u64) -> u64 {
        (self.at(at_ns) + 0.5) as u64
    }

    /// Its value at a moment and how long it stays.
    pub fn piece(&mut self, at_ns: u64) -> Piece {
        match &mut self.0 {
            Form::Constant(value) => Piece { value: *value, until_ns: u64::MAX },
            Form::Steps { points, repeat_ns, index } => step(points, *repeat_ns, index, at_ns),
            Form::Drawn { next, every_ns, values, stream } => {
                let index = (at_ns / *every_ns) as usize;
                while values.len() <= index {
                    values.push(next.draw(values.last().copied(), stream));
                }
                Piece { value: values[index], until_ns: (index as u64 + 1).saturating_mul(*every_ns) }
            }
        }
    }
}

fn step(points: &[(u64, f64)], repeat_ns: Option<u64>, index: &mut usize, at_ns: u64) -> Piece {
    let base_ns = repeat_ns.map_or(0, |repeat_ns| at_ns - at_ns % repeat_ns);
    let inside_ns = at_ns - base_ns;
    let covers = |index: usize| {
        points[index].0 <= inside_ns && points.get(index + 1).is_none_or(|following| inside_ns < following.0)
    };
    if !covers(*index) {
        *index = points.partition_point(|point| point.0 <= inside_ns) - 1;
    }
    let until_ns = match (points.get(*index + 1), repeat_ns) {
        (Some(following), _) => base_ns + following.0,
        (None, Some(repeat_ns)) => base_ns + repeat_ns,
        (None, None) => u64::MAX,
    };
    Piece { value: points[*index].1, until_ns }
}

impl Next {
    fn draw(&self, before: Option<f64>, stream: &mut Stream) -> f64 {
        match *self {
            Self::Uniform { minimum, maximum } => minimum + (maximum - minimum) * stream.unit(),
            Self::Walk { start, step, minimum, maximum } => match before {
                None => start,
                Some(before) => reflected(before + step * (2.0 * stream.unit() - 1.0), minimum, maximum),
            },
        }
    }
}

/// One reflection is enough: a step is no longer than the way from bound to bound.
fn reflected(value: f64, minimum: f64, maximum: f64) -> f64 {
    let once = if value < minimum { 2.0 * minimum - value } else { value };
    if once > maximum { 2.0 * maximum - once } else { once }.clamp(minimum, maximum)
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "values are taken as they were given")]
mod tests {
    use super::*;
    use crate::DirectionName;

    fn varying(schedule: &Schedule) -> Varying {
        Varying::new(schedule, Stream::new(1, DirectionName::Up, "rate", 0))
    }

    #[test]
    fn steps_hold_until_the_next_and_begin_again() {
        let points: Arc<[(u64, f64)]> = Arc::new([(0, 1.0), (10, 2.0), (30, 3.0)]);
        let mut once = varying(&Schedule::Steps { points: points.clone(), repeat_ns: None });
        let values: Vec<f64> = [0, 9, 10, 29, 30, 1_000, 5].into_iter().map(|at| once.at(at)).collect();
        assert_eq!(values, [1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 1.0]);
        assert_eq!(once.piece(30).until_ns, u64::MAX);
        let mut looping = varying(&Schedule::Steps { points, repeat_ns: Some(40) });
        let values: Vec<f64> = [0, 39, 40, 50, 79, 80].into_iter().map(|at| looping.at(at)).collect();
        assert_eq!(values, [1.0, 3.0, 1.0, 2.0, 3.0, 1.0]);
        assert_eq!(looping.piece(75).until_ns, 80);
        assert_eq!(looping.piece(45).until_ns, 50);
    }

    #[test]
    fn draws_do_not_depend_on_the_order_of_questions() {
        let schedule = Schedule::Uniform { minimum: 50.0, maximum: 150.0, every_ns: 1_000_000 };
        let (mut rising, mut falling) = (varying(&schedule), varying(&schedule));
        let times: Vec<u64> = (0..100).map(|number| number * 500_000).collect();
        let up: Vec<f64> = times.iter().map(|at| rising.at(*at)).collect();
        let mut down: Vec<f64> = times.iter().rev().map(|at| falling.at(*at)).collect();
        down.reverse();
        assert_eq!(up, down);
        assert!(up.iter().all(|value| (50.0..150.0).contains(value)));
        assert_eq!(up[0], up[1]);
        assert_ne!(up[1], up[2]);
    }

    #[test]
    fn a_walk_stays_within_its_bounds_and_its_step() {
        let schedule = Schedule::Walk { start: 10.0, step: 3.0, minimum: 5.0, maximum: 12.0, every_ns: 1_000_000 };
        let mut walk = varying(&schedule);
        let values: Vec<f64> = (0..1_000).map(|number| walk.at(number * 1_000_000)).collect();
        assert_eq!(values[0], 10.0);
        assert!(values.iter().all(|value| (5.0..=12.0).contains(value)));
        assert!(values.windows(2).all(|pair| (pair[1] - pair[0]).abs() <= 3.0));
        assert!(values.iter().any(|value| *value < 6.0) && values.iter().any(|value| *value > 11.0));
    }
}

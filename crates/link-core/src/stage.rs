//! The vocabulary of stages: how one is declared, made and asked, and how a packet travels through them.
//!
//! Most stages are a [`Stage`]: they decide about a packet when it reaches them. A [`Holder`] keeps packets, because
//! the fate of one depends on those that come later (an AQM, a packet that waits for others to overtake it).

use smallvec::SmallVec;

use crate::messages::Problem;
use crate::packet::{DirectionName, Edits, PacketInfo};
use crate::parameters::{ParameterSpec, Varies};
use crate::stream::{Stream, mix};
use crate::surgery::Operation;
use crate::values::Values;
use crate::varying::Varying;

/// The declaration of a stage: its name, its law in one line, its parameters, and how to make one.
pub struct StageSpec {
    /// The name in the configuration.
    pub kind: &'static str,
    /// Its effect on a packet.
    pub law: &'static str,
    /// Its parameters.
    pub parameters: &'static [ParameterSpec],
    /// The reasons under which dropped packets are counted (`dropped_REASON`).
    pub drop_reasons: &'static [&'static str],
    /// Checks the parameters together, beyond the bounds of each; the error names the keys.
    pub check: fn(values: &Values, direction: DirectionName) -> Result<(), Problem>,
    /// Whether it has a rate and a queue. Bottlenecks share the draws of a rate that varies by chance: the k-th one of a
    /// direction has the same rate at the same time whatever its queue is, so that queues can be compared.
    pub bottleneck: bool,
    /// Makes the stage.
    pub build: fn(recipe: &Recipe<'_>) -> Built,
}

/// The `check` of a stage whose parameters are free of each other.
pub fn unconstrained(_values: &Values, _direction: DirectionName) -> Result<(), Problem> {
    Ok(())
}

/// Everything that a stage is made from.
pub struct Recipe<'a> {
    /// Its checked parameters.
    pub values: &'a Values,
    pub(crate) seed: u64,
    pub(crate) direction: DirectionName,
    pub(crate) spec: &'static StageSpec,
    pub(crate) occurrence: u16,
    /// The number of bottlenecks before it.
    pub(crate) bottlenecks: u16,
}

impl Recipe<'_> {
    /// The stage's own random numbers.
    #[must_use]
    pub fn stream(&self) -> Stream {
        Stream::new(self.seed, self.direction, self.spec.kind, self.occurrence)
    }

    /// A parameter that may change with time, whose draws are another stream.
    #[must_use]
    pub fn varying(&self, name: &str) -> Varying {
        let index = self.values.index(name);
        let stream = if self.spec.bottleneck && self.spec.parameters[index].varies == Varies::AsRate {
            Stream::of_parameter(self.seed, self.direction, "bottleneck", self.bottlenecks, 0)
        } else {
            Stream::of_parameter(self.seed, self.direction, self.spec.kind, self.occurrence, index as u8)
        };
        Varying::new(self.values.schedule(name), stream)
    }
}

/// A made stage.
pub enum Built {
    /// It decides at once.
    Instant(Box<dyn Stage>),
    /// It keeps packets.
    Holding(Box<dyn Holder>),
}

/// Draws of the stages that a packet has yet to meet.
pub(crate) type Draws = SmallVec<[u64; 4]>;

/// A packet on its way through the stages of one direction. Times are link time.
#[derive(Debug, Clone, Default)]
pub struct Transit {
    /// Number of the packet in its direction, from 0.
    pub number: u64,
    /// 0 for the packet itself, from 1 for its copies.
    pub copy: u16,
    /// When it reaches the stage.
    pub at_ns: u64,
    /// The earliest time that a jitter stage may make of `at_ns`: when the packet reached the delay before it.
    pub floor_ns: u64,
    /// Its size, protocol and flow.
    pub info: PacketInfo,
    /// The queue that it met, once it has met one.
    pub queue: Option<Queue>,
    /// How long it waited in queues until its transmission began.
    pub queued_ns: u64,
    /// Changes to its bytes.
    pub edits: Edits,
    /// What is to be done with it, whatever the stages would do.
    pub operation: Operation,
    /// Whether a stage would have dropped or corrupted it.
    pub(crate) forgiven: bool,
    /// How many stages have made a copy of it, or of the packet whose copy it is; a configuration has 8 at most.
    pub(crate) copied: u8,
    /// Its draw for the queue in which it waits.
    pub(crate) draw: u64,
    /// Whether the step of that queue counts for it.
    pub(crate) steps: bool,
    pub(crate) draws: Draws,
}

impl Transit {
    /// Whether the packet must be spared what a stage is about to do to it: a drop or a damage. Only a stage that would
    /// do it may ask, because the packet is marked as forgiven by that.
    pub(crate) fn is_spared(&mut self) -> bool {
        self.forgiven |= self.operation.forgive;
        self.operation.forgive
    }
}

/// A bottleneck's queue as a packet found it, without that packet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Queue {
    /// Bytes of IP packets, the one in transmission included.
    pub bytes: u64,
    /// Packets, the one in transmission included.
    pub packets: u32,
    /// Whether the packet joined it.
    pub joined: bool,
}

/// The effect of a stage on the order of the packets that it passes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Out as they came in.
    Keeps,
    /// Possibly in another order.
    Breaks,
    /// In the order in which it was shown them, whatever an earlier stage did to their times.
    Restores,
}

/// The decision of a stage about a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It goes on at `at_ns`.
    Pass,
    /// It is dropped, for one of the stage's reasons; a packet that surgery forgives goes on at `at_ns`.
    Drop(&'static str),
    /// It goes on at `at_ns`, and a copy right behind it.
    PassTwice,
}

/// One impairment of one direction that decides at once.
pub trait Stage: Send {
    /// The randomness that a packet will meet here: called once for each packet that arrives at the link, in the order
    /// of arrival and whatever becomes of it, so that the k-th draw belongs to the k-th packet in every arm of a round.
    /// A chance process with a memory (a burst) makes its step here; `at_ns` is the arrival at the link.
    fn draw(&mut self, _at_ns: u64) -> u64 {
        0
    }

    /// The draw of a copy, made of the draw of its packet, since the stream has none for it.
    fn redraw(&self, draw: u64) -> u64 {
        mix(draw)
    }

    /// Moves `packet.at_ns` to when the packet leaves the stage, and decides whether it does.
    ///
    /// It is called in the order in which packets reach the stage, dropped ones not at all.
    fn pass(&mut self, packet: &mut Transit, draw: u64) -> Outcome;

    /// Returns its effect on the order of packets.
    fn order(&self) -> Order {
        Order::Keeps
    }

    /// Whether its law holds only for packets that reach it in the order of time.
    fn needs_order(&self) -> bool {
        false
    }
}

/// A packet that leaves a holder, at `packet.at_ns`, or is dropped for one of the stage's reasons.
pub struct Exit {
    /// The packet.
    pub packet: Transit,
    /// Why it is dropped, if it is.
    pub dropped: Option<&'static str>,
}

/// One impairment of one direction that keeps packets. It sees them in the order of time.
pub trait Holder: Send {
    /// As [`Stage::draw`].
    fn draw(&mut self, _at_ns: u64) -> u64 {
        0
    }

    /// As [`Stage::redraw`].
    fn redraw(&self, draw: u64) -> u64 {
        mix(draw)
    }

    /// Takes a packet at `packet.at_ns`. What leaves now, or whose leaving is now known, goes to `exits`.
    fn enter(&mut self, packet: Transit, draw: u64, exits: &mut Vec<Exit>);

    /// When it has something to do next; not before the last call.
    fn next_ns(&self) -> Option<u64>;

    /// Does what is due at [`Holder::next_ns`].
    fn serve(&mut self, now_ns: u64, exits: &mut Vec<Exit>);
}

/// A stage with checked parameters.
#[derive(Clone)]
pub struct StageConfig {
    /// The kind of stage.
    pub spec: &'static StageSpec,
    /// Its parameters.
    pub values: Values,
}

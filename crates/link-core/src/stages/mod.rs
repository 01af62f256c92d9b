//! The impairments, one file each. To add one: write the file, name it in the two lists below; a test checks both.
//!
//! Most stages are a [`Stage`]: they decide about a packet when it reaches them. A [`Holder`] keeps packets, because
//! what becomes of one depends on those that come later (an AQM, a packet that waits for others to overtake it).

mod access;
mod block;
mod burst_loss;
mod codel;
mod corrupt;
mod cutoff;
mod delay;
mod duplicate;
mod fq_codel;
mod gilbert_elliott;
mod jitter;
mod loss;
mod loss_index;
mod loss_trace;
mod mtu;
mod nat;
mod police;
mod rate;
mod red;
mod reorder;
mod size_filter;

use smallvec::SmallVec;

use crate::DirectionName;
use crate::packet::{Edits, PacketInfo};
use crate::parameters::{ParameterSpec, Values};
use crate::stream::Stream;
use crate::transmitter::Sent;
use crate::varying::Varying;

/// Every stage, in alphabetical order.
pub const ALL: &[&StageSpec] = &[
    &access::SPEC,
    &block::SPEC,
    &burst_loss::SPEC,
    &codel::SPEC,
    &corrupt::SPEC,
    &cutoff::SPEC,
    &delay::SPEC,
    &duplicate::SPEC,
    &fq_codel::SPEC,
    &gilbert_elliott::SPEC,
    &jitter::SPEC,
    &loss::SPEC,
    &loss_index::SPEC,
    &loss_trace::SPEC,
    &mtu::SPEC,
    &nat::SPEC,
    &police::SPEC,
    &rate::SPEC,
    &red::SPEC,
    &reorder::SPEC,
    &size_filter::SPEC,
];

/// What a stage is: its name, its law in one line, its parameters, and how to make one.
pub struct StageSpec {
    /// The name in the configuration.
    pub kind: &'static str,
    /// What it does to a packet.
    pub law: &'static str,
    /// Its parameters.
    pub parameters: &'static [ParameterSpec],
    /// What packets that it drops are counted under (`dropped_REASON`).
    pub drop_reasons: &'static [&'static str],
    /// What the parameters must be together, beyond the bounds of each; the error names the keys.
    pub check: fn(values: &Values, direction: DirectionName) -> Result<(), String>,
    /// Makes the stage.
    pub build: fn(recipe: &Recipe<'_>) -> Built,
}

/// The `check` of a stage whose parameters are free of each other.
pub fn unconstrained(_values: &Values, _direction: DirectionName) -> Result<(), String> {
    Ok(())
}

/// What a stage is made from.
pub struct Recipe<'a> {
    /// Its checked parameters.
    pub values: &'a Values,
    pub(crate) seed: u64,
    pub(crate) direction: DirectionName,
    pub(crate) kind: &'static str,
    pub(crate) occurrence: u16,
    /// The number of bottlenecks before it.
    pub(crate) bottlenecks: u16,
}

/// Stages with a rate and a queue. They share the draws of a rate that varies by chance: the k-th bottleneck of a
/// direction has the same rate at the same time whatever its queue is, so that queues can be compared.
const BOTTLENECKS: [&str; 4] = [codel::SPEC.kind, fq_codel::SPEC.kind, rate::SPEC.kind, red::SPEC.kind];

/// Whether stages of that kind have a rate and a queue.
pub(crate) fn is_bottleneck(kind: &str) -> bool {
    BOTTLENECKS.contains(&kind)
}

impl Recipe<'_> {
    /// The stage's own random numbers.
    #[must_use]
    pub fn stream(&self) -> Stream {
        Stream::new(self.seed, self.direction, self.kind, self.occurrence)
    }

    /// A parameter that may change with time, whose draws are another stream.
    #[must_use]
    pub fn varying(&self, name: &str) -> Varying {
        let index = self.values.index(name) as u8;
        let stream = if name == rate::RATE_BPS.name && is_bottleneck(self.kind) {
            Stream::of_parameter(self.seed, self.direction, "bottleneck", self.bottlenecks, 0)
        } else {
            Stream::of_parameter(self.seed, self.direction, self.kind, self.occurrence, index)
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
    /// What it is.
    pub info: PacketInfo,
    /// The queue that it met, once it has met one.
    pub queue: Option<Queue>,
    /// How long it waited in queues until its transmission began.
    pub queued_ns: u64,
    /// What is to be changed in it.
    pub edits: Edits,
    /// How many stages have made a copy of it, or of the packet whose copy it is; a configuration has 8 at most.
    pub(crate) copied: u8,
    pub(crate) draws: Draws,
}

impl Transit {
    /// Leaves a bottleneck that it reached at `at_ns`.
    pub(crate) fn leave(&mut self, sent: Sent) {
        self.queued_ns += sent.begin_ns.saturating_sub(self.at_ns);
        self.at_ns = sent.end_ns;
        self.floor_ns = sent.end_ns;
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

/// What a stage does to the order of the packets it passes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Out as they came in.
    Keeps,
    /// Possibly in another order.
    Breaks,
    /// In the order in which it was shown them, whatever an earlier stage did to their times.
    Restores,
}

/// What a stage decides about a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It goes on at `at_ns`.
    Pass,
    /// It is dropped, for one of the stage's reasons.
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

    /// What it does to the order of packets.
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

/// Another number, as good as random, from a random one: the finaliser of `SplitMix64` (Steele et al., OOPSLA 2014).
#[must_use]
pub fn mix(number: u64) -> u64 {
    let once = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let twice = (once ^ (once >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    twice ^ (twice >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::ALL;
    use crate::stream::MAX_KIND_BYTES;

    #[test]
    fn every_file_of_the_folder_is_registered_under_its_name() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/stages");
        let files: BTreeSet<String> = std::fs::read_dir(folder)
            .expect("the sources are there")
            .filter_map(|entry| Some(entry.ok()?.path().file_stem()?.to_str()?.to_owned()))
            .filter(|stem| stem != "mod")
            .collect();
        let kinds: BTreeSet<String> = ALL.iter().map(|spec| spec.kind.to_owned()).collect();
        assert_eq!(files, kinds);
        assert_eq!(kinds.len(), ALL.len(), "two stages of one name");
        assert!(ALL.windows(2).all(|pair| pair[0].kind < pair[1].kind), "in alphabetical order");
        assert!(kinds.iter().all(|kind| kind.len() <= MAX_KIND_BYTES));
    }
}

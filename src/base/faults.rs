//! Faults that `tests/law/faults.rs` plants, one at a time, to prove that the law test finds them. Without the
//! feature `planted-faults` every question is the constant `false` and nothing is left of it.

/// A mistake that the library can be told to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[doc(hidden)]
#[allow(missing_docs)] // the name says it; the one place that asks shows it
pub enum Fault {
    UnaryKeepsFill = 1,
    BinaryFillOfLeft,
    DuplicatesDropped,
    NotSorted,
    PointersOffByOne,
    BroadcastRotated,
    UnstoredCountedOnceMore,
    IntersectionForUnion,
    PrunedByNotEqual,
    CastThroughInt8,
    TransposeWithoutAxes,
    GatherFirstRow,
    IsoAsZero,
    ChunkEndLost,
    AbsentAsZero,
    NanAnnihilated,
    PromotedToLeft,
    PartLost,
    FillUnranked,
    GapMissed,
    HardAsEasy,
    MaskByPattern,
    SidesUnswapped,
    AnyFillSkipped,
    FibersAbsent,
    SumTooEarly,
    FactorRowLost,
    StoredInFill,
    CotangentFillLost,
    SlopeUnconjugated,
    GapsMultiplied,
    OutermostStored,
    PlacesUncounted,
    LastUnknown,
    KeysUnfolded,
    LeadLost,
    ListedMisplaced,
    JoinedUncounted,
    BeneathForgotten,
    BlocksRepeated,
    BlocksUnspread,
    BlocksWindowed,
    RowsOfFirst,
    RowsBesideLost,
    RunsOfFirst,
    PointersForPatterns,
    BlocksTurned,
    DigitsUncarried,
    RowsUnscattered,
    RestUnfolded,
    LinesOfFirst,
    FrameShifted,
    FillsExchanged,
    EndsUnmoved,
    RunsUnordered,
    NodesOfFirst,
    RowsUnfolded,
    FillsOfFirstRows,
    EditsUnshifted,
    ScansGoOn,
    FirstUnmarked,
    SearchedBeside,
    RunsUnmoved,
    PartsUnconjugated,
}

#[cfg(feature = "planted-faults")]
mod switch {
    use std::sync::atomic::{AtomicU8, Ordering};

    use super::Fault;

    static PLANTED: AtomicU8 = AtomicU8::new(0);

    impl Fault {
        /// Every fault.
        pub const ALL: [Fault; 64] = [
            Fault::UnaryKeepsFill,
            Fault::BinaryFillOfLeft,
            Fault::DuplicatesDropped,
            Fault::NotSorted,
            Fault::PointersOffByOne,
            Fault::BroadcastRotated,
            Fault::UnstoredCountedOnceMore,
            Fault::IntersectionForUnion,
            Fault::PrunedByNotEqual,
            Fault::CastThroughInt8,
            Fault::TransposeWithoutAxes,
            Fault::GatherFirstRow,
            Fault::IsoAsZero,
            Fault::ChunkEndLost,
            Fault::AbsentAsZero,
            Fault::NanAnnihilated,
            Fault::PromotedToLeft,
            Fault::PartLost,
            Fault::FillUnranked,
            Fault::GapMissed,
            Fault::HardAsEasy,
            Fault::MaskByPattern,
            Fault::SidesUnswapped,
            Fault::AnyFillSkipped,
            Fault::FibersAbsent,
            Fault::SumTooEarly,
            Fault::FactorRowLost,
            Fault::StoredInFill,
            Fault::CotangentFillLost,
            Fault::SlopeUnconjugated,
            Fault::GapsMultiplied,
            Fault::OutermostStored,
            Fault::PlacesUncounted,
            Fault::LastUnknown,
            Fault::KeysUnfolded,
            Fault::LeadLost,
            Fault::ListedMisplaced,
            Fault::JoinedUncounted,
            Fault::BeneathForgotten,
            Fault::BlocksRepeated,
            Fault::BlocksUnspread,
            Fault::BlocksWindowed,
            Fault::RowsOfFirst,
            Fault::RowsBesideLost,
            Fault::RunsOfFirst,
            Fault::PointersForPatterns,
            Fault::BlocksTurned,
            Fault::DigitsUncarried,
            Fault::RowsUnscattered,
            Fault::RestUnfolded,
            Fault::LinesOfFirst,
            Fault::FrameShifted,
            Fault::FillsExchanged,
            Fault::EndsUnmoved,
            Fault::RunsUnordered,
            Fault::NodesOfFirst,
            Fault::RowsUnfolded,
            Fault::FillsOfFirstRows,
            Fault::EditsUnshifted,
            Fault::ScansGoOn,
            Fault::FirstUnmarked,
            Fault::SearchedBeside,
            Fault::RunsUnmoved,
            Fault::PartsUnconjugated,
        ];
    }

    /// Makes the whole process make this mistake from now on; `None`: none.
    pub fn plant(fault: Option<Fault>) {
        PLANTED.store(fault.map_or(0, |f| f as u8), Ordering::SeqCst);
    }

    pub(crate) fn is(fault: Fault) -> bool {
        PLANTED.load(Ordering::Relaxed) == fault as u8
    }
}

#[cfg(feature = "planted-faults")]
pub(crate) use switch::is;
#[cfg(feature = "planted-faults")]
pub use switch::plant;

/// Whether the library is to make this mistake: never.
#[cfg(not(feature = "planted-faults"))]
#[inline(always)]
pub(crate) const fn is(_: Fault) -> bool {
    false
}

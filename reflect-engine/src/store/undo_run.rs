/// Whether an undo is only planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UndoRun {
    /// The changes are reported and not made.
    Dry,
    /// The changes are made, if their digest is the expected one.
    Real {
        /// The [`digest`](reflect_types::UndoReport::digest) of a dry run; `None` for any.
        expect: Option<String>,
    },
}

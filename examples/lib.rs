//! Runnable examples; see the files beside this one.

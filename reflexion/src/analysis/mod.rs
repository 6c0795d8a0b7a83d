//! Reflection: say why a run went as it did, and what to do next time.
//!
//! A [`Reflector`] works in three steps, *analyze → insight → suggest*, and gives a
//! [`ReflectionResult`]. [`GeneralReflector`] asks a model, the judge; a reflector of your own is one
//! `async fn`. [`ReflectionHistory`] keeps the results and counts them, and [`ReflectorReflection`]
//! makes any reflector the self-reflection of a [`Reflexion`](crate::reflexion::Reflexion) loop.
//!
//! ```
//! use reflect_sdk::reflection::{
//!     GeneralReflector, ReflectionContext, ReflectionHistory, ReflectionType, Reflector,
//! };
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), reflect_sdk::reflection::ReflectError> {
//! // Stands for a model; any `Fn(String) -> Future` will do.
//! let judge = |_prompt: String| async {
//!     "<think>{\"summary\": \"a draft\"}</think>
//!      {\"summary\": \"The filter {x} was never applied\", \"suggestions\": [\"Apply it first\"]}"
//! };
//! let reflector = GeneralReflector::builder()
//!     .judge(judge)
//!     .reflection_type(ReflectionType::Failure)
//!     .build();
//! let context = ReflectionContext::new().input("Filter the rows").error("all rows returned");
//!
//! let mut history = ReflectionHistory::new();
//! history.add(reflector.reflect(&context).await?);
//! assert_eq!(history.get_recent(1)[0].summary, "The filter {x} was never applied");
//! assert_eq!(history.summarize().failure, 1);
//! # Ok(())
//! # }
//! ```
//!
//! # Where this differs from its model, on purpose
//!
//! The model is `orbiter.eval.reflection`. Here
//! - a judge's reply is read with a real JSON parser from each brace on, so braces in strings do no
//!   harm; an object without any known key is passed over, and so are drafts in `<think>` tags;
//! - the work on a reply is bounded, whatever it holds;
//! - values of the wrong type are made usable: a string becomes a list of one, `null` an empty one;
//! - the flags `parse_error` and `error` reach the result's metadata, where they are true;
//! - `suggest` sees the insights; `null` in a context is no value; the latest 0 of a history are none;
//!   and a history can be bounded.

mod analysis;
mod bridge;
mod context;
mod error;
mod general;
mod history;
pub(crate) mod json;
mod kind;
mod reflector;
mod result;

pub use analysis::Analysis;
pub use bridge::ReflectorReflection;
pub use context::ReflectionContext;
pub use error::ReflectError;
pub use general::{GeneralReflector, GeneralReflectorBuilder};
pub use history::{ReflectionHistory, ReflectionSummary};
pub use kind::{ReflectionLevel, ReflectionType, UnknownName};
pub use reflector::Reflector;
pub use result::ReflectionResult;

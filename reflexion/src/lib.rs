//! Reflexion: an agent that tries, is judged, reflects, and tries again.
//!
//! After *Reflexion: Language Agents with Verbal Reinforcement Learning* (Shinn et al., 2023) and
//! its Go implementation in gollem. One run of [`Reflexion`] works on one task:
//!
//! 1. The [`Actor`], your agent, attempts the task. From the second trial on its prompt opens with
//!    what the earlier ones taught.
//! 2. The [`Evaluator`] says whether the task is done. If it is, or if the trials are used up (3
//!    unless set), the run ends.
//! 3. Otherwise the [`SelfReflection`] puts in words what went wrong and what to do instead. The
//!    [`EpisodicMemory`] keeps the latest of these (3 unless set), and the next trial begins.
//!
//! Every part is a trait with plain `async fn` methods, and every part can be a closure. It needs
//! neither a Reflect client nor a tokio runtime.
//!
//! ```
//! use reflect_sdk::reflexion::{Attempt, BoxError, Evaluation, Reflexion, Status};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), BoxError> {
//! // Stands for an agent: it does well once it is told how.
//! let agent = |attempt: Attempt| async move {
//!     if attempt.prompt.contains("ISO") { "2026-03-01" } else { "1 March 2026" }
//! };
//! let reflexion = Reflexion::builder(agent)
//!     .evaluate_with(|trial| match trial.answer().as_str() {
//!         "2026-03-01" => Evaluation::pass(),
//!         _ => Evaluation::fail("the date has the wrong format"),
//!     })
//!     .reflect_with(|failed| format!("{}; write dates as in ISO 8601", failed.evaluation.feedback))
//!     .max_trials(3)
//!     .on_event(|event| println!("{}", serde_json::to_string(event).unwrap_or_default()))
//!     .build()?;
//!
//! let outcome = reflexion.run("When was it shipped?").await?;
//! assert_eq!(outcome.status, Status::Succeeded);
//! assert_eq!(outcome.response(), "2026-03-01");
//! assert_eq!(outcome.trials.len(), 2);
//! # Ok(())
//! # }
//! ```
//!
//! With a model for everything, it is [`Reflexion::new`]; with a model that only judges and reflects,
//! [`llm`](ReflexionBuilder::llm) on the builder; with tools, [`ToolLoop`] as the actor.
//!
//! # With a memory bank
//!
//! A run forgets what it learned when it ends. With a [`ReflectClient`](crate::ReflectClient) it
//! does not, in one of two ways.
//!
//! [`recall`](ReflexionBuilder::recall) and [`persist`](ReflexionBuilder::persist) are for loops
//! that stand alone. Every trial is shown what earlier runs taught; what comes of the run is stored
//! under the task as it was given, as one trace or as one per trial ([`Persist`]). Both are bounded
//! in time, and neither decides a run: problems are in the [`Outcome`].
//!
//! ```
//! use reflect_sdk::ReflectClient;
//! use reflect_sdk::reflexion::{Attempt, BoxError, Persist, Reflexion};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), BoxError> {
//! # let client = ReflectClient::disabled();
//! let reflexion = Reflexion::builder(|attempt: Attempt| async move { attempt.prompt })
//!     .evaluate_with(|trial| trial.answer().contains("lesson"))
//!     .reflect_with(|_| "a lesson")
//!     .recall(&client, 5)
//!     .persist(&client, Persist::EachTrial)
//!     .build()?;
//! let outcome = reflexion.run("Refund order 7").await?;
//! assert!(outcome.recall_error.is_none() && outcome.persist_errors.is_empty());
//! # Ok(())
//! # }
//! ```
//!
//! A loop inside of a traced function needs neither: run it on the augmented task, and return its
//! result, or a [`TraceResult`](crate::TraceResult) made from its [`Outcome`]. That records one
//! trace, with the last trial's messages, the verdict, the last feedback, what the failed trials
//! taught, and `metadata.reflexion`. An error is recorded as a failed run with what was done until
//! then, and so is a panic, say of the evaluator. For a guard's `set_output` there is
//! `TraceOutput::from(&outcome)`, and `from(&error)`.
//!
//! ```
//! # use reflect_sdk::ReflectClient;
//! # use reflect_sdk::reflexion::{Attempt, BoxError, Reflexion};
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), BoxError> {
//! # let client = ReflectClient::disabled();
//! # let reflexion = Reflexion::builder(|attempt: Attempt| async move { attempt.prompt })
//! #     .evaluate_with(|_| true).max_trials(1).build()?;
//! let run = client.trace("Refund order 7").limit(5);
//! let outcome = run.run_async(|ctx| reflexion.run(ctx.augmented_task())).await?;
//! assert!(outcome.succeeded());
//! # Ok(())
//! # }
//! ```
//!
//! # Where this differs from its models, on purpose
//!
//! - **Running out of trials can be told from success**: [`Outcome::status`]. All trials, answers,
//!   verdicts and reflections are in the [`Outcome`], also those the memory has dropped.
//! - **Errors lose nothing**: [`ReflexionError::Stage`] says which part failed in which trial and
//!   holds everything done so far; its source is the part's own error. Options that cannot work, such
//!   as no trials at all, are refused by `build`, before anything is called.
//! - **Each trial starts afresh**: it sees the task and the memory, not the conversation of the
//!   trials before it, since failed attempts in the context tend to be repeated. See [`TrialContext`].
//! - **A verdict is a whole word**, not a substring: "FAILURE: did not successfully finish" is a
//!   failure. What cannot be read as a verdict is a failure marked [`unclear`](Evaluation::unclear);
//!   thoughts in `<think>` tags do not count. See [`LlmEvaluator`].
//! - **The self-reflection sees what was learned before**, so that it does not repeat it. Nothing is
//!   remembered of a blank reflection; the feedback stands in for it. See [`OnReflectionError`].
//! - **Tools are shown with arguments and results** to evaluator and self-reflection, each cut to
//!   2,000 characters; a whole history is cut to 48,000, task, answer, note and feedback to 16,000
//!   each, always in the middle.
//! - **A trial may fail on its own** ([`Attempted::halted`], a step limit that counts per trial,
//!   [`trial_timeout`](ReflexionBuilder::trial_timeout)): it is reflected on like any other. Only an
//!   `Err` of the actor ends the run.
//! - **A score that was not given is absent**, not 0; and it is never NaN.
//! - **Hooks are optional, one by one**, and every trial has its `trial_end` event, its beginning and
//!   its end.
//! - **Runs share nothing**: a [`Reflexion`] is `Clone + Send + Sync`, its [`Run`]s are independent,
//!   and dropping one stops it.

mod account;
mod actor;
mod attempt;
mod boxed;
mod builder;
mod clip;
mod error;
mod evaluation;
mod evaluator;
mod event;
mod hooks;
mod into_result;
#[cfg(feature = "judge")]
mod judge;
mod keeper;
mod llm;
mod llm_evaluator;
mod memory;
mod outcome;
mod persist;
mod prompt;
mod recall;
#[expect(
    clippy::module_inception,
    reason = "the file is named after the type it holds"
)]
mod reflexion;
mod render;
mod run;
mod self_reflection;
mod template;
pub(crate) mod think;
mod timeout;
mod timer;
mod tool;
mod tool_loop;
mod traced;
mod trajectory;
mod verdict;

pub use actor::{Actor, LlmActor};
pub use attempt::{Attempt, Attempted};
pub use boxed::BoxError;
pub use builder::{OnReflectionError, ReflexionBuilder, TrialContext};
pub use error::{ConfigError, HookPoint, ReflexionError, Stage};
pub use evaluation::Evaluation;
pub use evaluator::{Evaluator, EvaluatorAsync, EvaluatorFn, evaluator_async, evaluator_fn};
pub use event::Event;
pub use hooks::{HookFns, HookResult, Hooks};
pub use into_result::IntoResult;
pub use llm::{Llm, SharedLlm};
pub use llm_evaluator::LlmEvaluator;
pub use memory::{EpisodicMemory, MemoryEntry};
pub use outcome::{Outcome, Status, Trial};
pub use persist::{Persist, PersistError};
#[cfg(feature = "judge")]
pub use reflect_models::Judge;
pub use reflexion::{Reflexion, Run};
pub use self_reflection::{
    FailedTrial, FeedbackReflection, LlmReflection, ReflectionAsync, ReflectionFn, SelfReflection,
    reflection_async, reflection_fn,
};
pub use timer::{Sleep, Timer};
pub use tool::{Tool, ToolFn, ToolSpec, tool_fn};
pub use tool_loop::{Chat, ChatModel, ToolLoop};
pub use trajectory::Trajectory;

//! An evaluation in which each task is given what the ones before it taught.
//!
//!     cargo run --example blocking_eval_loop
//!
//! `.until_learned(true)` makes the end of a run wait for its memory, so that the very next run has it.
//! It runs offline, on one file in a temporary folder, with an agent that follows its prompt.

use reflect_sdk::{BoxError, ReflectClient, TraceOutput};

/// How many licences are asked for. The agent knows that one is 40 net, and nothing else.
const TASKS: [u32; 8] = [2, 3, 6, 1, 8, 4, 12, 5];

fn main() -> Result<(), BoxError> {
    let folder = tempfile::tempdir()?;
    let client = ReflectClient::builder().embedded(folder.path().join("reflect.db"))?;

    let (mut without, mut with) = (0, 0);
    for amount in TASKS {
        let task = format!("Quote {amount} licences");
        without += u32::from(check(amount, agent(amount, &task)).is_ok());

        let run = client
            .trace(task)
            .limit(5)
            .until_learned(true)
            .start_blocking();
        let quote = agent(amount, run.augmented_task());
        let checked = check(amount, quote);
        let (task, seen) = (run.task(), run.memories().len());
        let result = checked.map_or_else(|why| format!("FAIL  {why}"), |()| "pass".to_owned());
        println!("{task:18}  {seen} memories  {quote:7.2}  {result}");

        let output = TraceOutput::new(format!("{quote:.2}"));
        run.set_output(match checked {
            Ok(()) => output.pass(),
            Err(why) => output.fail(why),
        });
        with += u32::from(checked.is_ok());
        // Here the run ends. When the next one starts, its memory exists.
    }
    println!("\npass rate without memories {without} of 8, with them {with} of 8");
    Ok(())
}

/// Stands for a model: it follows the advice in its prompt.
fn agent(amount: u32, prompt: &str) -> f64 {
    let discount = amount >= 5 && prompt.contains("10 % off");
    let tax = prompt.contains("19 % VAT");
    f64::from(amount) * 40.0 * if discount { 0.9 } else { 1.0 } * if tax { 1.19 } else { 1.0 }
}

/// What the agent is not told, unless it fails.
fn check(amount: u32, quote: f64) -> Result<(), &'static str> {
    let net = f64::from(amount) * if amount >= 5 { 36.0 } else { 40.0 };
    match quote {
        quote if (quote - net * 1.19).abs() < 0.005 => Ok(()),
        quote if quote > net * 1.19 => Err("From five licences on there is 10 % off"),
        _ => Err("Quotes are gross: add 19 % VAT"),
    }
}

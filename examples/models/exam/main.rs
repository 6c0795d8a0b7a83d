//! The exam: does a real model answer better with memories?
//!
//!     OPENAI_BASE_URL=http://127.0.0.1:8080/v1 cargo xtask bench exam
//!
//! The model names the topic of messages of a bank's customers, one of eight. After each answer a reviewer
//! says pass or fail and which topic was right. One arm works without memories, the others are given up to
//! three in the full style and in the compact one. Every arm sees the same messages in the same order.

mod arm;
mod model;
mod options;
mod questions;
mod report;

use std::process::ExitCode;

use indicatif::{ProgressBar, ProgressStyle};
use reflect_sdk::BoxError;

use model::Model;
use options::Options;
use questions::Questions;
use report::Report;

#[tokio::main]
async fn main() -> ExitCode {
    let options = Options::from_arguments();
    let Some(model) = Model::from_environment() else {
        println!(
            "skipped: no model. Set OPENAI_BASE_URL to a server that speaks the OpenAI protocol, or \
             OPENAI_API_KEY."
        );
        return ExitCode::SUCCESS;
    };
    if let Err(error) = model.topic_of("Hello", &["greeting".to_owned()]).await {
        println!("skipped: no model. The one that is set does not answer: {error}");
        return ExitCode::SUCCESS;
    }
    match sit(&options, &model).await {
        Ok(report) => {
            println!("{report}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("the exam ended early: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn sit(options: &Options, model: &Model) -> Result<Report, BoxError> {
    let exams: Vec<_> = (0..options.seeds)
        .map(|seed| Questions::drawn(seed, options.messages))
        .collect();
    let asked: usize = exams.iter().map(|exam| exam.messages.len()).sum();
    let style = ProgressStyle::with_template("{msg} {bar:32} {pos}/{len}, {eta} left")?;
    let bar = ProgressBar::new((asked * options.arms.len()) as u64).with_style(style);
    let mut report = Report::new(model.name(), options);
    for (seed, questions) in exams.iter().enumerate() {
        for &arm in &options.arms {
            bar.set_message(format!("seed {}, {}", seed + 1, arm.name()));
            let marks = arm.sit(model, questions, || bar.inc(1)).await?;
            report.add(arm, &marks);
        }
    }
    bar.finish_and_clear();
    Ok(report)
}

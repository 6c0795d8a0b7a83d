//! The report.

use axum::response::Response;
use jiff::Timestamp;
use reflect_console::{ReportPage, ReportPeriod, ReportSource};
use reflect_types::{GetReport, ListMemories, MemoryHistory, MemoryRecord, MemoryStatus, Report};

use super::answer::{self, Problem};
use super::visit::Visit;

/// The memories that are set aside and listed.
const MAX_ASIDE: u32 = 5;

/// The report of a period.
pub(super) async fn page(visit: Visit) -> Result<Response, Problem> {
    visit.require::<GetReport>()?;
    let now = Timestamp::now();
    let period = ReportPeriod::parse(visit.query.get("weeks"));
    let query = period.query(now);
    let report = visit.engine().report(&visit.project, &query).await?;
    let (memories, aside) = memories(&visit, &report).await?;
    let source = ReportSource {
        period,
        report: &report,
        memories: &memories,
        aside: &aside,
        has_traces: report.traces > 0 || visit.has_traces().await?,
    };
    let (frame, first) = (visit.frame().await?, visit.first_trace());
    Ok(answer::page(&ReportPage::new(frame, source, first, now)))
}

/// The memories that the report names, and those that are set aside; none for a visitor who may not read
/// memories.
async fn memories(
    visit: &Visit,
    report: &Report,
) -> Result<(Vec<MemoryRecord>, Vec<MemoryHistory>), Problem> {
    if !visit.may::<ListMemories>() {
        return Ok((Vec::new(), Vec::new()));
    }
    let named = report.helpful.iter().chain(&report.harmful);
    let ids: Vec<_> = named.map(|outcome| outcome.memory_id.clone()).collect();
    let engine = visit.engine();
    let aside = ListMemories {
        limit: Some(MAX_ASIDE),
        before: None,
        status: Some(MemoryStatus::Quarantined),
    };
    let aside = engine.list_memories(&visit.project, &aside).await?;
    let named = engine.find_memories(&visit.project, &ids).await?;
    Ok((named, aside.items))
}

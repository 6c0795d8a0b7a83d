//! Test reports in the `JUnit` format, as most test runners write them.

use reflect_types::{Review, neutral};
use roxmltree::{Document, Node};

/// A test case of a report.
#[derive(Debug, PartialEq)]
pub(crate) struct TestCase {
    /// `classname.name`.
    pub(crate) name: String,
    /// The run that it tests.
    pub(crate) run: RunName,
    /// The review that its result is; `None` if it was skipped.
    pub(crate) review: Option<Review>,
}

/// How a test case names its run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RunName {
    /// The property `reflect.trace`: the id of a trace.
    Trace(String),
    /// The property `reflect.key`: the idempotency key of a run.
    Key(String),
    /// The run has the test case's own name as its metadata `test`.
    Test,
}

/// The test cases of a report, in its order.
pub(crate) fn parse(text: &str) -> Result<Vec<TestCase>, String> {
    let report = Document::parse(text).map_err(|error| format!("not XML: {error}"))?;
    let root = report.root_element().tag_name().name();
    if !matches!(root, "testsuites" | "testsuite") {
        return Err(format!(
            "not a JUnit report: it begins with <{}>, not with <testsuites> or <testsuite>",
            neutral::excerpt(root, 40)
        ));
    }
    let cases = report
        .descendants()
        .filter(|node| node.has_tag_name("testcase"));
    cases.map(|node| test_case(&report, node)).collect()
}

fn test_case(report: &Document<'_>, node: Node<'_, '_>) -> Result<TestCase, String> {
    let attribute = |name| node.attribute(name).filter(|text| !text.trim().is_empty());
    let name = match (attribute("classname"), attribute("name")) {
        (Some(class), Some(name)) => format!("{class}.{name}"),
        (None, Some(name)) => name.to_owned(),
        (_, None) => {
            let line = report.text_pos_at(node.range().start).row;
            return Err(format!("line {line}: a <testcase> has no name"));
        }
    };
    Ok(TestCase {
        run: run(node),
        review: review(node, &name),
        name,
    })
}

/// The run that the properties of a test case name.
fn run(case: Node<'_, '_>) -> RunName {
    let properties = case
        .children()
        .filter(|node| node.has_tag_name("properties"))
        .flat_map(|node| node.children());
    for property in properties.filter(|node| node.has_tag_name("property")) {
        let value = property.attribute("value").or_else(|| property.text());
        let value = value.unwrap_or_default().trim().to_owned();
        match property.attribute("name") {
            Some("reflect.trace") => return RunName::Trace(value),
            Some("reflect.key") => return RunName::Key(value),
            _ => {}
        }
    }
    RunName::Test
}

fn review(case: Node<'_, '_>, name: &str) -> Option<Review> {
    let child = |tag| case.children().find(|node| node.has_tag_name(tag));
    if child("skipped").is_some() {
        return None;
    }
    let Some(failure) = child("failure").or_else(|| child("error")) else {
        return Some(Review::pass());
    };
    Some(Review::fail(feedback(name, failure)))
}

/// The message of a failure, and the beginning of its text, which may be a long stack trace.
fn feedback(name: &str, failure: Node<'_, '_>) -> String {
    const MAX_TEXT: usize = 2_000;

    let message = failure.attribute("message").unwrap_or_default().trim();
    let text: String = failure
        .descendants()
        .filter(Node::is_text)
        .filter_map(|node| node.text())
        .collect();
    let text = text.trim();
    let mut parts = vec![message, text];
    // Many runners repeat the message at the beginning of the text.
    if text.starts_with(message) {
        parts.remove(0);
    }
    parts.retain(|part| !part.is_empty());
    let said = match parts.join("\n") {
        said if said.is_empty() => "no message".to_owned(),
        said => neutral::excerpt(&said, MAX_TEXT).into_owned(),
    };
    format!("The test {name} failed: {said}")
}

#[cfg(test)]
mod tests {
    use reflect_types::Verdict;

    use super::*;

    const REPORT: &str = r#"<?xml version="1.0" encoding="utf-8"?>
        <testsuites>
          <testsuite name="refunds" tests="5">
            <testcase classname="tests.refunds" name="test_window" time="0.1">
              <failure message="assert 40 &lt; 30">assert 40 &lt; 30
                at tests/refunds.py:7</failure>
            </testcase>
            <testcase classname="tests.refunds" name="test_amount">
              <properties>
                <property name="owner" value="me"/>
                <property name="reflect.key" value="job-7"/>
              </properties>
            </testcase>
            <testcase name="alone">
              <properties><property name="reflect.trace">trace-1</property></properties>
              <error message="boom"/>
            </testcase>
            <testcase name="later"><skipped/></testcase>
            <testcase name="flaky"><flakyFailure message="once"/></testcase>
          </testsuite>
        </testsuites>"#;

    #[test]
    fn a_test_case_names_its_run_and_its_result() {
        let cases = parse(REPORT).unwrap();
        let names: Vec<_> = cases.iter().map(|case| case.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "tests.refunds.test_window",
                "tests.refunds.test_amount",
                "alone",
                "later",
                "flaky"
            ]
        );
        let runs: Vec<_> = cases.iter().map(|case| case.run.clone()).collect();
        let trace = RunName::Trace("trace-1".to_owned());
        let key = RunName::Key("job-7".to_owned());
        assert_eq!(
            runs,
            [RunName::Test, key, trace, RunName::Test, RunName::Test]
        );
        let verdict = |case: &TestCase| case.review.as_ref().map(|review| review.result);
        let (pass, fail) = (Some(Verdict::Pass), Some(Verdict::Fail));
        let verdicts: Vec<_> = cases.iter().map(verdict).collect();
        assert_eq!(verdicts, [fail, pass, fail, None, pass]);
        let said = |case: &TestCase| case.review.clone().unwrap().feedback_text.unwrap();
        let long = said(&cases[0]);
        assert!(long.starts_with("The test tests.refunds.test_window failed: assert 40 < 30\n"));
        assert_eq!(long.matches("assert").count(), 1, "{long}");
        assert!(long.contains("refunds.py:7"));
        assert_eq!(said(&cases[2]), "The test alone failed: boom");
    }

    #[test]
    fn what_is_no_report_is_refused_with_the_reason() {
        for (text, said) in [
            ("", "not XML"),
            ("<testsuites><testcase name='a'>", "not XML"),
            ("<html></html>", "begins with <html>"),
            (
                "<testsuite>\n<testcase/></testsuite>",
                "line 2: a <testcase> has no name",
            ),
            // Entities could grow without limit.
            ("<!DOCTYPE a [<!ENTITY b 'c'>]><testsuite/>", "not XML"),
        ] {
            let refused = parse(text).unwrap_err();
            assert!(refused.contains(said), "{text}: {refused}");
        }
        assert_eq!(parse("<testsuite/>").unwrap(), []);
    }
}

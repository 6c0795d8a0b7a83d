use super::*;

#[track_caller]
fn assert_verdict(reply: &str, success: bool) {
    let evaluation = read(reply);
    assert_eq!(evaluation.success, success, "{reply:?}");
    assert!(!evaluation.unclear, "{reply:?}");
}

#[track_caller]
fn assert_unclear(reply: &str) {
    let evaluation = read(reply);
    assert!(evaluation.unclear && !evaluation.success, "{reply:?}");
    assert_eq!(evaluation.feedback, reply.trim());
}

#[test]
fn the_verdict_is_a_whole_word_at_the_start() {
    for reply in [
        "SUCCESS",
        "success.",
        "Pass: all tests are green",
        "SUCCESS The answer is right",
        "Success because the file exists",
        "**SUCCESS**: done",
        "> `PASS`",
        "# Verdict: SUCCESS\n\nIt works.",
        "Final verdict is \"Success\".",
        "The final answer: PASS",
        "Result - success",
        "[SUCCESS]",
        "✅ SUCCESS",
        "SUCCESS: no errors were found",
        "\n\n  SUCCESS\r\nfine",
    ] {
        assert_verdict(reply, true);
    }
    for reply in [
        "FAILURE: did not successfully finish",
        "fail",
        "Failure - the row is missing, so it is not a SUCCESS",
        "Verdict: FAIL",
        "NOT SUCCESS",
        "Not a success: the file is empty",
        "not successful",
        "No pass.",
        "Success: false",
        "SUCCESS = no",
    ] {
        assert_verdict(reply, false);
    }
}

#[test]
fn the_last_line_counts_if_the_first_has_no_verdict() {
    assert_verdict("I looked at the file.\nIt is right.\n\nSUCCESS\n", true);
    assert_verdict(
        "Unsuccessful attempts came first.\nVerdict: **FAILURE**",
        false,
    );
}

#[test]
fn no_verdict_or_both_is_an_unclear_failure() {
    for reply in [
        "",
        "  \n ",
        "successful",
        "Successfully done!",
        "unsuccessful",
        "The task was a success.",
        "Success would need a test",
        "passable",
        "PASS-THROUGH is on",
        "success_criteria: met",
        "SUCCESS/FAILURE",
        "Success or failure?",
        "Success?",
        "SUCCESS\nOn second thought:\nFAILURE: the file is empty",
        "FAILURE\n\nSUCCESS",
        "SUCCESS {\"success\": false}",
        "成功",
        "Erfolg",
        "{\"success\": \"yes\"}",
        "{\"success\": false, oops",
    ] {
        assert_unclear(reply);
    }
}

#[test]
fn prose_on_the_last_line_contradicts_nothing() {
    assert_verdict("SUCCESS\nFail cases were handled as well", true);
}

#[test]
fn thoughts_before_the_verdict_do_not_count() {
    assert_verdict("<think>SUCCESS? No.</think>FAILURE: empty", false);
    assert_verdict("<think>FAILURE, I think\n</think>\nSUCCESS", true);
    assert_verdict("it may be a FAILURE\n</think>\nSUCCESS", true);
    assert_eq!(read("<think>a</think>FAILURE: b").feedback, "b");
    assert!(read("<think>SUCCESS").unclear);
}

#[test]
fn a_json_verdict_has_score_and_feedback() {
    let reply =
        "```json\n{\"success\": false, \"score\": 0.25, \"feedback\": \" off by {1} \"}\n```";
    let evaluation = read(reply);
    assert_eq!(evaluation, Evaluation::fail("off by {1}").score(0.25),);
    assert_eq!(read(r#"{"success": true}"#), Evaluation::pass());
    assert_verdict("{\n  \"success\": true,\n  \"score\": 1\n}", true);
}

#[test]
fn a_score_that_is_not_a_number_is_dropped() {
    assert_eq!(read(r#"{"success": true, "score": "high"}"#).score, None);
    assert_eq!(read("SUCCESS").score, None);
    for score in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(Evaluation::pass().score(score).score, None);
    }
    assert_eq!(Evaluation::pass().score(0.0).score, Some(0.0));
}

#[test]
fn denials_of_a_passing_verdict_are_not_a_pass() {
    for reply in [
        // Denied by the text beside the verdict.
        "SUCCESS: FAILURE",
        "SUCCESS NOT ACHIEVED",
        "SUCCESS: No, the file is missing.",
        "SUCCESS: no",
        "SUCCESS: not really",
        "SUCCESS - not achieved",
        "SUCCESS, but the total is wrong",
        "SUCCESS: the task failed",
        "SUCCESS: it didn't finish",
        "SUCCESS: none of the tests pass",
        "SUCCESS: 0/5 tests pass",
        "SUCCESS: N/A",
        "SUCCESS: unclear",
        "SUCCESS: the agent claims so",
        "SUCCESS: if the file existed",
        "SUCCESS: partially",
        "PASS: unable to verify the answer",
        "Pass - incomplete",
        "Verdict: PASS (not confirmed)",
        "SUCCESS. The answer is incorrect.",
        "SUCCESS The file is missing",
        "SUCCESS because nothing was done",
        // No verdict at all.
        "SUCCESS CRITERIA NOT MET",
        "SUCCESS RATE: 0%",
        "SUCCESS criteria: unmet",
        "SUCCESS cannot be confirmed",
        "SUCCESS would be an overstatement",
        "SUCCESS is not what this is",
        "SUCCESS (false)",
        "SUCCESS? No.",
        "SUCCESS/FAILURE: FAILURE",
        // Struck out.
        "~~SUCCESS~~ FAILURE",
        "~~SUCCESS~~",
        "SUCCESS ❌",
        // Taken back by another line.
        "SUCCESS\n\nHowever, the file is missing.",
        "SUCCESS\nActually, it does not compile.",
        "SUCCESS\nThe task was not completed.",
        "SUCCESS\nThe answer isn't correct.",
        "SUCCESS\nNo.",
        "SUCCESS\nFAILED",
        "SUCCESS\nThe attempt failed.\nThe end.",
        "SUCCESS\nFAILURE: empty\nThe end.",
        "The task was not done.\nSUCCESS",
        "{\"success\": true, \"feedback\": \"FAILURE: the file is empty\"}",
        "{\"success\": true, \"feedback\": \"The task was not done.\"}",
        "{\"success\": true}\n{\"success\": false}",
    ] {
        assert!(!read(reply).success, "{reply:?}");
    }
}

#[test]
fn reasons_for_a_pass_do_not_deny_it() {
    for reply in [
        "SUCCESS: no errors were found",
        "SUCCESS: nothing is missing",
        "SUCCESS: completed without errors",
        "SUCCESS: not one test failed",
        "SUCCESS: 0 failures in 12 tests, score 0.95",
        "SUCCESS: the agent did it without help, and won 3:0",
        "SUCCESS\nThe agent did not exceed the limit.",
        "SUCCESS\nNo further steps are needed.",
        "SUCCESS\nThe error is handled, and invalid input is rejected.",
        "SUCCESS\n\nThe order was older than 30 days, so refusing it was right.",
    ] {
        assert_verdict(reply, true);
    }
}

#[test]
fn the_feedback_is_the_reply_without_its_verdict() {
    for (reply, feedback) in [
        ("SUCCESS", ""),
        ("FAILURE", ""),
        ("Final verdict is \"Success\".", ""),
        ("Success: false", ""),
        (
            "Success: false because the file is empty",
            "because the file is empty",
        ),
        ("FAILURE: the wrong city", "the wrong city"),
        ("**FAILURE** - `a.txt` is empty", "`a.txt` is empty"),
        ("Not a success: the file is empty", "the file is empty"),
        (
            "SUCCESS\n\nIt works.\nIt is fast.",
            "It works.\nIt is fast.",
        ),
        ("The file is empty.\n\nFAILURE", "The file is empty."),
        ("FAILURE: a\nb\nFAILURE", "a\nb"),
    ] {
        assert_eq!(read(reply).feedback, feedback, "{reply:?}");
    }
}

#[test]
fn a_bare_verdict_differs_from_a_reflection() {
    for text in [
        "",
        " \n",
        "SUCCESS",
        "Result: FAILURE.",
        "It is not a success",
        "**fail**",
    ] {
        assert!(is_bare(text), "{text:?}");
    }
    for text in [
        "not the answer",
        "no",
        "FAILURE: the file is empty",
        "Pass the limit 3",
    ] {
        assert!(!is_bare(text), "{text:?}");
    }
}

//! Files of tasks.

use reflect_types::Metadata;
use serde::Deserialize;

/// A task of a file.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Task {
    pub(crate) task: String,
    #[serde(default)]
    pub(crate) metadata: Metadata,
}

/// The tasks of a file's text, one a line: plain, or a JSON object. Blank lines are left out.
pub(crate) fn parse(text: &str) -> Result<Vec<Task>, String> {
    let lines = (1..).zip(text.lines().map(str::trim));
    let tasks = lines
        .filter(|(_, line)| !line.is_empty())
        .map(|(number, line): (usize, &str)| {
            if !line.starts_with('{') {
                let task = line.to_owned();
                let metadata = Metadata::new();
                return Ok(Task { task, metadata });
            }
            let task: Task =
                serde_json::from_str(line).map_err(|error| format!("line {number}: {error}"))?;
            match task.task.trim() {
                "" => Err(format!("line {number}: the task is empty")),
                _ => Ok(task),
            }
        })
        .collect::<Result<Vec<Task>, String>>()?;
    if tasks.is_empty() {
        return Err("the file has no tasks: write one a line".to_owned());
    }
    Ok(tasks)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_is_a_task_or_an_object_with_one() {
        let tasks =
            parse("Refund order 7\n\n {\"task\": \"Pay\", \"metadata\": {\"set\": \"a\"}}\n");
        let tasks = tasks.unwrap();
        assert_eq!(tasks[0].task, "Refund order 7");
        assert_eq!(tasks[1].task, "Pay");
        assert_eq!(tasks[1].metadata["set"], json!("a"));
        for (text, said) in [
            ("", "no tasks"),
            ("a\n{\"task\": \" \"}", "line 2: the task is empty"),
            (
                "{\"task\": \"a\", \"meta\": {}}",
                "line 1: unknown field `meta`",
            ),
            ("{\"task\": \"a\"", "line 1: "),
        ] {
            let refused = parse(text).unwrap_err();
            assert!(refused.contains(said), "{refused}");
        }
    }
}

use proptest::prelude::*;

use super::*;

/// The guide that is extracted from memories.
fn write_skill(project: &str, version: u64, memories: &[SourceMemory<'_>]) -> String {
    Guide::extracted(memories).shown(project, version, memories)
}

fn passed<'a>(task: &'a str, q_value: f64, guidance: &'a str) -> SourceMemory<'a> {
    SourceMemory {
        task,
        success: true,
        q_value,
        guidance,
        ..SourceMemory::default()
    }
}

#[test]
fn a_guide_has_front_matter_and_sections_with_the_most_useful_first() {
    let tools = ["pay".to_owned(), "get_cart".to_owned()];
    let memories = [
        passed("Pay order 1.", 0.55, "Look at the cart, then pay."),
        SourceMemory {
            tools: &tools,
            ..passed("Refund it", 0.9, "Ask for the receipt.")
        },
        SourceMemory {
            task: "Pay: all",
            success: false,
            q_value: 0.5,
            key_mistake: "pay failed: \"the total is 7\"",
            correct_action: "Sum up first",
            guidance: "Compare the totals.\n## Not a heading",
            tools: &tools[..1],
            ..SourceMemory::default()
        },
    ];
    assert_eq!(
        write_skill("Shop: \"EU\"", 3, &memories),
        "---\n\
         name: \"shop-eu\"\n\
         description: \"What 2 passed and 1 failed runs of Shop: \\\"EU\\\" taught. Read it before a \
         task of this project: strategies that worked, pitfalls to avoid, tools.\"\n\
         version: 3\n\
         passed: 2\n\
         failed: 1\n\
         ---\n\n\
         # Guide for Shop: \"EU\"\n\n\
         ## Strategies that worked\n\n\
         - **Refund it:** Ask for the receipt. (utility 0.90)\n\
         - **Pay order 1:** Look at the cart, then pay. (utility 0.55)\n\n\
         ## Pitfalls to avoid\n\n\
         - **Pay: all:** pay failed: \"the total is 7\". Instead: Sum up first. Next time: Compare the \
         totals. Not a heading. (utility 0.50)\n\n\
         ## Tools\n\n\
         - `pay`: 1 worked, 1 failed\n\
         - `get_cart`: 1 worked, 0 failed\n"
    );
}

#[test]
fn advice_that_is_nearly_the_same_is_merged() {
    let guide = write_skill(
        "p",
        1,
        &[
            passed("a", 0.6, "Check the receipt before the refund is made."),
            passed("b", 0.8, "Check the receipt before a refund is made!"),
            passed("c", 0.7, "Never ship abroad."),
        ],
    );
    assert!(
        guide
            .contains("- **b:** Check the receipt before a refund is made! (utility 0.80, 2 runs)"),
        "{guide}"
    );
    let same = "Look up with the tools what is missing.";
    let other = |key_mistake| SourceMemory {
        success: false,
        key_mistake,
        ..passed("t", 0.5, same)
    };
    let guide_of_fails = write_skill(
        "p",
        1,
        &[
            other("It said: \"no idea at all\""),
            other("It gave up after asking thrice"),
        ],
    );
    assert_eq!(guide_of_fails.matches(same).count(), 1, "{guide_of_fails}");
    assert_eq!(guide.matches("receipt").count(), 1);
    assert_eq!(guide.matches("ship").count(), 1);
}

#[test]
fn a_memory_without_fields_gives_its_text() {
    let memory = SourceMemory {
        task: "t",
        success: true,
        reflection: "Use the other form.".into(),
        ..SourceMemory::default()
    };
    let guide = write_skill("", 1, &[memory]);
    assert!(guide.contains("# Guide for this project"));
    assert!(
        guide.contains("- **t:** Use the other form. (utility 0.00)"),
        "{guide}"
    );
    assert!(guide.contains("## Pitfalls to avoid\n\nNone yet.\n"));
}

#[test]
fn a_long_section_says_how_much_it_leaves_out() {
    let advice: Vec<String> = (0..25).map(|i| format!("advice{i} number{i}")).collect();
    let memories: Vec<_> = advice
        .iter()
        .map(|advice| passed("t", 0.5, advice))
        .collect();
    assert!(write_skill("p", 1, &memories).contains("- and 5 more\n"));
}

proptest! {
    #[test]
    fn any_memories_give_a_guide_that_keeps_its_form(
        project in any::<String>(),
        version in any::<u64>(),
        texts in prop::collection::vec((any::<String>(), any::<String>(), any::<bool>(), any::<f64>()), 0..8),
    ) {
        let mut memories: Vec<SourceMemory<'_>> = texts
            .iter()
            .map(|(a, b, success, q_value)| SourceMemory {
                task: a,
                success: *success,
                q_value: *q_value,
                key_mistake: b,
                guidance: a,
                tools: std::slice::from_ref(b),
                ..SourceMemory::default()
            })
            .collect();
        let guide = write_skill(&project, version, &memories);
        let lines: Vec<&str> = guide.lines().collect();
        prop_assert_eq!(lines.iter().filter(|line| **line == "---").count(), 2);
        prop_assert_eq!(lines.iter().filter(|line| line.starts_with('#')).count(), 4);
        let name = lines[1].strip_prefix("name: ").unwrap();
        prop_assert!(serde_json::from_str::<String>(name).is_ok());
        let description = lines[2].strip_prefix("description: ").unwrap();
        prop_assert!(serde_json::from_str::<String>(description).is_ok());
        memories.reverse();
        prop_assert_eq!(&guide, &write_skill(&project, version, &memories));
    }
}

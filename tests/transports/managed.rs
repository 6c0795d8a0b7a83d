//! Memories and projects under management.

use reflect_sdk::Review;
use reflect_sdk::types::{Approval, ChangeKind, MemoryStatus, Piece, Ranking};

use crate::on_every_transport;
use crate::world::World;

on_every_transport!(
    an_edited_memory_is_recalled_with_its_new_text,
    a_quarantined_memory_is_recalled_only_after_it_is_restored,
    a_deleted_memory_leaves_its_record,
    a_quarantined_memory_stays_so_in_an_export,
    projects_are_listed_with_their_counts,
    a_review_over_the_limit_of_the_project_is_refused,
    a_new_project_needs_a_printable_id,
);

fn an_edited_memory_is_recalled_with_its_new_text(world: &World) {
    let client = world.client();
    let id = world.learn("Refund order 7", None, &[]).created_memory_id;
    let id = id.unwrap();
    let before = client.get_memory(&id).call().unwrap().memory;
    let call = client.update_memory(&id).guidance("Ask first");
    let edited = call.applicable_tools(["refund"]).note("why").call();
    let edited = edited.unwrap();
    assert_eq!(edited.memory.reflection.guidance, "Ask first");
    assert_eq!(edited.memory.reflection.summary, before.reflection.summary);
    assert_eq!(edited.changes[0].before, Some(before.reflection));
    assert_eq!(edited.changes[0].note.as_deref(), Some("why"));
    assert_eq!(client.get_memory(&id).call().unwrap(), edited);
    let recalled = world.recall("Refund order 7");
    assert_eq!(recalled[0].guidance, "Ask first");
    assert_eq!(recalled[0].applicable_tools, ["refund"]);

    let nothing = client.update_memory(&id).call().unwrap_err();
    assert_eq!(nothing.status(), None, "{nothing}");
    let absent = client.update_memory("absent").quarantine().call();
    assert_eq!(absent.unwrap_err().status(), Some(404));
}

fn a_quarantined_memory_is_recalled_only_after_it_is_restored(world: &World) {
    let client = world.client();
    let id = world.learn("Refund order 7", None, &[]).created_memory_id;
    let id = id.unwrap();
    let [recalled] = &world.recall("Refund order 7")[..] else {
        panic!("one memory");
    };
    client.update_memory(&id).quarantine().call().unwrap();
    assert_eq!(world.recall("Refund order 7"), []);
    let listed = client.list_memories().call().unwrap();
    assert_eq!(listed[0].memory.status, MemoryStatus::Quarantined);
    let aside = client.list_memories().status(MemoryStatus::Active).call();
    assert!(aside.unwrap().is_empty());
    world.learn("Water the plants", None, &[recalled]);
    let learned = client.get_memory(&id).call().unwrap().memory;
    assert_eq!(learned.uses, 1);
    client.update_memory(&id).restore().call().unwrap();
    assert_eq!(world.recall("Refund order 7")[0].id, id);
}

fn a_deleted_memory_leaves_its_record(world: &World) {
    let client = world.client();
    let id = world.learn("Refund order 7", None, &[]).created_memory_id;
    let id = id.unwrap();
    assert_eq!(client.delete_memory(&id).call().unwrap().memory_id, id);
    assert_eq!(world.recall("Refund order 7"), []);
    let absent = client.get_memory(&id).call().unwrap_err();
    assert_eq!(absent.status(), Some(404));
    let again = client.delete_memory(&id).call().unwrap_err();
    assert_eq!(again.status(), Some(404));
    let changes = client.list_memory_changes().limit(5).call().unwrap();
    assert_eq!(changes.len(), 1);
    assert_eq!(
        (&changes[0].kind, &changes[0].memory_id),
        (&ChangeKind::Deleted, &id)
    );
}

fn a_quarantined_memory_stays_so_in_an_export(world: &World) {
    let client = world.client();
    let id = world.learn("Refund order 7", None, &[]).created_memory_id;
    let id = id.unwrap();
    let call = client.update_memory(&id).summary("Better").quarantine();
    call.call().unwrap();
    let memories = client.admin().export_memories().call().unwrap();
    let pieces = memories
        .into_iter()
        .map(|memory| Piece::Memory(Box::new(memory)));
    let other = world.other_project();
    let import = other.admin().import_project(pieces.collect());
    assert_eq!(import.call().unwrap().stored, 1);
    let imported = other.get_memory(&id).call().unwrap();
    assert_eq!(imported.memory.status, MemoryStatus::Quarantined);
    let kinds: Vec<_> = imported.changes.iter().map(|c| c.kind.as_str()).collect();
    assert_eq!(kinds, ["edited", "quarantined"]);
    let recalled = other.query_memories("Refund order 7").call().unwrap();
    assert_eq!(recalled, []);
}

fn projects_are_listed_with_their_counts(world: &World) {
    world.learn("Refund order 7", None, &[]);
    let other = world.other_project();
    other.create_trace("Pay", "Done.").call().unwrap();
    let projects = world.client().admin().list_projects().call().unwrap();
    let seen: Vec<_> = projects
        .iter()
        .map(|project| {
            (
                project.project_id.as_str(),
                project.traces,
                project.memories,
            )
        })
        .collect();
    assert_eq!(seen, [("billing", 1, 0), ("support", 1, 1)]);
}

fn a_review_over_the_limit_of_the_project_is_refused(world: &World) {
    let client = world.client();
    let waiting = client
        .create_trace("Refund order 7", "Done.")
        .call()
        .unwrap();
    let set = client.admin().set_max_alpha(0.2).call().unwrap();
    assert_eq!(set.settings.max_alpha, Some(0.2));
    let set = client.admin().set_max_memories(7).call().unwrap();
    assert_eq!(
        (set.settings.max_alpha, set.settings.max_memories),
        (Some(0.2), Some(7))
    );
    let set = client.admin().set_max_memories(None).call().unwrap();
    assert_eq!(
        (set.settings.max_alpha, set.settings.max_memories),
        (Some(0.2), None)
    );
    let set = client.admin().set_ranking(Ranking::Classic).call().unwrap();
    assert_eq!(set.settings.ranking, Some(Ranking::Classic));
    let set = client
        .admin()
        .set_approval(Approval::Models)
        .call()
        .unwrap();
    assert_eq!(set.settings.ranking, Some(Ranking::Classic));
    assert_eq!(set.settings.approve, Some(Approval::Models));
    let set = client.admin().set_approval(None).call().unwrap();
    assert_eq!(set.settings.approve, None);
    let keep = |keep: Option<bool>| {
        client
            .admin()
            .set_keep_personal_values(keep)
            .call()
            .unwrap()
    };
    assert_eq!(keep(Some(true)).settings.keep_personal_values, Some(true));
    assert_eq!(keep(None).settings.keep_personal_values, None);
    let inline = client.create_trace("Refund order 8", "Done.").pass();
    let refused = inline.alpha(0.21).call().unwrap_err().to_string();
    assert!(refused.contains("at most 0.2"), "{refused}");
    let large = Review::pass().alpha(0.21);
    let refused = client.review_trace(&waiting.trace_id, large).call();
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("`alpha` must be at most 0.2"), "{refused}");
    let review = Review::pass().alpha(0.2);
    client
        .review_trace(&waiting.trace_id, review)
        .call()
        .unwrap();
    let changed = Review::fail("no").alpha(0.3);
    let changed = client.change_review(&waiting.trace_id, changed).call();
    assert!(changed.is_err());
    // The default is lowered.
    world.learn("Refund order 9", None, &[]);
    let given = world.recall("Refund order 9");
    world.learn("Refund order 10", None, &[&given[0]]);
    let memory = client.get_memory(&given[0].id).call().unwrap();
    assert_eq!(memory.events[0].alpha.to_bits(), 0.2_f64.to_bits());
    client.admin().set_max_alpha(None).call().unwrap();
    let changed = client.change_review(&waiting.trace_id, Review::fail("no"));
    changed.call().unwrap();
}

fn a_new_project_needs_a_printable_id(world: &World) {
    for odd in ["a\u{1b}[2J", "a\u{200b}b", "a\u{202e}b", " a", "a\u{0}"] {
        let client = world.client_with(|builder| builder.project(odd)).blocking();
        let refused = client.create_trace("Pay", "Done.").call().unwrap_err();
        assert!(refused.to_string().contains("project_id"), "{refused}");
        assert!(client.list_traces().call().unwrap().is_empty());
    }
    let fine = world.client_with(|builder| builder.project("team/東京 1"));
    let stored = fine.blocking().create_trace("Pay", "Done.").call();
    stored.unwrap();
}

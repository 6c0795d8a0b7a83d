//! The control arm, on every transport.

use reflect_sdk::types::{Arm, Usage};
use reflect_sdk::{ClientBuilder, TraceContext, TraceOutput, TraceResult, reflect_trace};

use crate::on_every_transport;
use crate::world::{LIMIT, World};

on_every_transport!(
    a_control_run_is_given_nothing_and_its_trace_says_so,
    a_run_outside_of_the_control_arm_says_so_too,
    without_a_share_a_run_is_in_no_arm,
    the_arm_of_a_run_follows_from_its_id,
    an_augmented_task_passes_its_arm_on,
    the_attribute_sets_the_share,
    the_project_has_a_share_for_clients_without_one,
    tokens_are_summed_by_model_and_arm,
);

fn a_control_run_is_given_nothing_and_its_trace_says_so(world: &World) {
    world.learn("Refund order 7", Some("ask for the date first"), &[]);
    let client = world
        .client_with(|builder| builder.control_share(1.0))
        .blocking();
    let run = client.trace("Refund order 7").start_blocking();
    assert_eq!(run.augmented_task(), "Refund order 7");
    assert_eq!(run.context().arm(), Some(&Arm::Control));
    run.set_output(TraceOutput::new("Refunded."));
    let receipt = run.finish_blocking(LIMIT).unwrap();
    let stored = client.get_trace(&receipt.trace_id).call().unwrap();
    assert_eq!(stored.arm, Some(Arm::Control));
    assert!(stored.retrieved_memory_ids.is_empty());
}

fn a_run_outside_of_the_control_arm_says_so_too(world: &World) {
    let taught = world.learn("Refund order 7", Some("ask for the date first"), &[]);
    let client = world
        .client_with(|builder| builder.control_share(1e-12))
        .blocking();
    let run = client.trace("Refund order 7").start_blocking();
    assert!(run.augmented_task().contains("ask for the date first"));
    run.set_output(TraceOutput::new("Refunded."));
    let receipt = run.finish_blocking(LIMIT).unwrap();
    let stored = client.get_trace(&receipt.trace_id).call().unwrap();
    assert_eq!(stored.arm, Some(Arm::Memories));
    let given = taught.created_memory_id.into_iter().collect::<Vec<_>>();
    assert_eq!(stored.retrieved_memory_ids, given);
}

fn without_a_share_a_run_is_in_no_arm(world: &World) {
    let client = world.client();
    client.trace("Refund order 7").run(|_| "Refunded.");
    assert_eq!(world.only().arm, None);
}

fn the_arm_of_a_run_follows_from_its_id(world: &World) {
    let client = world.client();
    for _ in 0..20 {
        let run = client
            .trace("Refund order 7")
            .control_share(0.5)
            .start_blocking();
        let expected = Arm::draw(run.context().run_id(), 0.5);
        assert_eq!(run.context().arm(), expected.as_ref());
        run.discard();
    }
}

fn an_augmented_task_passes_its_arm_on(world: &World) {
    world.learn("Refund order 7", Some("ask for the date first"), &[]);
    let client = world.client();
    for (share, arm, given) in [
        (Some(1.0), Some(Arm::Control), 0),
        (Some(1e-12), Some(Arm::Memories), 1),
        (None, None, 1),
    ] {
        let mut call = client.augment_with_memories("Refund order 7");
        if let Some(share) = share {
            call = call.control_share(share);
        }
        let augmented = call.call().unwrap();
        assert_eq!((&augmented.arm, augmented.memories.len()), (&arm, given));
        let trace = client
            .create_trace("Refund order 7", "Refunded.")
            .given(&augmented)
            .call()
            .unwrap();
        let stored = client.get_trace(&trace.trace_id).call().unwrap();
        assert_eq!(stored.arm, arm);
        assert_eq!(stored.retrieved_memory_ids.len(), given);
    }
    let refused = client.augment_with_memories("t").control_share(-0.1).call();
    let refused = refused.unwrap_err().to_string();
    assert!(
        refused.contains("`control` must be from 0 to 1, got -0.1"),
        "{refused}"
    );
}

fn the_attribute_sets_the_share(world: &World) {
    #[reflect_trace(client = client, task = "Refund order 7", control_share = 1.0)]
    fn refund(ctx: &TraceContext, client: &reflect_sdk::BlockingClient) -> TraceResult {
        TraceResult::new(String::new(), ctx.augmented_task())
    }

    world.learn("Refund order 7", Some("ask for the date first"), &[]);
    refund(&world.client());
    assert_eq!(world.traces()[0].arm, Some(Arm::Control));
}

fn the_project_has_a_share_for_clients_without_one(world: &World) {
    world.learn("Refund order 7", Some("ask for the date first"), &[]);
    let set = world.client().admin().set_control(1.0).call().unwrap();
    assert_eq!(set.settings.control, Some(1.0));
    let arm = |builder: fn(ClientBuilder) -> ClientBuilder| {
        let client = world.client_with(builder).blocking();
        let run = client.trace("Refund order 7").start_blocking();
        let (arm, given) = (run.context().arm().cloned(), run.augmented_task().len());
        run.discard();
        let augmented = client.augment_with_memories("Refund order 7").call();
        assert_eq!(augmented.unwrap().arm, arm);
        (arm, given > "Refund order 7".len())
    };
    assert_eq!(arm(|builder| builder), (Some(Arm::Control), false));
    assert_eq!(arm(|builder| builder.control_share(0.0)), (None, true));
    let settings = world.client().admin().settings().call().unwrap();
    assert_eq!(settings.control, Some(1.0));
    let refused = world.client().admin().set_control(1.5).call().unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("`control` must be from 0 to 1, got 1.5"),
        "{refused}"
    );
    world.client().admin().set_control(None).call().unwrap();
    assert_eq!(arm(|builder| builder), (None, true));
}

fn tokens_are_summed_by_model_and_arm(world: &World) {
    world.learn("Refund order 7", Some("ask for the date first"), &[]);
    let client = world.client();
    // One in a billion is none.
    for (share, input) in [(1e-9, 40), (1.0, 10), (1.0, 30)] {
        let run = client.trace("Refund order 8").control_share(share);
        run.run(|_| TraceResult::from("Refunded.").model("m").usage(input, 5));
    }
    let recorded = client.create_trace("Refund order 9", "Refunded.");
    recorded.model("m").usage(100, 1).call().unwrap();
    client.flush(LIMIT);
    let report = client.admin().report().call().unwrap();
    let [usage] = &report.usage[..] else {
        panic!("{:?}", report.usage)
    };
    assert_eq!((usage.model.as_deref(), usage.all.runs), (Some("m"), 4));
    assert_eq!(usage.all.input_tokens, 180);
    assert_eq!(usage.memories.mean(), Some(Usage::new(40, 5)));
    assert_eq!(usage.control.mean(), Some(Usage::new(20, 5)));
    let refused = client.create_trace("t", "done").usage(u64::MAX, 0).call();
    let refused = refused.unwrap_err().to_string();
    assert!(
        refused.contains("`usage.input_tokens` must be at most"),
        "{refused}"
    );
}

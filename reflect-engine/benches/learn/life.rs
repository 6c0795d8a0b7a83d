//! The life of a simulated agent: the tasks it meets, the memories it is given and what it learns.

use crate::policy::{Kind, Policy};
use crate::random::Random;
use crate::world::{Memory, World};

const EPOCHS: u64 = 6;

/// Pass rates from 0 to 1: in the last epoch, on unseen tasks, and over all epochs.
pub(crate) type Rates = [f64; 3];

/// The pass rates of an agent that is given memories by this policy.
pub(crate) async fn live(world: &World<'_>, kind: Kind) -> Rates {
    let mut policy = Policy::start(kind);
    let mut memories = Vec::new();
    let (mut passed, mut passed_last) = (0_u32, 0_u32);
    for epoch in 0..EPOCHS {
        let mut order: Vec<_> = (0..world.repeated).collect();
        Random::new(&[world.seed, 1, epoch]).shuffle(&mut order);
        for task in order {
            let mut random = Random::new(&[world.seed, 2, epoch, task as u64]);
            let [luck, review, junk, general] = std::array::from_fn(|_| random.share());
            let given = policy.choose(world, &memories, task).await;
            let luck = if world.condition.redrawn {
                luck
            } else {
                world.luck[task]
            };
            let pass = luck < world.probability(&memories, &given, task);
            passed += u32::from(pass);
            passed_last += u32::from(pass && epoch == EPOCHS - 1);
            memories.push(Memory {
                task,
                is_junk: junk < if pass { 0.25 } else { 0.4 },
                is_general: general < 0.5,
            });
            let verdict = pass != (review < world.condition.wrong);
            policy.learn(world, task, &given, verdict).await;
        }
    }
    let mut unseen = 0.0;
    for task in world.repeated..world.tasks.len() {
        let given = policy.choose(world, &memories, task).await;
        let probability = world.probability(&memories, &given, task);
        unseen += if world.condition.redrawn {
            probability
        } else {
            f64::from(u8::from(world.luck[task] < probability))
        };
    }
    let repeated = world.repeated as f64;
    [
        f64::from(passed_last) / repeated,
        unseen / (world.tasks.len() - world.repeated) as f64,
        f64::from(passed) / (repeated * EPOCHS as f64),
    ]
}

//! Bodies, and what the compiler infers in them.
#![deny(warnings)]

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;

use reflect_sdk::{ReflectClient, TraceContext, TraceResult, reflect_trace};

use crate::world::World;

type Job = Pin<Box<dyn Future<Output = u8> + Send>>;

#[reflect_trace(client = client)]
async fn collected(_: &TraceContext, question: &str, client: &ReflectClient) -> String {
    question.chars().rev().collect()
}

#[reflect_trace(client = client)]
async fn coerced(
    _: &TraceContext,
    question: &str,
    client: &ReflectClient,
) -> Result<TraceResult<Job>, String> {
    if question.is_empty() {
        return Ok(TraceResult::new(Box::pin(async { 0 }), "nothing"));
    }
    Ok(TraceResult::new(Box::pin(async { 7 }), "a job"))
}

#[reflect_trace(client = client)]
fn defaulted(_: &TraceContext, question: &str, client: &ReflectClient) -> Result<String, String> {
    if question.is_empty() {
        return Ok(String::default());
    }
    question.parse().map_err(|_| String::new())
}

#[reflect_trace(client = client)]
#[expect(clippy::default_trait_access, reason = "its type is to be inferred")]
async fn defaulted_later(
    _: &TraceContext,
    question: &str,
    client: &ReflectClient,
) -> Result<String, Box<dyn std::error::Error>> {
    if question.is_empty() {
        return Ok(Default::default());
    }
    Ok(question.parse::<u8>()?.to_string())
}

#[tokio::test]
async fn types_are_inferred_from_the_signature() {
    let world = World::new();
    assert_eq!(collected("abc", &world.client).await, "cba");
    assert_eq!(coerced("x", &world.client).await.unwrap().await, 7);
    assert_eq!(coerced("", &world.client).await.unwrap().await, 0);
    assert_eq!(defaulted("", &world.client).unwrap(), "");
    assert_eq!(defaulted("a", &world.client).unwrap(), "a");
    assert_eq!(defaulted_later("", &world.client).await.unwrap(), "");
    assert!(defaulted_later("a", &world.client).await.is_err());
}

#[reflect_trace(client = client)]
async fn unwritten(_: &TraceContext, question: &str, client: &ReflectClient) -> String {
    unimplemented!()
}

#[reflect_trace(client = client)]
fn panics(ctx: &TraceContext, question: &str, client: &ReflectClient) -> String {
    panic!("{}", ctx.task())
}

#[reflect_trace(client = client)]
async fn looped(ctx: &TraceContext, question: &str, client: &ReflectClient) -> TraceResult<u8> {
    let mut round = 0;
    loop {
        round += 1;
        if round == 3 {
            return TraceResult::new(round, ctx.task());
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn bodies_that_never_reach_their_end_compile_without_a_warning() {
    let world = World::new();
    assert_eq!(looped("a", &world.client).await, 3);
    let caught = catch_unwind(AssertUnwindSafe(|| panics("b", &world.client)));
    assert_eq!(caught.unwrap_err().downcast_ref::<String>().unwrap(), "b");
    drop(unwritten("c", &world.client));
    assert_eq!(world.recorded().len(), 2);
}

#[reflect_trace(client = client)]
async fn returns_within(ctx: &TraceContext, question: &str, client: &ReflectClient) -> String {
    fn nested(text: &str) -> u8 {
        if text.is_empty() {
            return 0;
        }
        4
    }
    let closure = |number: u8| {
        if number > 1 {
            return 2;
        }
        number
    };
    let block = async {
        if question.is_empty() {
            return 0;
        }
        tokio::task::yield_now().await;
        nested(question)
    };
    let number = block.await;
    let found = 'outer: loop {
        for round in 0.. {
            if round == number {
                break 'outer closure(round);
            }
        }
    };
    macro_rules! name {
        () => {
            ctx.task()
        };
    }
    format!("{} {number} {found}", name!())
}

#[tokio::test]
async fn a_return_leaves_the_innermost_function() {
    let world = World::new();
    assert_eq!(returns_within("four", &world.client).await, "four 4 2");
    assert_eq!(returns_within("", &world.client).await, " 0 0");
}

#[reflect_trace(client = client)]
fn temporaries(ctx: &TraceContext, question: &str, client: &ReflectClient) -> String {
    let cell = std::cell::RefCell::new(ctx.task().to_owned());
    cell.borrow().clone()
}

#[reflect_trace(client = client)]
fn borrows_the_context_at_its_end(
    ctx: &TraceContext,
    question: &str,
    client: &ReflectClient,
) -> String {
    std::cell::RefCell::new(ctx).borrow().task().to_owned()
}

#[test]
fn what_the_last_expression_borrows_lives_long_enough() {
    let world = World::new();
    assert_eq!(temporaries("a", &world.client), "a");
    assert_eq!(borrows_the_context_at_its_end("b", &world.client), "b");
}

#[reflect_trace(client = client)]
fn with_inner_attributes(ctx: &TraceContext, question: &str, client: &ReflectClient) -> String {
    #![allow(unused_variables)]
    let unused = 1;
    ctx.task().to_owned()
}

#[test]
fn inner_attributes_keep_their_meaning() {
    let world = World::new();
    assert_eq!(with_inner_attributes("a", &world.client), "a");
}

/// Before edition 2024, temporaries of the last expression are dropped after the variables of a block;
/// the expansion must not make them outlive the arguments.
#[reflect_trace(client = client, task = "t")]
fn borrows_last(
    ctx: &TraceContext,
    (lock, _): (std::sync::Mutex<String>, u8),
    client: &ReflectClient,
) -> String {
    lock.lock()
        .map_or_else(|_| String::new(), |text| text.clone() + ctx.task())
}

#[reflect_trace(client = client, task = "t")]
async fn borrows_last_later(
    ctx: &TraceContext,
    (lock, _): (std::sync::Mutex<String>, u8),
    client: &ReflectClient,
) -> String {
    lock.lock()
        .map_or_else(|_| String::new(), |text| text.clone() + ctx.task())
}

#[tokio::test]
async fn the_last_expression_may_borrow_from_an_argument() {
    let world = World::new();
    let lock = || (std::sync::Mutex::new("a".to_owned()), 0);
    assert_eq!(borrows_last(lock(), &world.client), "at");
    assert_eq!(borrows_last_later(lock(), &world.client).await, "at");
}

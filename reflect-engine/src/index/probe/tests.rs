use proptest::prelude::*;

use super::super::kernel;
use super::*;
use crate::rank::vector::Direction;

fn similarity(a: &[f32], b: &[f32]) -> f64 {
    let (a, b) = (Direction::of(a).unwrap(), Direction::of(b).unwrap());
    a.cosine(&b).unwrap()
}

/// The upper bound by the coarse plane, and the bounds by both planes.
fn bounds(probe: &[f32], vector: &[f32]) -> [Bounds; 2] {
    let probe = Probe::new(probe);
    let code = code::encode(&code::direction(vector));
    let (mut dots, mut highs) = ([[0]], [0.0]);
    kernel::dots(&[probe.chunks()], &code.coarse, &mut dots);
    let [[dot]] = dots;
    probe.coarse_highs(
        &[dot],
        &[code.coarse_step],
        &[code.coarse_error],
        &mut highs,
    );
    let coarse = Bounds {
        low: -1.0,
        high: highs[0].into(),
    };
    [coarse, probe.bounds(code.planes(vector.len()), code.error)]
}

fn component() -> impl Strategy<Value = f32> {
    prop_oneof![
        6 => -1.0_f32..1.0,
        1 => Just(0.0),
        1 => -1e-3_f32..1e-3,
        1 => -100.0_f32..100.0,
        1 => Just(f32::MAX),
        1 => Just(f32::MIN_POSITIVE),
    ]
}

/// A probe and a vector, which may be equal or nearly so.
fn two() -> impl Strategy<Value = [Vec<f32>; 2]> {
    (1_usize..200).prop_flat_map(|dims| {
        let vector = || {
            prop_oneof![
                3 => prop::collection::vec(-1.0_f32..1.0, dims),
                1 => prop::collection::vec(component(), dims),
            ]
        };
        let spread = prop_oneof![Just(0.0_f32), Just(1e-4), Just(0.1), Just(1.0)];
        let noise = prop::collection::vec(-1.0_f32..1.0, dims);
        (vector(), spread, noise, prop::option::of(vector())).prop_map(
            |(probe, spread, noise, other)| {
                let scale = probe.iter().fold(0.0_f32, |max, x| max.max(x.abs())) / 2.0;
                let near = probe
                    .iter()
                    .zip(noise)
                    .map(|(x, n)| x / 2.0 + spread * scale * n);
                let near = near.collect();
                [probe, other.unwrap_or(near)]
            },
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn the_exact_similarity_lies_within_the_bounds([probe, vector] in two()) {
        let exact = similarity(&probe, &vector);
        for Bounds { low, high } in bounds(&probe, &vector) {
            prop_assert!(low <= exact && exact <= high, "{low} {exact} {high}");
        }
    }
}

fn waves(factor: i16, modulus: i16) -> Vec<f32> {
    (0..384_i16)
        .map(|i| f32::from(i * factor % modulus) - f32::from(modulus / 2))
        .collect()
}

#[test]
fn the_bounds_are_narrow() {
    let (vector, probe) = (waves(37, 101), waves(53, 89));
    let above = bounds(&probe, &vector).map(|bounds| bounds.high - similarity(&probe, &vector));
    assert!(above[0] < 0.13 && above[1] < 0.03, "{above:?}");
}

#[test]
fn a_zero_vector_has_exactly_no_similarity() {
    for (probe, vector) in [([0.0; 5], [1.0; 5]), ([1.0; 5], [0.0; 5])] {
        let [_, Bounds { low, high }] = bounds(&probe, &vector);
        assert!(low.abs() + high.abs() <= 0.0, "{low} {high}");
    }
}

fn assert_fits(vector: &[f32]) {
    let [coarse, both] = bounds(vector, vector);
    assert!((1.0..1.15).contains(&coarse.high), "{coarse:?}");
    assert!(both.low > 0.85 && both.high >= 1.0, "{both:?}");
}

#[test]
fn the_largest_dot_product_fits() {
    // All components alike make the largest sum, over more dimensions than any embedder has.
    let ones = vec![1.0_f32; 100_000];
    assert_fits(&ones);
    let mixed: Vec<f32> = (0..100_000_u32)
        .map(|i| if i % 2 == 0 { 1.0 } else { -1.0 })
        .collect();
    assert_fits(&mixed);
}

use proptest::prelude::*;

use super::*;
use crate::rank::vector::Direction;

fn similarity(a: &[f32], b: &[f32]) -> f64 {
    let (a, b) = (Direction::of(a).unwrap(), Direction::of(b).unwrap());
    a.cosine(&b).unwrap()
}

/// The upper bounds without any code, of a range and of a row; that by the coarse plane and the bounds by both planes,
/// as if there were no centre, and with it.
fn bounds(probe: &[f32], centre: &Centre, vector: &[f32]) -> [Bounds; 6] {
    let probe = Probe::new(probe);
    let direction = code::direction(vector);
    let code = code::encode(&direction);
    let scale = Scale {
        step: code.step,
        along: code::to_f32(centre.along(&direction)),
        coarse_error: code.coarse_error,
        error: code.error,
    };
    let along = probe.along(centre);
    let mut scales = Scales::default();
    scales.push(scale);
    let mut highests_of_row = [0.0];
    highests(along, scales.alongs(), &mut highests_of_row);
    let below = |high| Bounds { low: -1.0, high };
    let by_planes = |aim: &Aim| {
        let (mut dots, mut highs) = ([0], [0.0]);
        aim.coarse_dots(&code.coarse, &[0], &mut dots);
        aim.coarse_highs(&dots, &scales, &mut highs);
        let both = aim.bounds_by_all(dots[0], &code.fine, scale);
        [below(highs[0]), both]
    };
    let [coarse, both] = by_planes(&probe.aim());
    let [near_coarse, near_both] = by_planes(&probe.aim_at(centre, along));
    [
        below(highest(along, scale.along, scale.along)),
        below(highests_of_row[0]),
        coarse,
        both,
        near_coarse,
        near_both,
    ]
}

/// How far the upper bounds by the coarse plane and by both are above the exact similarity.
fn margins(probe: &[f32], centre: &Centre, vector: &[f32]) -> [f64; 2] {
    let [.., coarse, both] = bounds(probe, centre, vector);
    [coarse, both].map(|bounds| bounds.high - similarity(probe, vector))
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

/// A probe, a vector and a centre, of which some are equal or nearly so.
fn three() -> impl Strategy<Value = [Vec<f32>; 3]> {
    (1_usize..200).prop_flat_map(|dims| {
        let vector = prop_oneof![
            3 => prop::collection::vec(-1.0_f32..1.0, dims),
            1 => prop::collection::vec(component(), dims),
        ];
        let spread = prop_oneof![Just(0.0_f32), Just(1e-4), Just(0.1), Just(1.0)];
        let noise = prop::collection::vec(-1.0_f32..1.0, dims);
        let near = move |vector: Vec<f32>| {
            (spread.clone(), noise.clone()).prop_map(move |(spread, noise)| {
                let scale = vector.iter().fold(0.0_f32, |max, x| max.max(x.abs())) / 2.0;
                let near = vector
                    .iter()
                    .zip(noise)
                    .map(|(x, n)| x / 2.0 + spread * scale * n);
                near.collect::<Vec<_>>()
            })
        };
        (vector.clone(), vector).prop_flat_map(move |(probe, centre)| {
            let of_both = prop_oneof![near(probe.clone()), near(centre.clone())];
            let probe = prop_oneof![Just(probe), near(centre.clone())];
            (probe, of_both, Just(centre)).prop_map(<[_; 3]>::from)
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn the_exact_similarity_lies_within_the_bounds([probe, vector, centre] in three()) {
        let exact = similarity(&probe, &vector);
        for centre in [Centre::default(), Centre::new(&code::direction(&centre))] {
            for Bounds { low, high } in bounds(&probe, &centre, &vector) {
                prop_assert!(low <= exact && exact <= high, "{low} {exact} {high}");
            }
        }
    }
}

fn waves(factor: i16, modulus: i16) -> Vec<f32> {
    (0..384_i16)
        .map(|i| f32::from(i * factor % modulus) - f32::from(modulus / 2))
        .collect()
}

#[test]
fn the_bounds_are_narrow_and_narrower_near_a_centre() {
    let (vector, probe) = (waves(37, 101), waves(53, 89));
    let [coarse, both] = margins(&probe, &Centre::default(), &vector);
    assert!(coarse < 0.13 && both < 0.03, "{coarse} {both}");

    let near: Vec<_> = vector
        .iter()
        .zip(&probe)
        .map(|(v, p)| v + 0.3 * p)
        .collect();
    let centre = Centre::new(&code::direction(&vector));
    let nearer = margins(&near, &centre, &vector);
    assert!(nearer[0] < 0.3 * coarse && nearer[1] < 0.3 * both);
}

#[test]
fn a_row_far_from_the_centre_is_far_from_a_probe_at_it() {
    assert!(highest(0.9, -0.1, 0.3) < 0.69);
    assert!(highest(0.3, 0.8, 0.95) < 0.82);
    assert!(highest(0.3, 0.2, 0.95) >= 1.0);
    assert!(highest(1.0, 0.5, 0.5) < 0.502);
}

#[test]
fn a_zero_vector_has_exactly_no_similarity() {
    for (probe, vector) in [([0.0; 5], [1.0; 5]), ([1.0; 5], [0.0; 5])] {
        let [.., Bounds { low, high }] = bounds(&probe, &Centre::default(), &vector);
        assert!(low.abs() + high.abs() <= 0.0, "{low} {high}");
    }
}

fn assert_fits(vector: &[f32]) {
    let [.., coarse, both] = bounds(vector, &Centre::default(), vector);
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

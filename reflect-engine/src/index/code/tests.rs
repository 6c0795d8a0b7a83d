use proptest::prelude::*;

use super::*;

fn similarity(a: &[f32], b: &[f32]) -> f64 {
    let (a, b) = (Direction::of(a).unwrap(), Direction::of(b).unwrap());
    a.cosine(&b).unwrap()
}

/// The bounds by the first plane, by the first two, by all.
fn bounds(probe: &[f32], vector: &[f32]) -> [Bounds; PLANES] {
    let (probe, code) = (Probe::new(probe), encode(vector));
    let (mut dot, mut size) = (0.0, 1.0);
    std::array::from_fn(|plane| {
        let mut part = [0];
        probe.dots(&code.planes[plane], &mut part);
        dot += size * f64::from(part[0]);
        size /= 16.0;
        probe.bounds(dot, code.step, code.errors[plane])
    })
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

fn pair() -> impl Strategy<Value = (Vec<f32>, Vec<f32>)> {
    (1_usize..200).prop_flat_map(|dims| {
        let vector = || {
            prop_oneof![
                3 => prop::collection::vec(-1.0_f32..1.0, dims),
                1 => prop::collection::vec(component(), dims),
            ]
        };
        (vector(), vector())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn the_exact_similarity_lies_within_the_bounds((probe, vector) in pair()) {
        let exact = similarity(&probe, &vector);
        for Bounds { low, high } in bounds(&probe, &vector) {
            prop_assert!(low <= exact && exact <= high, "{low} {exact} {high}");
        }
        for Bounds { low, high } in bounds(&vector, &vector) {
            prop_assert!(low <= 1.0 && similarity(&vector, &vector) <= high);
        }
    }

    #[test]
    fn the_codes_give_the_vector_back(vector in prop::collection::vec(-1.0_f32..1.0, 1..200)) {
        let code = encode(&vector);
        let norm = Direction::of(&vector).unwrap().norm();
        for (i, x) in vector.iter().enumerate() {
            let part = |plane: usize| {
                let word = code.planes[plane][i / CHUNK][i % WORDS];
                f64::from((word >> (i % CHUNK / WORDS * 4) & 0xf) - BIAS)
            };
            let whole = part(0) + part(1) / 16.0 + part(2) / 256.0;
            let back = whole * f64::from(code.step) * norm;
            let unit = f64::from(code.step) * norm / 256.0;
            prop_assert!((back - f64::from(*x)).abs() <= unit * 0.501, "{back} {x}");
        }
    }
}

#[test]
fn the_bounds_are_narrow() {
    let vector: Vec<f32> = (0..384_i16)
        .map(|i| f32::from(i * 37 % 101) - 50.0)
        .collect();
    let probe: Vec<f32> = (0..384_i16)
        .map(|i| f32::from(i * 53 % 89) - 44.0)
        .collect();
    let widths = bounds(&probe, &vector).map(|b| b.high - b.low);
    assert!(
        widths[0] < 0.25 && widths[1] < 0.016 && widths[2] < 0.001,
        "{widths:?}"
    );
}

#[test]
fn a_zero_vector_has_exactly_no_similarity() {
    for (probe, vector) in [([0.0; 5], [1.0; 5]), ([1.0; 5], [0.0; 5])] {
        for Bounds { low, high } in bounds(&probe, &vector) {
            assert!(low.abs() + high.abs() <= 0.0, "{low} {high}");
        }
    }
}

#[test]
fn the_largest_dot_product_fits() {
    // All components alike make the largest sum, over more dimensions than any embedder has.
    let ones = vec![1.0_f32; 100_000];
    for Bounds { low, high } in bounds(&ones, &ones) {
        assert!(low > 0.85 && high >= 1.0, "{low} {high}");
    }
    let mixed: Vec<f32> = (0..100_000_u32)
        .map(|i| if i % 2 == 0 { 1.0 } else { -1.0 })
        .collect();
    for Bounds { low, high } in bounds(&mixed, &mixed) {
        assert!(low > 0.85 && high >= 1.0, "{low} {high}");
    }
}

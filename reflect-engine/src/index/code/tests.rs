use proptest::prelude::*;

use super::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn the_codes_give_the_vector_back(vector in prop::collection::vec(-1.0_f32..1.0, 1..300)) {
        let direction = direction(&vector);
        let code = encode(&direction);
        let codes = code.planes().whole();
        prop_assert_eq!(codes.len(), vector.len());
        let Scale { step, errors, .. } = code.scale;
        let quarter = f64::from(step) / 4.0;
        let mut squares = [0.0; PLANES];
        for (c, u) in codes.iter().zip(&direction) {
            let rest = u - f64::from(*c) * quarter;
            prop_assert!(rest.abs() <= quarter * 0.501, "{c} {u}");
            let [first, second, _] = parts(*c).map(f64::from);
            let rests = [
                u - f64::from(step) * 3.2 * (first - 1.5),
                u - quarter * (16.0 * first + 4.0 * second - 30.5),
                rest,
            ];
            for (square, rest) in squares.iter_mut().zip(rests) {
                *square += rest * rest;
            }
        }
        for (square, error) in squares.iter().zip(errors) {
            prop_assert!(square.sqrt() <= f64::from(error));
        }
    }

    #[test]
    fn similarity_is_computed_from_the_codes(
        (a, b) in (1_usize..300).prop_flat_map(|dims| {
            let vector = || prop::collection::vec(-1.0_f32..1.0, dims);
            (vector(), vector())
        }),
    ) {
        let exact: f64 = direction(&a).iter().zip(direction(&b)).map(|(a, b)| a * b).sum();
        let codes = [&a, &b].map(|v| encode(&direction(v)));
        let [a, b] = codes.each_ref().map(Code::planes);
        let margin: f64 = codes.iter().map(|c| f64::from(c.scale.errors[2]) * 1.1).sum();
        prop_assert!((similarity(a, b) - exact).abs() <= margin);
    }
}

#[test]
fn the_zero_vector_has_no_error() {
    let code = encode(&direction(&[0.0; 5]));
    let Scale { step, errors, .. } = code.scale;
    assert!(step + errors.iter().sum::<f32>() <= 0.0);
}

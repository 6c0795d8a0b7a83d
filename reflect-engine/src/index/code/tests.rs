use proptest::prelude::*;

use super::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn the_codes_give_the_vector_back(vector in prop::collection::vec(-1.0_f32..1.0, 1..300)) {
        let direction = direction(&vector);
        let code = encode(&direction);
        let codes = code.planes(vector.len()).whole();
        prop_assert_eq!(codes.len(), vector.len());
        let quarter = max_abs(&direction) / (4.0 * LARGEST);
        let (step, coarse_step) = (f64::from(code.step), f64::from(code.coarse_step));
        let (mut both, mut coarse) = (0.0, 0.0);
        let mut angles = [0.0; 2];
        for (c, u) in codes.iter().zip(&direction) {
            prop_assert!((u - f64::from(*c) * quarter).abs() <= quarter * 0.501, "{c} {u}");
            let near = step * f64::from(*c) / 4.0;
            both += (u - near).powi(2);
            let [part, _] = parts(*c);
            let coarsely = coarse_step * (f64::from(part) - 0.125);
            coarse += (u - coarsely).powi(2);
            angles[0] += (u - near) * near;
            angles[1] += (u - coarsely) * coarsely;
        }
        prop_assert!(both.sqrt() <= f64::from(code.error));
        prop_assert!(coarse.sqrt() <= f64::from(code.coarse_error));
        prop_assert!(angles.iter().all(|angle| angle.abs() < 2e-7), "{angles:?}");
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
        let dims = a.len();
        let [a, b] = codes.each_ref().map(|code| code.planes(dims));
        let margin: f64 = codes.iter().map(|c| f64::from(c.error) * 1.1).sum();
        prop_assert!((similarity(a, b) - exact).abs() <= margin);
    }
}

#[test]
fn the_zero_vector_has_no_error() {
    let code = encode(&direction(&[0.0; 5]));
    assert!(code.step + code.coarse_error + code.error <= 0.0);
}

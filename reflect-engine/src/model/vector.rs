/// The vector at length 1; a vector of almost no length as zeros. Stored vectors depend on its
/// arithmetic in `f32`.
pub(super) fn unit(mut vector: Vec<f32>) -> Vec<f32> {
    let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    let scale = if norm > 1e-9 { norm.recip() } else { 0.0 };
    for x in &mut vector {
        *x *= scale;
    }
    vector
}

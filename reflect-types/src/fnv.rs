/// The 64-bit FNV-1a hash of a text, the same on every platform and in every version. It guards nothing.
///
/// ```
/// assert_eq!(reflect_types::fnv_1a("foobar"), 0x8594_4171_f739_67e8);
/// ```
pub fn fnv_1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// The place of a text in `[0, 1)`, the same on every platform and in every version: its [`fnv_1a`], mixed by the
/// finaliser of `MurmurHash3`.
///
/// ```
/// assert!((reflect_types::place("foobar") - 0.172_395_305_594).abs() < 1e-9);
/// ```
pub fn place(text: &str) -> f64 {
    let fnv = fnv_1a(text);
    let hash = (fnv ^ (fnv >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    let hash = hash ^ (hash >> 33);
    // The 53 bits that a float holds exactly.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    let place = (hash >> 11) as f64;
    place / 9_007_199_254_740_992.0
}

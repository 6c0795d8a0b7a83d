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

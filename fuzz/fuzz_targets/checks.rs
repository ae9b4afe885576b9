//! What has to hold of every tensor that a reader made of bytes that nobody vouches for.

use openwork::{Layout, Tensor};

/// The largest input that a target reads, and the most bytes that its readers may ask for.
pub const LARGEST: u64 = 1 << 20;

/// It can be walked, and it takes no more memory than `factor` times the input.
pub fn sound(x: &Tensor, input: usize, factor: usize) {
    assert!(x.nbytes() <= factor * input + 4096, "{} bytes of {input}: {x:?}", x.nbytes());
    if x.nse() <= 1 << 12 {
        assert_eq!(x.iter_stored().count(), x.nse());
        assert!(x.iter_stored().all(|(index, _)| index.iter().zip(x.shape()).all(|(i, n)| i < n)));
    }
}

/// Two tensors list the same elements; NaN is like NaN.
pub fn same(a: &Tensor, b: &Tensor) {
    assert_eq!((a.shape(), a.dtype(), a.nse()), (b.shape(), b.dtype(), b.nse()));
    if a.nse() <= 1 << 10 {
        let listed = |x: &Tensor| -> Vec<String> {
            let x = if x.is_strided() { x.clone() } else { x.to_layout(Layout::Coo).expect("every tensor is a COO") };
            x.iter_stored().map(|element| format!("{element:?}").replace("-NaN", "NaN")).collect()
        };
        assert_eq!(listed(a), listed(b));
    }
}

//! Examples in the documentation of the methods that are made from the registry: the commonest ones.

/// The example of a registered op, or nothing.
macro_rules! example {
    (neg) => {
        r#"
```
use openwork::tensor;
assert_eq!((-tensor![1.0, -2.0])?.to_vec::<f64>()?, [-1.0, 2.0]);
# Ok::<(), openwork::Error>(())
```
"#
    };
    (abs) => {
        r#"
```
use openwork::{Layout, tensor};
assert_eq!(tensor![-3, 0, 2; Layout::Coo, 0]?.abs()?.to_vec::<i32>()?, [3, 0, 2]);
# Ok::<(), openwork::Error>(())
```
"#
    };
    (sqrt) => {
        r#"
```
use openwork::{Layout, tensor};
let x = tensor![[4.0, 0.0, 9.0]; Layout::Csr, 0.0]?.sqrt()?;
assert_eq!((x.nse(), x.to_vec::<f64>()?), (2, vec![2.0, 0.0, 3.0]));
# Ok::<(), openwork::Error>(())
```
"#
    };
    (exp) => {
        r#"
```
use openwork::{Fill, Layout, tensor};
let x = tensor![[0.0, 2.0]; Layout::Csr, 0.0]?.exp()?; // exp(0) = 1 is the fill
assert_eq!((x.nse(), x.fill()), (1, Some(&Fill::from(1.0))));
assert_eq!(x.to_vec::<f64>()?, [1.0, 2f64.exp()]);
# Ok::<(), openwork::Error>(())
```
"#
    };
    (log) => {
        r#"
```
use openwork::tensor;
assert_eq!(tensor![1.0, 0.0].log()?.to_vec::<f64>()?, [0.0, f64::NEG_INFINITY]);
# Ok::<(), openwork::Error>(())
```
"#
    };
    (log1p) => {
        r#"
```
use openwork::{Layout, tensor};
let counts = tensor![[0, 3]; Layout::Csr, 0]?; // int32 becomes float64
assert_eq!(counts.log1p()?.to_vec::<f64>()?, [0.0, 4f64.ln()]);
# Ok::<(), openwork::Error>(())
```
"#
    };
    (sin) => {
        r#"
```
use openwork::{Layout, tensor};
let x = tensor![[0.0, 2.0]; Layout::Csr, 0.0]?.sin()?;
assert_eq!((x.nse(), x.to_vec::<f64>()?), (1, vec![0.0, 2f64.sin()]));
# Ok::<(), openwork::Error>(())
```
"#
    };
    (relu) => {
        r#"
```
use openwork::tensor;
assert_eq!(tensor![-1.0, 0.5].relu()?.to_vec::<f64>()?, [0.0, 0.5]);
# Ok::<(), openwork::Error>(())
```
"#
    };
    (sigmoid) => {
        r#"
```
use openwork::{Fill, Layout, tensor};
let x = tensor![[0.0, 3f64.ln()]; Layout::Csr, 0.0]?.sigmoid()?;
assert_eq!(x.fill(), Some(&Fill::from(0.5)));
assert!(x.allclose(&tensor![[0.5, 0.75]], 1e-12, 0.0)?);
# Ok::<(), openwork::Error>(())
```
"#
    };
    (isnan) => {
        r#"
```
use openwork::tensor;
assert_eq!(tensor![1.0, f64::NAN].isnan()?.to_vec::<bool>()?, [false, true]);
# Ok::<(), openwork::Error>(())
```
"#
    };
    (add) => {
        r#"
```
use openwork::{Layout, tensor};
let x = tensor![[1.0, 0.0, 2.0]; Layout::Csr, 0.0]?;
assert_eq!(x.add(10.0)?.to_vec::<f64>()?, [11.0, 10.0, 12.0]); // or &x + 10.0
assert_eq!(x.add(&tensor![[0.0, 0.0, 5.0]])?.to_vec::<f64>()?, [1.0, 0.0, 7.0]);
# Ok::<(), openwork::Error>(())
```
"#
    };
    (sub) => {
        r#"
```
use openwork::tensor;
assert_eq!(tensor![5u8, 3].sub(&tensor![2u8, 4])?.to_vec::<u8>()?, [3, 255]); // integers wrap
# Ok::<(), openwork::Error>(())
```
"#
    };
    (mul) => {
        r#"
```
use openwork::{Layout, tensor};
let x = tensor![[1.0, 0.0, 2.0]; Layout::Csr, 0.0]?;
let y = x.mul(&tensor![[3.0, 4.0, 5.0]])?; // stored where x is: an unstored 0 makes 0
assert_eq!((y.nse(), y.to_vec::<f64>()?), (2, vec![3.0, 0.0, 10.0]));
# Ok::<(), openwork::Error>(())
```
"#
    };
    (div) => {
        r#"
```
use openwork::tensor;
assert_eq!(tensor![1, 3].div(2)?.to_vec::<f64>()?, [0.5, 1.5]); // integers become floats
# Ok::<(), openwork::Error>(())
```
"#
    };
    (floor_divide) => {
        r#"
```
use openwork::tensor;
assert_eq!(tensor![7, -7, 1].floor_divide(&tensor![2, 2, 0])?.to_vec::<i32>()?, [3, -4, 0]); // integer x // 0 is 0
# Ok::<(), openwork::Error>(())
```
"#
    };
    (remainder) => {
        r#"
```
use openwork::tensor;
assert_eq!(tensor![7, -7, 1].remainder(&tensor![4, 4, 0])?.to_vec::<i32>()?, [3, 1, 0]); // integer x % 0 is 0
# Ok::<(), openwork::Error>(())
```
"#
    };
    (pow) => {
        r#"
```
use openwork::tensor;
assert_eq!(tensor![2.0, 3.0].pow(2.0)?.to_vec::<f64>()?, [4.0, 9.0]);
# Ok::<(), openwork::Error>(())
```
"#
    };
    (maximum) => {
        r#"
```
use openwork::tensor;
assert_eq!(tensor![1, 5].maximum(3)?.to_vec::<i32>()?, [3, 5]);
# Ok::<(), openwork::Error>(())
```
"#
    };
    (eq) => {
        r#"
```
use openwork::{Layout, tensor};
let x = tensor![[1, 0, 2]; Layout::Csr, 0]?;
assert_eq!(x.eq(0)?.to_vec::<bool>()?, [false, true, false]); // the fill is true
# Ok::<(), openwork::Error>(())
```
"#
    };
    (gt) => {
        r#"
```
use openwork::{Layout, tensor};
let x = tensor![[1, 0, 2]; Layout::Csr, 0]?;
assert_eq!(x.gt(1)?.to_vec::<bool>()?, [false, false, true]);
# Ok::<(), openwork::Error>(())
```
"#
    };
    (logical_and) => {
        r#"
```
use openwork::tensor;
let x = tensor![1, 5, 9];
assert_eq!(x.gt(2)?.logical_and(&x.lt(8)?)?.to_vec::<bool>()?, [false, true, false]);
# Ok::<(), openwork::Error>(())
```
"#
    };
    (sum) => {
        r#"
```
use openwork::{Layout, tensor};
let x = tensor![[1.0, 0.0, 5.0], [0.0, 4.0, 2.0]; Layout::Csr, 0.0]?;
assert_eq!(x.sum(0)?.to_vec::<f64>()?, [1.0, 4.0, 7.0]);
assert_eq!(x.sum(openwork::keep(1))?.shape(), [2, 1]);
assert_eq!(x.sum(..)?.item_as::<f64>()?, 12.0);
# Ok::<(), openwork::Error>(())
```
"#
    };
    (prod) => {
        r#"
```
use openwork::tensor;
assert_eq!(tensor![[1, 2, 3], [4, 5, 6]].prod(1)?.to_vec::<i64>()?, [6, 120]);
# Ok::<(), openwork::Error>(())
```
"#
    };
    (mean) => {
        r#"
```
use openwork::{Layout, tensor};
let x = tensor![[1.0, 0.0, 5.0], [0.0, 4.0, 2.0]; Layout::Csr, 0.0]?;
assert_eq!(x.mean(1)?.to_vec::<f64>()?, [2.0, 2.0]);
assert_eq!(x.stored().mean(1)?.to_vec::<f64>()?, [3.0, 3.0]); // of stored elements only
# Ok::<(), openwork::Error>(())
```
"#
    };
    (max) => {
        r#"
```
use openwork::{Layout, tensor};
let x = tensor![[1.0, 0.0, 5.0], [0.0, -4.0, -2.0]; Layout::Csr, 0.0]?;
assert_eq!(x.max(1)?.to_vec::<f64>()?, [5.0, 0.0]); // unstored zeros count
# Ok::<(), openwork::Error>(())
```
"#
    };
    (min) => {
        r#"
```
use openwork::{Layout, tensor};
let x = tensor![[1.0, 0.0, 5.0], [0.0, 4.0, 2.0]; Layout::Csr, 0.0]?;
assert_eq!(x.min(1)?.to_vec::<f64>()?, [0.0, 0.0]);
assert_eq!(x.stored().min(1)?.to_vec::<f64>()?, [1.0, 2.0]);
# Ok::<(), openwork::Error>(())
```
"#
    };
    (any) => {
        r#"
```
use openwork::tensor;
assert_eq!(tensor![[1, 2], [3, 9]].gt(4)?.any(1)?.to_vec::<bool>()?, [false, true]);
# Ok::<(), openwork::Error>(())
```
"#
    };
    (all) => {
        r#"
```
use openwork::tensor;
assert_eq!(tensor![[1, 2], [5, 9]].gt(4)?.all(1)?.to_vec::<bool>()?, [false, true]);
# Ok::<(), openwork::Error>(())
```
"#
    };
    (count_nonzero) => {
        r#"
```
use openwork::{Layout, tensor};
let x = tensor![[1.0, 0.0, 5.0], [0.0, 4.0, 2.0]; Layout::Csr, 0.0]?;
assert_eq!(x.count_nonzero(0)?.to_vec::<i64>()?, [1, 1, 2]);
# Ok::<(), openwork::Error>(())
```
"#
    };
    ($other:ident) => {
        ""
    };
}

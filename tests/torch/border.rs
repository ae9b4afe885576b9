//! Across the border and back: meaning, layout, element type, addresses.
#![allow(unsafe_code)] // lends memory and shares indices; each block says why it may (tests)

use openwork::exchange::torch::{FillAs, ToTorch};
use openwork::{DType, Fill, IndexArray, Layout, LevelData, Tensor, tensor, with_densify_budget};
use tch::Kind;

use crate::memory::beside;
use crate::specimens::{self, DTYPES};

/// What libtorch itself finds wrong with a sparse tensor.
fn complaint(t: &tch::Tensor) -> Result<(), tch::TchError> {
    let size = t.size();
    let size = size.as_slice();
    if t.is_sparse() {
        return Ok(()); // it has no such function for COO
    }
    let dense = t.dense_dim();
    match (t.f_crow_indices(), t.f_ccol_indices()) {
        (Ok(crow), _) => {
            let values = t.values();
            let blocked = values.dim() as i64 - dense > crow.dim() as i64;
            let col = t.col_indices();
            match blocked {
                false => tch::Tensor::f_internal_validate_sparse_csr_tensor_args(&crow, &col, &values, size, false),
                true => tch::Tensor::f_internal_validate_sparse_bsr_tensor_args(&crow, &col, &values, size, false),
            }
        }
        (_, Ok(ccol)) => {
            let values = t.values();
            let blocked = values.dim() as i64 - dense > ccol.dim() as i64;
            let row = t.row_indices();
            match blocked {
                false => tch::Tensor::f_internal_validate_sparse_csc_tensor_args(&ccol, &row, &values, size, false),
                true => tch::Tensor::f_internal_validate_sparse_bsc_tensor_args(&ccol, &row, &values, size, false),
            }
        }
        _ => Ok(()),
    }
}

fn dense(t: &tch::Tensor) -> Tensor {
    Tensor::from_torch(&t.to_dense(None::<Kind>, false), 0.0).unwrap()
}

#[test]
fn every_layout_and_element_type_there_and_back() {
    let _beside = beside();
    let mut compared = 0;
    for dtype in DTYPES {
        for (name, x) in specimens::all(dtype, 7) {
            let what = format!("{name}, {dtype}");
            let t = x.to_torch().unwrap();
            complaint(&t).unwrap_or_else(|e| panic!("{what}: {e}"));
            assert!(!t.is_sparse() || t.is_coalesced() == x.is_coalesced(), "{what}");
            let y = Tensor::from_torch(&t, openwork::Scalar::zero(dtype)).unwrap();
            assert_eq!((y.layout(), y.dtype(), y.nse()), (x.layout(), dtype, x.nse()), "{what}");
            assert_eq!(y.level_spec(), x.level_spec(), "{what}");
            assert_eq!(y.is_coalesced(), x.is_coalesced(), "{what}");
            assert_eq!(y.to_string(), x.to_string(), "{what}");
            assert!(y.same_meaning(&x).unwrap(), "{what}");
            // What libtorch takes it for. It cannot make every layout dense for every element type.
            if let Ok(theirs) = t.f_to_dense(None::<Kind>, false) {
                compared += 1;
                let theirs = Tensor::from_torch(&theirs, 0.0).unwrap();
                assert!(theirs.equal(&x.to_dense().unwrap()).unwrap(), "{what}: {theirs}");
            }
            // SAFETY: nothing of `t` leaves the closure, and nothing writes to it.
            unsafe { x.with_torch(complaint) }.unwrap().unwrap_or_else(|e| panic!("{what}: {e}"));
        }
    }
    assert!(compared > 150, "{compared}");
}

#[test]
fn values_of_libtorch_are_not_copied() {
    let _beside = beside();
    let mut shared = 0;
    for dtype in [DType::F32, DType::F64, DType::I64, DType::Complex64, DType::BF16] {
        for (name, x) in specimens::all(dtype, 3) {
            let t = x.to_torch().unwrap();
            let theirs = if x.is_strided() {
                t.shallow_clone()
            } else if t.is_sparse() {
                t.internal_values()
            } else {
                t.values()
            };
            let y = Tensor::from_torch(&t, openwork::Scalar::zero(dtype)).unwrap();
            assert_eq!(address(&y), theirs.data_ptr().addr(), "{name}");
            // And back: libtorch gets a view of its own memory.
            let back = y.to_torch().unwrap();
            let back = if x.is_strided() {
                back
            } else if back.is_sparse() {
                back.internal_values()
            } else {
                back.values()
            };
            assert_eq!(back.data_ptr(), theirs.data_ptr(), "{name}");
            shared += 1;
        }
    }
    assert_eq!(shared, 75);
}

/// Where the stored values are.
fn address(x: &Tensor) -> usize {
    let managed = x.stored_values().to_dlpack().unwrap();
    // SAFETY: the structure lives as long as `managed`.
    unsafe { (*managed.as_ptr()).dl_tensor.data.addr() }
}

fn address_of(indices: &IndexArray) -> usize {
    match (indices.as_u32(), indices.as_u64()) {
        (Some(narrow), _) => narrow.as_ptr().addr(),
        (_, Some(wide)) => wide.as_ptr().addr(),
        _ => 0,
    }
}

fn arrays(x: &Tensor) -> Vec<IndexArray> {
    let mut out = Vec::new();
    for level in x.levels().unwrap() {
        if let LevelData::Sparse { pointers, indices, .. } = level {
            out.extend(pointers.into_iter().chain(indices));
        }
    }
    out
}

#[test]
fn ours_are_lent_where_they_lie() {
    let _beside = beside();
    for layout in [Layout::Csr, Layout::Csc, Layout::Bsr { block: [2, 2] }, Layout::Bsc { block: [2, 4] }] {
        let x = specimens::matrix([6, 8], 1).to_layout(layout).unwrap();
        let by_rows = matches!(layout, Layout::Csr | Layout::Bsr { .. });
        // SAFETY: addresses leave the closure, nothing else.
        let theirs = unsafe {
            x.with_torch(|t| {
                let (pointers, plain) =
                    if by_rows { (t.crow_indices(), t.col_indices()) } else { (t.ccol_indices(), t.row_indices()) };
                assert_eq!(pointers.kind(), Kind::Int);
                [pointers.data_ptr().addr(), plain.data_ptr().addr(), t.values().data_ptr().addr()]
            })
        };
        let ours = arrays(&x);
        assert_eq!(theirs.unwrap(), [address_of(&ours[0]), address_of(&ours[1]), address(&x)], "{layout}");
        // The safe call copies.
        assert_ne!(x.to_torch().unwrap().values().data_ptr().addr(), address(&x));
    }
    // Strided views with strides 0 and gaps; coordinates of one axis.
    let x = Tensor::arange(0.0, 24.0, 1.0).unwrap().reshape([4, 6]).unwrap();
    let wide = tensor![1.0, 2.0, 3.0].broadcast_to([5, 3]).unwrap();
    for x in [x.clone(), x.t().unwrap(), x.narrow(1..3, 1).unwrap(), wide] {
        // SAFETY: as above; the sum is a tensor of its own.
        let (at, sum) =
            unsafe { x.with_torch(|t| (t.data_ptr().addr(), t.sum(None::<Kind>).double_value(&[]))) }.unwrap();
        assert_eq!((at, sum), (address(&x), x.sum(..).unwrap().item_as::<f64>().unwrap()));
    }
    // Coordinates are 64 bits wide there: those that need as much here lie as they have to.
    let vector = Tensor::coo([1 << 40], vec![vec![1u64 << 35, 1]], &tensor![1.0, 2.0], 0.0).unwrap();
    // SAFETY: as above.
    let at = unsafe { vector.with_torch(|t| t.internal_indices().data_ptr().addr()) }.unwrap();
    assert_eq!(at, address_of(&arrays(&vector)[0]));
    // libtorch has no negative strides.
    let flipped = x.flip(0).unwrap();
    // SAFETY: as above.
    let first = unsafe { flipped.with_torch(|t| t.double_value(&[0, 0])) }.unwrap();
    assert_eq!(first, 18.0);
}

#[test]
fn indices_of_libtorch_are_shared_only_where_it_is_promised() {
    let _beside = beside();
    let x = specimens::matrix([6, 8], 2);
    let csr = x.to_layout(Layout::Csr).unwrap().to_torch().unwrap();
    let safe = Tensor::from_torch(&csr, 0.0).unwrap();
    // SAFETY: nobody writes the tensor below.
    let shared = unsafe { Tensor::from_torch_shared(&csr, 0.0) }.unwrap();
    let theirs = [csr.crow_indices().data_ptr().addr(), csr.col_indices().data_ptr().addr()];
    let of = |x: &Tensor| arrays(x).iter().map(address_of).collect::<Vec<_>>();
    assert_eq!(of(&shared), theirs);
    assert!(of(&safe).iter().all(|at| !theirs.contains(at)));
    assert!(shared.same_meaning(&safe).unwrap());
    let coo = x.to_torch().unwrap();
    // SAFETY: as above.
    let shared = unsafe { Tensor::from_torch_shared(&coo, 0.0) }.unwrap();
    let rows: Vec<usize> = (0..2).map(|axis| coo.internal_indices().select(0, axis).data_ptr().addr()).collect();
    assert_eq!(of(&shared), rows);
    // And back without a copy, but for the matrix of coordinates.
    assert_eq!(shared.to_torch().unwrap().internal_values().data_ptr(), coo.internal_values().data_ptr());
}

#[test]
fn what_libtorch_writes_is_seen_in_values_and_not_in_indices() {
    let _beside = beside();
    let t = tch::Tensor::from_slice2(&[[0.0, 2.0], [3.0, 0.0]]).to_sparse(None, None::<i64>, None);
    let x = Tensor::from_torch(&t, 0.0).unwrap();
    let _ = t.internal_values().fill_(9.0);
    let _ = t.internal_indices().fill_(1_000_000);
    assert_eq!(x.to_vec::<f64>().unwrap(), [0.0, 9.0, 9.0, 0.0]);
}

#[test]
fn fills() {
    let _beside = beside();
    let x = tensor![[1.0, 0.0], [0.0, 4.0]; Layout::Csr, 0.0].unwrap();
    let all = |t: tch::Tensor| dense(&t).to_vec::<f64>().unwrap();
    let with = |fill| ToTorch { fill, ..ToTorch::default() };
    assert_eq!(all(x.to_torch().unwrap()), [1.0, 0.0, 0.0, 4.0]);
    let per_column = (&x - tensor![1.0, 2.0]).unwrap();
    assert!(matches!(per_column.fill(), Some(Fill::Array(_))));
    for (y, wanted) in [((&x + 1.0).unwrap(), vec![2.0, 1.0, 1.0, 5.0]), (per_column, vec![0.0, -2.0, -1.0, 2.0])] {
        let error = y.to_torch().unwrap_err().to_string();
        assert!(error.starts_with("to_torch: argument `fill`") && error.contains("FillAs::Zero"), "{error}");
        let zeroed = y.to_torch_with(&with(FillAs::Zero)).unwrap();
        assert_eq!(all(zeroed.shallow_clone()), [wanted[0], 0.0, 0.0, wanted[3]]);
        assert!(zeroed.f_crow_indices().is_ok());
        assert_eq!(all(y.to_torch_with(&with(FillAs::Dense)).unwrap()), wanted);
        let error = with_densify_budget(31, || y.to_torch_with(&with(FillAs::Dense))).unwrap_err().to_string();
        assert!(error.contains("32 bytes") && error.contains("31"), "{error}");
    }
    let stored = x.stored();
    assert!(stored.to_torch().is_err());
    let absent = stored.to_torch_with(&with(FillAs::Dense)).unwrap_err().to_string();
    assert!(absent.contains("absent"), "{absent}");
    let (values, mask) = stored.to_torch_masked().unwrap();
    assert_eq!(all(values.shallow_clone()), [1.0, 0.0, 0.0, 4.0]);
    assert_eq!(dense(&mask.to_kind(Kind::Uint8)).to_vec::<u8>().unwrap(), [1, 0, 0, 1]);
    assert_eq!(mask.kind(), Kind::Bool);
    // The wanted fill, taking over.
    for fill in [Fill::from(0.0), Fill::from(7.5), Fill::Undefined, Fill::from(&tensor![[1.0, 2.0]])] {
        assert_eq!(Tensor::from_torch(&values, fill.clone()).unwrap().fill(), Some(&fill));
    }
    assert!(Tensor::from_torch(&mask, 2.0).is_err());
}

#[test]
fn layouts_that_libtorch_lacks_go_by_an_explicit_call() {
    let _beside = beside();
    let nearest = ToTorch { nearest: true, ..ToTorch::default() };
    let x = specimens::matrix([6, 8], 4);
    let cube = Tensor::stack(&[&x, &x], 2).unwrap();
    let unequal = Tensor::stack(&[&x, &specimens::matrix([6, 8], 5)], 0).unwrap().to_layout(Layout::Csr).unwrap();
    let hybrid = cube.to_layout(Layout::HybridCoo { dense_dims: 1 }).unwrap().permute_dims([2, 0, 1]).unwrap();
    let cases = [
        (x.to_layout(Layout::Dcsr).unwrap(), Layout::Csr),
        (x.to_layout(Layout::Dcsc).unwrap(), Layout::Csc),
        (cube.to_layout(Layout::Csf).unwrap(), Layout::Coo),
        (hybrid, Layout::Coo),
        (unequal, Layout::Coo),
    ];
    for (x, layout) in cases {
        let error = x.to_torch().unwrap_err().to_string();
        assert!(error.contains("libtorch has no layout for") && error.contains("nearest"), "{error}");
        let y = Tensor::from_torch(&x.to_torch_with(&nearest).unwrap(), 0.0).unwrap();
        assert_eq!(y.layout(), layout);
        assert!(y.same_meaning(&x).unwrap());
    }
}

#[test]
fn views_windows_and_disorder() {
    let _beside = beside();
    let x = specimens::matrix([6, 8], 6);
    let csr = x.to_layout(Layout::Csr).unwrap();
    let window = csr.narrow(2..5, 0).unwrap(); // pointers that do not start at 0
    let bsr = x.to_layout(Layout::Bsr { block: [2, 4] }).unwrap().t().unwrap(); // transposed blocks
    let coo = x.t().unwrap(); // columns first
    let iso = csr.stored().map(|_: f64| 1.0).unwrap().replace_fill(0.0).unwrap();
    let back = csr_backwards();
    for x in [window, bsr, coo, iso, back] {
        let t = x.to_torch().unwrap();
        complaint(&t).unwrap_or_else(|e| panic!("{x}: {e}"));
        assert!(dense(&t).equal(&x.to_dense().unwrap()).unwrap(), "{x}");
        // SAFETY: nothing leaves, nothing writes.
        unsafe { x.with_torch(complaint) }.unwrap().unwrap();
    }
    let narrow = ToTorch { narrow_indices: true, ..ToTorch::default() };
    assert_eq!(csr.to_torch_with(&narrow).unwrap().col_indices().kind(), Kind::Int);
    assert_eq!(csr.to_torch().unwrap().col_indices().kind(), Kind::Int64);
}

/// Rows whose columns fall and repeat.
fn csr_backwards() -> Tensor {
    Tensor::csr_unordered([2, 3], vec![0, 3, 4], vec![2, 0, 2, 1], &tensor![1.0, 2.0, 3.0, 4.0], 0.0).unwrap()
}

#[test]
fn nothing_at_all() {
    let _beside = beside();
    for shape in [vec![0usize, 3], vec![3, 0], vec![0, 0]] {
        for layout in [Layout::Strided, Layout::Coo, Layout::Csr, Layout::Csc] {
            let x = Tensor::zeros(&shape, DType::F32, layout).unwrap();
            let y = Tensor::from_torch(&x.to_torch().unwrap(), 0.0).unwrap();
            assert_eq!((y.layout(), y.shape(), y.nse()), (layout, &shape[..], 0));
        }
    }
    for x in [Tensor::scalar(2.5), Tensor::scalar(2.5).to_layout(Layout::Coo).unwrap()] {
        let t = x.to_torch().unwrap();
        assert_eq!(Tensor::from_torch(&t, 0.0).unwrap().item().unwrap(), 2.5.into());
        // SAFETY: nothing leaves, nothing writes.
        assert_eq!(unsafe { x.with_torch(tch::Tensor::dim) }.unwrap(), 0);
    }
}

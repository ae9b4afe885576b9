//! Inputs that are wrong, and inputs on which libraries go wrong: each a clear error or the right answer,
//! never a panic.
use crate::common::tensors::{elements, says, tells, vector as values};
use openwork::{
    DType, Error, ErrorKind, Fill, Layout, LevelData, LevelKind, LevelSpec, Part, Result, Scalar, Tensor, keep,
    parallel, with_densify_budget,
};

/// A 2 x 3 matrix with three stored elements in CSR, from arrays that are right unless changed.
fn csr(pointers: &[i64], indices: &[i64], data: &[f64], fill: impl Into<Fill>) -> Result<Tensor> {
    Tensor::csr([2, 3], pointers.to_vec(), indices.to_vec(), &values(data), fill)
}

/// The error of an argument, whose message has to name it and say why.
#[track_caller]
fn invalid(result: Result<Tensor>, argument: &str, why: &str) {
    let error = result.expect_err("wrong input was accepted");
    let message = error.to_string();
    match error.kind() {
        ErrorKind::Invalid { argument: named, .. } => assert_eq!(named, argument, "{message}"),
        other => panic!("{other:?}"),
    }
    assert!(message.contains(argument) && message.contains(why), "{message}");
}

#[track_caller]
fn error(result: Result<Tensor>) -> Error {
    result.expect_err("wrong input was accepted")
}

mod indices {
    use super::*;

    fn coo(rows: &[i64], columns: &[i64]) -> Result<Tensor> {
        Tensor::coo([2, 3], vec![rows.to_vec(), columns.to_vec()], &values(&[1.0, 2.0]), 0.0)
    }

    #[test]
    fn out_of_range() {
        invalid(coo(&[0, 1], &[0, 3]), "indices[1]", "entry 1 is 3, out of range for an axis of size 3");
        invalid(coo(&[2, 1], &[0, 1]), "indices[0]", "entry 0 is 2");
        invalid(csr(&[0, 1, 3], &[0, 1, 7], &[1.0; 3], 0.0), "indices", "entry 2 is 7");
        let huge = Tensor::coo([2, 3], vec![vec![0u64], vec![u64::MAX]], &values(&[1.0]), 0.0);
        invalid(huge, "indices[1]", "out of range");
        let narrow = Tensor::coo([2, 3], vec![vec![0u32], vec![u32::MAX]], &values(&[1.0]), 0.0);
        invalid(narrow, "indices[1]", "out of range");
    }

    #[test]
    fn negative() {
        invalid(coo(&[0, -1], &[0, 1]), "indices[0]", "entry 1 is -1");
        invalid(csr(&[0, 1, 3], &[0, -2, 1], &[1.0; 3], 0.0), "indices", "-2");
        invalid(csr(&[-1, 1, 3], &[0, 0, 1], &[1.0; 3], 0.0), "pointers", "-1");
        let small = Tensor::coo([2, 3], vec![vec![0i32], vec![-5]], &values(&[1.0]), 0.0);
        invalid(small, "indices[1]", "-5");
    }

    #[test]
    fn of_unequal_length() {
        // Coordinates have no pointers that a caller could know of.
        invalid(coo(&[0, 1], &[0]), "indices[1]", "1 entries, 2 are needed (as many as `indices[0]` has");
        invalid(coo(&[0], &[0]), "values", "[2]");
        invalid(csr(&[0, 1, 3], &[0, 1], &[1.0; 3], 0.0), "indices", "2 entries, 3 are needed");
    }

    #[test]
    fn too_many_arrays() {
        let arrays = vec![vec![0i64]; 3];
        invalid(Tensor::coo([2, 3], arrays, &values(&[1.0]), 0.0), "indices", "3 index arrays for 2 axes");
    }

    #[test]
    fn unsorted_where_order_is_claimed() {
        let falls = csr(&[0, 2, 3], &[2, 0, 1], &[1.0; 3], 0.0);
        invalid(falls, "indices", "entry 0 is 2, and entry 1 is 0, both in segment 0: coordinates have to rise");
        says(
            csr(&[0, 2, 3], &[1, 1, 1], &[1.0; 3], 0.0),
            &["csr", "`indices`", "entry 0 is 1, and entry 1 is 1", "repeat", "csr_unordered"],
        );
        let x =
            Tensor::csr_unordered([2, 3], vec![0i64, 2, 4], vec![2i64, 0, 1, 1], &values(&[1.0, 2.0, 3.0, 4.0]), 0.0);
        assert_eq!(elements(&x.unwrap()), [2.0, 0.0, 1.0, 0.0, 7.0, 0.0]);
        let x =
            Tensor::csc_unordered([2, 2], vec![0i64, 2, 3], vec![1i64, 0, 1], &values(&[1.0, 2.0, 3.0]), 0.0).unwrap();
        assert_eq!((x.layout(), x.is_coalesced()), (Layout::Csc, false));
        assert_eq!(elements(&x), [2.0, 0.0, 1.0, 3.0]);
        invalid(
            Tensor::csr_unordered([2, 3], vec![0i64, 1, 1], vec![3i64], &values(&[1.0]), 0.0),
            "indices",
            "entry 0 is 3",
        );
    }

    #[test]
    fn unsorted_and_repeated_where_it_is_not() {
        let x = coo(&[1, 0], &[0, 2]).unwrap();
        assert!(!x.is_coalesced());
        assert_eq!(elements(&x), [0.0, 0.0, 2.0, 1.0, 0.0, 0.0]);
        let x = coo(&[1, 1], &[0, 0]).unwrap();
        assert_eq!((x.nse(), x.get([1, 0]).unwrap()), (2, Some(3.0.into())));
    }

    #[test]
    fn given_as_a_matrix() {
        let floats = Tensor::from_vec([2, 2], vec![0.0f32; 4]).unwrap();
        invalid(Tensor::from_index_matrix([2, 3], &floats, &values(&[1.0; 2]), 0.0), "indices", "integer matrix");
        let matrix = Tensor::from_vec([2, 2], vec![0i32, 2, 1, 0]).unwrap();
        let x = Tensor::from_index_matrix([2, 3], &matrix, &values(&[1.0, 2.0]), 0.0).unwrap();
        assert_eq!(elements(&x), [0.0, 0.0, 1.0, 2.0, 0.0, 0.0]);
        let negative = Tensor::from_vec([1, 2], vec![0i8, -1]).unwrap();
        invalid(Tensor::from_index_matrix([2, 3], &negative, &values(&[1.0]), 0.0), "indices[.., 1]", "-1");
        let made = Tensor::from_triplets([2, 3], vec![0i64, 1], vec![0i64, 3], vec![1.0, 2.0], 0.0);
        invalid(made, "cols", "entry 1 is 3");
        let made = Tensor::from_triplets([2, 3], vec![0i64, -1], vec![0i64, 2], vec![1.0, 2.0], 0.0);
        invalid(made, "rows", "entry 1 is -1");
    }

    #[test]
    fn asked_for() {
        let x = coo(&[0, 1], &[0, 1]).unwrap();
        for index in [&[2, 0][..], &[0, 3], &[0], &[0, 0, 0]] {
            let message = x.get(index).unwrap_err().to_string();
            assert!(message.starts_with("get"), "{message}");
        }
    }
}

mod pointers {
    use super::*;

    #[test]
    fn that_fall() {
        invalid(csr(&[0, 3, 2], &[0, 1, 2], &[1.0; 3], 0.0), "pointers", "must not fall");
        invalid(csr(&[3, 1, 3], &[0, 1], &[1.0; 2], 0.0), "pointers", "must not fall");
    }

    #[test]
    fn of_the_wrong_length() {
        invalid(csr(&[0, 3], &[0, 1, 2], &[1.0; 3], 0.0), "pointers", "2 entries, 3 are needed");
        invalid(csr(&[], &[], &[], 0.0), "pointers", "0 entries");
        let no_rows = Tensor::csr([0, 3], Vec::<i64>::new(), Vec::<i64>::new(), &values(&[]), 0.0);
        invalid(no_rows, "pointers", "0 entries, 1 are needed");
    }

    #[test]
    fn that_end_elsewhere() {
        invalid(csr(&[0, 1, 2], &[0, 1, 2], &[1.0; 3], 0.0), "indices", "3 entries, 2 are needed");
        invalid(csr(&[0, 1, 9], &[0, 1, 2], &[1.0; 3], 0.0), "indices", "9 are needed");
    }

    #[test]
    fn that_are_missing() {
        let level = LevelData::Sparse { pointers: None, indices: vec![vec![0i64].into()], ordered: true, unique: true };
        let spec = LevelSpec {
            levels: vec![LevelKind::Dense, LevelKind::Sparse { rank: 1 }],
            dims: vec![(0, Part::Whole), (1, Part::Whole)],
        };
        let made = Tensor::from_parts(&[2, 3], vec![LevelData::Dense, level], &spec, &values(&[1.0]), 0.0);
        invalid(made, "pointers_to_1", "missing");
    }

    #[test]
    fn that_start_above_zero() {
        let x = csr(&[7, 8, 10], &[0, 1, 2], &[1.0, 2.0, 3.0], 0.0).unwrap();
        assert_eq!(elements(&x), [1.0, 0.0, 0.0, 0.0, 2.0, 3.0]);
    }
}

mod specifications {
    use super::*;

    fn from(levels: Vec<LevelKind>, dims: Vec<(usize, Part)>) -> Result<Tensor> {
        Tensor::eye(4, DType::F64, Layout::Coo).unwrap().to_levels(&LevelSpec { levels, dims })
    }

    #[test]
    fn that_make_no_sense() {
        let (dense, one) = (LevelKind::Dense, LevelKind::Sparse { rank: 1 });
        let whole = || vec![(0, Part::Whole), (1, Part::Whole)];
        invalid(from(vec![], whole()), "spec", "no levels");
        invalid(from(vec![one, dense], whole()), "spec", "level 1 is dense and the last");
        invalid(from(vec![one; 3], whole()), "spec", "3 dimensions, 2 are given");
        invalid(from(vec![one; 2], vec![(0, Part::Whole), (0, Part::Whole)]), "spec", "axis 0");
        invalid(from(vec![one; 2], vec![(0, Part::Whole), (2, Part::Whole)]), "spec", "axis 2");
        invalid(
            from(vec![one; 3], vec![(0, Part::Div(3)), (0, Part::Mod(3)), (1, Part::Whole)]),
            "spec",
            "blocks of 3",
        );
        invalid(from(vec![one; 3], vec![(0, Part::Div(2)), (0, Part::Mod(4)), (1, Part::Whole)]), "spec", "axis 0");
        invalid(
            from(vec![one; 3], vec![(0, Part::Div(0)), (0, Part::Mod(0)), (1, Part::Whole)]),
            "spec",
            "blocks of 0",
        );
        invalid(from(vec![LevelKind::Sparse { rank: 0 }, one, one], whole()), "spec", "rank 0");
        invalid(from(vec![one, LevelKind::Singleton], whole()), "spec", "singleton");
    }

    #[test]
    fn layouts_that_do_not_suit_the_shape() {
        let x = Tensor::zeros([5], DType::F64, Layout::Coo).unwrap();
        for layout in [Layout::Csr, Layout::Csc, Layout::Dcsr, Layout::Bsr { block: [1, 1] }] {
            let e = error(x.to_layout(layout));
            assert!(matches!(e.kind(), ErrorKind::Layout { .. }), "{e}");
            tells(&e, &["axes", "to_layout"]);
        }
        let x = Tensor::zeros([4, 6], DType::F64, Layout::Coo).unwrap();
        says(x.to_layout(Layout::Bsr { block: [3, 2] }), &["blocks of 3", "axis 0 of size 4"]);
        says(x.to_layout(Layout::Bsc { block: [0, 2] }), &["blocks of 0"]);
        says(x.to_layout(Layout::HybridCoo { dense_dims: 3 }), &["3 dense axes"]);
    }

    #[test]
    fn a_singleton_level_needs_one_element_per_row() {
        let spec = LevelSpec {
            levels: vec![LevelKind::Dense, LevelKind::Singleton],
            dims: vec![(0, Part::Whole), (1, Part::Whole)],
        };
        assert!(Tensor::eye(3, DType::F64, Layout::Csr).unwrap().to_levels(&spec).is_ok());
        let e = error(Tensor::zeros([3, 3], DType::F64, Layout::Csr).unwrap().to_levels(&spec));
        tells(&e, &["singleton", "exactly one"]);
    }
}

mod given_values {
    use super::*;

    #[test]
    fn of_the_wrong_length() {
        invalid(csr(&[0, 1, 3], &[0, 1, 2], &[1.0; 4], 0.0), "values", "[4]");
        invalid(Tensor::from_vec([2, 3], vec![1.0; 5]), "data", "5 elements");
        let rows = [0i64, 1];
        let made = Tensor::from_triplets([2, 3], rows.to_vec(), rows.to_vec(), vec![1.0], 0.0);
        invalid(made, "values", "[1]");
    }

    #[test]
    fn of_the_wrong_shape() {
        let matrix = Tensor::from_vec([3, 1], vec![1.0; 3]).unwrap();
        let made = Tensor::csr([2, 3], vec![0i64, 1, 3], vec![0i64, 1, 2], &matrix, 0.0);
        invalid(made, "values", "[3, 1]");
        let scalar = Tensor::scalar(1.0);
        assert!(Tensor::csr([2, 3], vec![0i64, 1, 3], vec![0i64, 1, 2], &scalar, 0.0).is_err());
    }

    #[test]
    fn of_another_dtype_than_asked_for() {
        let x = csr(&[0, 1, 3], &[0, 1, 2], &[1.0; 3], 0.0).unwrap();
        let e = x.values::<f32>().unwrap_err();
        tells(&e, &["float64", "float32", "cast"]);
    }

    #[test]
    fn that_are_not_strided() {
        let sparse = Tensor::zeros([3], DType::F64, Layout::Coo).unwrap();
        invalid(Tensor::csr([2, 3], vec![0i64, 1, 3], vec![0i64, 1, 2], &sparse, 0.0), "values", "strided");
    }

    #[test]
    fn ragged_rows() {
        invalid(Tensor::from_rows(&[vec![1, 2], vec![3]]), "rows", "row 1 has 1 elements, row 0 has 2");
        assert_eq!(Tensor::from_rows::<i32>(&[]).unwrap().shape(), [0, 0]);
    }
}

mod fills {
    use super::*;

    #[track_caller]
    fn does_not_fit(result: Result<Tensor>, words: &[&str]) {
        let e = error(result);
        assert!(matches!(e.kind(), ErrorKind::DoesNotFit { .. }), "{e}");
        tells(&e, words);
    }

    #[test]
    fn that_do_not_fit_the_dtype() {
        let empty = |dtype, fill: Scalar| Tensor::empty([2], dtype, Layout::Coo, fill);
        does_not_fit(empty(DType::U8, 300.into()), &["300", "uint8"]);
        does_not_fit(empty(DType::U8, (-1).into()), &["-1", "uint8"]);
        does_not_fit(empty(DType::I32, 0.5.into()), &["0.5", "int32"]);
        does_not_fit(empty(DType::I64, f64::NAN.into()), &["NaN", "int64"]);
        does_not_fit(empty(DType::I64, f64::INFINITY.into()), &["inf", "int64"]);
        does_not_fit(empty(DType::F32, 1e300.into()), &["float32"]);
        does_not_fit(empty(DType::F16, 1e6.into()), &["float16"]);
        does_not_fit(empty(DType::Bool, 2.into()), &["bool"]);
        does_not_fit(empty(DType::F64, openwork::c128::new(0.0, 1.0).into()), &["float64"]);
        does_not_fit(empty(DType::I64, (u64::MAX).into()), &["int64"]);
    }

    #[test]
    fn that_do() {
        for (dtype, fill) in [
            (DType::U8, Scalar::from(255)),
            (DType::I32, 3.0.into()),
            (DType::F32, f64::NAN.into()),
            (DType::F32, f64::INFINITY.into()),
            (DType::F32, 0.1.into()),
            (DType::Bool, 1.into()),
            (DType::Complex64, 2.into()),
        ] {
            let x = Tensor::empty([2], dtype, Layout::Coo, fill).unwrap();
            assert_eq!(x.get([1]).unwrap().unwrap().dtype(), dtype);
        }
    }

    #[test]
    fn in_every_constructor_and_setter() {
        let x = Tensor::zeros([2, 2], DType::U8, Layout::Csr).unwrap();
        does_not_fit(x.with_fill(300), &["with_fill", "300"]);
        does_not_fit(x.replace_fill(-1), &["replace_fill", "-1"]);
        does_not_fit(x.to_dense().unwrap().to_sparse(Layout::Coo, 0.5), &["to_sparse", "0.5"]);
        let bytes = Tensor::from_vec([1], vec![1u8]).unwrap();
        let made = Tensor::coo([2], vec![vec![0i64]], &bytes, 256);
        does_not_fit(made, &["coo", "256"]);
    }

    #[test]
    fn arrays_of_the_wrong_shape_dtype_or_layout() {
        let x = Tensor::zeros([2, 3], DType::F64, Layout::Coo).unwrap();
        let wrong = error(x.replace_fill(Fill::array(values(&[1.0, 2.0]))));
        assert!(matches!(wrong.kind(), ErrorKind::Shape { .. }), "{wrong}");
        tells(&wrong, &["[2, 3]", "[2]", "fill"]);
        let ints = Tensor::from_vec([3], vec![1, 2, 3]).unwrap();
        let wrong = error(x.replace_fill(Fill::array(ints)));
        assert!(matches!(wrong.kind(), ErrorKind::DType { .. }), "{wrong}");
        let deep = Tensor::from_vec([1, 1, 3], vec![1.0; 3]).unwrap();
        assert!(x.replace_fill(Fill::array(deep)).is_err());
        let sparse = Tensor::zeros([3], DType::F64, Layout::Coo).unwrap();
        invalid(x.replace_fill(Fill::array(sparse)), "fill", "strided");
    }

    #[test]
    fn undefined_have_no_value() {
        let x = Tensor::coo([3], vec![vec![1i64]], &values(&[5.0]), Fill::Undefined).unwrap();
        for e in
            [error(x.to_dense()), error(x.with_fill(0.0)), error(x.fill_value()), error(x.to_layout(Layout::Strided))]
        {
            assert!(matches!(e.kind(), ErrorKind::Absent { .. }), "{e}");
        }
        assert_eq!(x.get([0]).unwrap(), None);
        assert_eq!(x.get([1]).unwrap(), Some(5.0.into()));
        assert_eq!(elements(&x.to_dense_with(-1.0).unwrap()), [-1.0, 5.0, -1.0]);
        let one = Tensor::empty([1], DType::F64, Layout::Coo, Fill::Undefined).unwrap();
        assert!(matches!(one.item().unwrap_err().kind(), ErrorKind::Absent { .. }));
        does_not_fit(Tensor::zeros([1], DType::U8, Layout::Coo).unwrap().stored().to_dense_with(999), &["999"]);
    }

    #[test]
    fn strided_tensors_have_none() {
        let x = values(&[1.0]);
        assert!(x.fill().is_none());
        assert!(x.fill_value().is_err() && x.replace_fill(1.0).is_err());
    }
}

mod dtypes {
    use super::*;

    #[test]
    fn without_the_op() {
        let flags = Tensor::from_vec([2], vec![true, false]).unwrap();
        let e = error(flags.neg());
        assert!(matches!(e.kind(), ErrorKind::DType { .. }), "{e}");
        tells(&e, &["neg", "bool", "cast"]);
        let z = Tensor::zeros([2], DType::Complex64, Layout::Coo).unwrap();
        says(z.lt(&z), &["lt", "complex64"]);
        says(z.max(..), &["max", "complex64"]);
    }

    #[test]
    fn without_a_common_one() {
        let a = Tensor::zeros([2], DType::U64, Layout::Coo).unwrap();
        let b = Tensor::zeros([2], DType::I8, Layout::Coo).unwrap();
        says(a.add(&b), &["add", "uint64", "int8", "cast"]);
        assert!(a.cast(DType::I64).unwrap().add(&b).is_ok());
    }

    #[test]
    fn numbers_that_do_not_fit() {
        let x = Tensor::zeros([2], DType::U8, Layout::Coo).unwrap();
        let e = error(x.add(300));
        assert!(matches!(e.kind(), ErrorKind::DoesNotFit { .. }), "{e}");
        tells(&e, &["add", "300", "uint8"]);
        assert_eq!(x.add(0.5).unwrap().dtype(), DType::F32);
    }
}

mod settings {
    use super::*;

    #[test]
    fn the_budget_is_named_in_the_error() {
        let x = Tensor::random([30, 40], 0.1, 0.0, Layout::Coo, 1).unwrap();
        let centred = || {
            let columns = x.mean(keep(0))?;
            let rows = x.mean(keep(1))?;
            x.sub(&columns)?.sub(&rows)
        };
        let e = with_densify_budget(0, || error(centred()));
        match e.kind() {
            ErrorKind::Densify { op, bytes, budget, .. } => assert_eq!((*op, *bytes, *budget), ("sub", 30 * 40 * 8, 0)),
            other => panic!("{other:?}"),
        }
        tells(&e, &["9600 bytes", "to_dense", "budget", "[1, 40]", "[30, 1]"]);
        assert!(with_densify_budget(9600, centred).is_ok());
        // One of them keeps the pattern.
        let columns = with_densify_budget(0, || x.sub(x.mean(keep(0)).unwrap())).unwrap();
        assert_eq!((columns.layout(), columns.nse()), (Layout::Coo, x.nse()));
    }

    #[test]
    fn no_threads() {
        assert!(parallel::with_threads(0, || 1).is_ok()); // as many as there are cores
        assert_eq!(parallel::with_threads(1, || 1).unwrap(), 1);
    }
}

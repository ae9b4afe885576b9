//! What people write first and wrongly: the message names the op, the argument that they wrote, what it is and what is
//! allowed, and never an argument or a dtype that they did not write.

use openwork::{BinaryOp, DType, Error, Fill, Layout, ReduceOp, Scalar, Tensor, s, tensor, with_densify_budget};

/// What is done wrongly, the words that the message must have, and those that it must not have.
type Row = (&'static str, fn() -> Result<Tensor, Error>, &'static [&'static str], &'static [&'static str]);

fn zeros(shape: &[usize]) -> Tensor {
    Tensor::zeros(shape, DType::F64, Layout::Strided).unwrap()
}

fn ones(n: usize) -> Tensor {
    Tensor::ones([n], DType::F64, Layout::Strided).unwrap()
}

fn csr() -> Tensor {
    Tensor::csr([3, 4], vec![0u64, 2, 3, 3], vec![0u64, 2, 1], &ones(3), 0.0).unwrap()
}

/// A million columns, three stored.
fn wide() -> Tensor {
    let n = 1_000_000;
    Tensor::coo([n, n], vec![vec![0u64, 1, 2], vec![0, 2, 1]], &ones(3), 0.0).unwrap().to_layout(Layout::Csr).unwrap()
}

/// How arrays become tensors.
const MADE: &[Row] = &[
    (
        "SciPy's unsorted columns",
        || Tensor::csr([2, 3], vec![0u64, 2, 3], vec![2u64, 0, 1], &ones(3), 0.0),
        &["csr", "`indices`", "entry 0 is 2", "entry 1 is 0", "rise", "csr_unordered"],
        &["levels", "claimed"],
    ),
    (
        "a column twice",
        || Tensor::csr([2, 3], vec![0u64, 2, 3], vec![2u64, 2, 1], &ones(3), 0.0),
        &["csr", "`indices`", "entry 1", "csr_unordered"],
        &["levels", "claimed"],
    ),
    (
        "a column too many",
        || Tensor::csr([2, 3], vec![0u64, 2, 3], vec![0u64, 3, 1], &ones(3), 0.0),
        &["csr", "`indices`", "entry 1 is 3", "size 3"],
        &["levels"],
    ),
    (
        "pointers without the last",
        || Tensor::csr([2, 3], vec![0u64, 2], vec![0u64, 2], &ones(2), 0.0),
        &["csr", "`pointers`", "2", "3"],
        &["levels"],
    ),
    (
        "rows and columns of unequal length",
        || Tensor::coo([3, 3], vec![vec![0u64, 1], vec![2]], &ones(2), 0.0),
        &["coo", "`indices[1]`", "1", "2"],
        &["pointers"],
    ),
    (
        "fewer values than coordinates",
        || Tensor::coo([3, 3], vec![vec![0u64, 1], vec![2, 1]], &ones(1), 0.0),
        &["coo", "`values`", "[1]", "[2]"],
        &["pointers"],
    ),
    (
        "a negative coordinate",
        || Tensor::coo([3, 3], vec![vec![0i64, -1], vec![2, 1]], &ones(2), 0.0),
        &["coo", "`indices[0]`", "-1"],
        &["pointers"],
    ),
    (
        "columns before rows",
        || Tensor::from_triplets([2, 5], vec![0u64, 4], vec![1u64, 1], vec![1.0, 2.0], 0.0),
        &["from_triplets", "4", "size 2"],
        &["levels", "coo:"],
    ),
    ("too few elements", || Tensor::from_vec([2, 3], vec![1.0; 5]), &["from_vec", "[2, 3]", "5"], &[]),
    (
        "a fill of another kind",
        || Tensor::coo([3], vec![vec![0u64]], &ones(1), Scalar::Complex128(openwork::c128::new(0.0, 1.0))),
        &["coo", "float64"],
        &[],
    ),
    (
        "no arrays at all for a long matrix",
        || Tensor::zeros([1 << 40, 3], DType::F64, Layout::Csr),
        &["zeros", "fit in memory", "coo"],
        &[],
    ),
];

/// How tensors meet.
const MET: &[Row] = &[
    (
        "rows against columns",
        || zeros(&[6, 4]).add(zeros(&[3, 4])),
        &["add", "[6, 4]", "[3, 4]", "sizes 6 and 3", "axis 0"],
        &["axis 2"],
    ),
    (
        "a vector that is too short",
        || zeros(&[6, 4]).mul(zeros(&[3])),
        &["mul", "sizes 4 and 3", "axis -1"],
        &["axis 1"],
    ),
    ("inner sizes", || zeros(&[6, 4]).matmul(&zeros(&[3, 4])), &["matmul", "[6, 4]", "[3, 4]"], &[]),
    ("a matrix times a row", || csr().matmul(&zeros(&[3])), &["matmul", "[3, 4]", "[3]"], &[]),
    (
        "an outer sum without room",
        || {
            let v = Tensor::arange(0.0, 1e6, 1.0)?;
            &v + &v.expand_dims(1)?
        },
        &["add", "8000000000000 bytes", "fit in memory"],
        &["complex"],
    ),
    (
        "fills in two directions",
        || {
            let x = wide();
            let other = x.sub(x.mean(0)?)?;
            with_densify_budget(1000, || other.add(x.sum(openwork::keep(1))?))
        },
        &["add", "budget", "with_densify_budget"],
        &["complex"],
    ),
    ("a matrix as a condition", || zeros(&[2]).where_(1.0, 2.0), &["where_", "float64", "bool"], &[]),
    ("a mask of numbers", || csr().index(s![zeros(&[3, 4])]), &["index", "float64"], &[]),
    ("bits of floats", || zeros(&[2]).binary(BinaryOp::BitwiseAnd, zeros(&[2])), &["bitwise_and", "float64"], &[]),
    (
        "uint64 with int64",
        || zeros(&[2]).cast(DType::U64)?.add(&zeros(&[2]).cast(DType::I64)?),
        &["add", "uint64", "int64", "cast"],
        &[],
    ),
    ("a number that does not fit", || zeros(&[2]).cast(DType::U8)?.add(300), &["add", "300", "uint8"], &[]),
    (
        "tensors of unequal width",
        || Tensor::concat(&[zeros(&[2, 3]), zeros(&[2, 4])], 0),
        &["concat", "[2, 3]", "[2, 4]"],
        &[],
    ),
];

/// How axes, indices and options are named.
const NAMED: &[Row] = &[
    ("an axis too far", || csr().sum(2), &["sum", "axis 2", "-2..=1"], &[]),
    ("an axis twice", || csr().sum([0, -2]), &["sum", "twice"], &[]),
    ("a reshape of another size", || csr().reshape([5, 2]), &["reshape", "[3, 4]", "[5, 2]"], &[]),
    ("axes left out", || csr().permute_dims([0]), &["permute_dims", "axes"], &[]),
    ("an axis that is not 1", || csr().squeeze(0), &["squeeze", "3"], &[]),
    ("a slice beyond the end", || zeros(&[6, 4]).slice(s![0..10]), &["slice", "10", "6"], &[]),
    ("a list where slices are", || csr().slice(s![vec![0, 1]]), &["slice", "index"], &[]),
    ("an index beyond the end", || csr().index_select(vec![0u64, 7], 1), &["index_select", "7", "4"], &[]),
    ("indices of floats", || csr().index_select(zeros(&[2]), 1), &["index_select", "float64"], &[]),
    ("more indices than axes", || csr().index(s![0, 0, 0]), &["index", "3 axes are indexed", "2"], &[]),
    ("lists of unequal length", || csr().index(s![vec![0, 1], vec![0, 1, 2]]), &["index", "2", "3"], &[]),
    ("min of nothing", || zeros(&[0]).reduce(ReduceOp::Min, 0), &["min", "no elements"], &[]),
    ("a quantile above 1", || csr().quantile(1.5, 0), &["quantile", "1.5"], &[]),
    ("a broadcast that narrows", || csr().broadcast_to([3, 1]), &["broadcast_to", "[3, 4]", "[3, 1]"], &[]),
    ("windows out of order", || csr().narrow(2..9, 0), &["narrow", "9", "3"], &[]),
    ("parts that do not add up", || csr().split([1, 1], 0).map(|mut p| p.remove(0)), &["split", "`sizes`", "3"], &[]),
    ("pairs of three", || zeros(&[4, 3]).view_as_complex(), &["view_as_complex", "size 2"], &[]),
    ("more than there are", || csr().topk(9, 1).map(|t| t.0), &["topk", "9", "4"], &[]),
];

/// What is too large, and what to do instead.
const LARGE: &[Row] = &[
    (
        "rows set to a number",
        || wide().index_put(s![(0..1000u64).collect::<Vec<_>>(), ..], 5.0),
        &["index_put", "budget"],
        &["complex", "a dense tensor"],
    ),
    (
        "a diagonal matrix of a dense vector",
        || ones(1_000_000).diag(0),
        &["diag", "fit in memory", "from_diagonals", "sparse vector"],
        &[],
    ),
    ("a huge matrix as a dense one", || wide().to_dense(), &["to_dense", "float64", "fit in memory"], &["complex"]),
    (
        "the running sum of a huge matrix",
        || with_densify_budget(1000, || wide().add(1.0)?.cumulative_sum(0)),
        &["cumulative_sum"],
        &["complex"],
    ),
    (
        "exp of a huge matrix by a function",
        || with_densify_budget(1000, || wide().index_map(|_: &[usize], v: f64| v)),
        &["index_map", "stored()"],
        &["complex"],
    ),
    (
        "an undefined fill made dense",
        || Tensor::coo([3], vec![vec![0u64]], &ones(1), Fill::Undefined)?.to_dense(),
        &["to_dense", "to_dense_with"],
        &[],
    ),
    (
        "values of another type",
        || tensor![1.0, 2.0].values::<f32>().map(|_| ones(1)),
        &["values", "float32", "float64", "cast"],
        &[],
    ),
];

#[test]
fn messages_name_what_was_written() {
    let mut wrong = Vec::new();
    for (what, run, wanted, unwanted) in [MADE, MET, NAMED, LARGE].concat() {
        let message = match run() {
            Ok(x) => format!("(no error: {} {:?})", x.layout(), x.shape()),
            Err(e) => e.to_string(),
        };
        let lacks: Vec<_> = wanted.iter().filter(|w| !message.contains(*w)).collect();
        let has: Vec<_> = unwanted.iter().filter(|w| message.contains(*w)).collect();
        if !lacks.is_empty() || !has.is_empty() {
            wrong.push(format!("{what}: lacks {lacks:?}, has {has:?}: {message}"));
        }
    }
    assert!(wrong.is_empty(), "{} messages:\n{}", wrong.len(), wrong.join("\n"));
}

/// What is no error, and gives what other libraries give.
#[test]
fn what_is_no_mistake() {
    let same = |x: Result<Tensor, Error>, y: Tensor| assert_eq!(x.unwrap().to_string(), y.to_string());
    let u8s = |v: Vec<u8>| Tensor::from_vec([v.len()], v).unwrap();
    same(u8s(vec![3]).sub(5), u8s(vec![254]));
    same(tensor![7i64].floor_divide(0), tensor![0i64]);
    same(tensor![0.0, 5.0].clamp(2.0, 1.0), tensor![1.0, 1.0]);
    assert!(zeros(&[0]).mean(..).unwrap().item().unwrap().to::<f64>().is_nan());
    assert_eq!(tensor![1i64, 2].softmax(0).unwrap().dtype(), DType::F64);
    // As `coordinates` gives them.
    assert_eq!(csr().index_select(vec![0u64, 2], 1).unwrap().shape(), [3, 2]);
}

/// A label of the fill counts only where it is seen.
#[test]
fn labels_that_nothing_shows_are_not_refused() {
    let fill = Fill::array(Tensor::from_vec([2, 1], vec![7u16, 1]).unwrap());
    let values = Tensor::from_vec([3], vec![0u16, 2, 1]).unwrap();
    let x = Tensor::coo([2, 2], vec![vec![0u32, 0, 1], vec![0, 1, 0]], &values, fill.clone()).unwrap();
    let rows = x.one_hot(3).unwrap().to_vec::<i64>().unwrap();
    assert_eq!(rows, [1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 0]);
    let x = Tensor::coo([2, 2], vec![vec![0u32], vec![0]], &values.narrow(0..1, 0).unwrap(), fill).unwrap();
    let why = x.one_hot(3).unwrap_err().to_string();
    assert!(why.contains("label 7") && why.contains("0..3"), "{why}");
}

//! Tensors, layouts, fills and scalars in serde's formats.

use openwork::{DType, Fill, Layout, LevelData, LevelKind, LevelSpec, Part, Scalar, Tensor, c64, f16};
use serde_json::{Value, json};

use super::{all_tensors, same, same_fill};
use crate::common::rng::Rng;

fn flags(x: &Tensor) -> Vec<(bool, bool)> {
    let of = |l: &LevelData| match l {
        LevelData::Sparse { ordered, unique, .. } => (*ordered, *unique),
        _ => (true, true),
    };
    x.levels().unwrap_or_default().iter().map(of).collect()
}

/// Bytes of the values that are really stored: iso values stay iso.
fn stored_bytes(x: &Tensor) -> usize {
    x.buffers().iter().filter(|b| b.name == "values").map(|b| b.bytes).sum()
}

#[test]
fn every_storage_fill_and_dtype() {
    for (cell, x) in all_tensors(3) {
        let text = serde_json::to_string(&x).unwrap();
        let value = serde_json::to_value(&x).unwrap();
        let bytes = postcard::to_stdvec(&x).unwrap();
        // A value has its keys in another order.
        let back: [Tensor; 3] = [
            serde_json::from_str(&text).unwrap_or_else(|e| panic!("{cell}: {e}\n{text}")),
            serde_json::from_value(value).unwrap_or_else(|e| panic!("{cell}: {e}\n{text}")),
            postcard::from_bytes(&bytes).unwrap_or_else(|e| panic!("{cell}: {e}\n{text}")),
        ];
        for y in &back {
            same(&x, y).unwrap_or_else(|e| panic!("{cell}: {e}\n{text}"));
            assert_eq!((flags(&x), stored_bytes(&x)), (flags(y), stored_bytes(y)), "{cell}\n{text}");
        }
        assert_eq!(serde_json::to_string(&back[0]).unwrap(), text);
        if let Some(fill) = x.fill() {
            let a: Fill = serde_json::from_str(&serde_json::to_string(fill).unwrap()).unwrap();
            let b: Fill = postcard::from_bytes(&postcard::to_stdvec(fill).unwrap()).unwrap();
            for y in [a, b] {
                same_fill(Some(fill), Some(&y)).unwrap_or_else(|e| panic!("{cell}: {e}"));
            }
            let spec = x.level_spec().unwrap();
            let a: LevelSpec = serde_json::from_str(&serde_json::to_string(&spec).unwrap()).unwrap();
            let b: LevelSpec = postcard::from_bytes(&postcard::to_stdvec(&spec).unwrap()).unwrap();
            assert_eq!((&a, &b), (&spec, &spec));
        }
        let layout: Layout = serde_json::from_str(&serde_json::to_string(&x.layout()).unwrap()).unwrap();
        assert_eq!(layout, x.layout());
    }
}

#[test]
fn small_tensors_read_well() {
    let x = Tensor::csr(
        [2, 3],
        vec![0u32, 1, 3],
        vec![2u32, 0, 1],
        &Tensor::from_vec([3], vec![1.5, f64::NAN, -0.0]).unwrap(),
        f64::INFINITY,
    );
    let text = r#"{"shape":[2,3],"dtype":"float64","layout":"csr","fill":"inf","pointers_to_1":[0,1,3],"indices_1":[2,0,1],"values":[1.5,"NaN",-0.0]}"#;
    assert_eq!(serde_json::to_string(&x.unwrap()).unwrap(), text);
    let eye = Tensor::eye(3, DType::Complex64, Layout::Coo).unwrap().replace_fill(Fill::Undefined).unwrap();
    let text = r#"{"shape":[3,3],"dtype":"complex64","layout":"coo","fill":"undefined","indices_0":[0,1,2],"indices_1":[0,1,2],"stored_shape":[1],"values":[[1.0,0.0]]}"#;
    assert_eq!(serde_json::to_string(&eye).unwrap(), text);
    let half = Tensor::from_vec([2], vec![f16::from_f32(0.1), f16::from_bits(0xfe01)]).unwrap();
    let text = r#"{"shape":[2],"dtype":"float16","layout":"strided","values":[0.099975586,"NaN(0xfe01)"]}"#;
    assert_eq!(serde_json::to_string(&half).unwrap(), text);
    assert_eq!(
        serde_json::to_string(&Scalar::from(c64::new(0.1, f32::NEG_INFINITY))).unwrap(),
        r#"{"complex64":[0.1,"-inf"]}"#
    );
    assert_eq!(serde_json::to_string(&Fill::Undefined).unwrap(), r#""undefined""#);
    assert_eq!(serde_json::to_string(&Layout::Bsr { block: [2, 3] }).unwrap(), r#""bsr2x3""#);
    let spec = LevelSpec {
        levels: vec![LevelKind::Dense, LevelKind::Sparse { rank: 2 }, LevelKind::Singleton],
        dims: vec![(1, Part::Whole), (0, Part::Div(4)), (0, Part::Mod(4))],
    };
    let text = r#"{"levels":["dense",{"sparse":2},"singleton"],"dims":[1,[0,"div",4],[0,"mod",4]]}"#;
    assert_eq!(serde_json::to_string(&spec).unwrap(), text);
    // By hand: integers for floats, any order of keys.
    let y: Tensor = serde_json::from_str(
        r#"{"values":[1,2],"indices_0":[0,2],"fill":0,"layout":"coo","dtype":"float32","shape":[3]}"#,
    )
    .unwrap();
    assert_eq!(y.get([2]).unwrap(), Some(2f32.into()));
    // Beyond 2^64 elements.
    let big = Tensor::coo(
        [1 << 40, 1 << 40],
        vec![vec![1u64 << 39], vec![7]],
        &Tensor::from_vec([1], vec![1i8]).unwrap(),
        0i8,
    )
    .unwrap();
    same(&big, &serde_json::from_str(&serde_json::to_string(&big).unwrap()).unwrap()).unwrap();
}

/// Every float comes back through JSON: those near which shortest digits and doubles could disagree, too.
#[test]
fn floats_keep_their_bits() {
    let rng = &mut Rng::new(11);
    let bits: Vec<u32> =
        (0..200_000).map(|_| rng.next() as u32).chain([0, 1 << 31, 1, 0x7f80_0000, 0x7fc0_0001]).collect();
    let x = Tensor::from_vec([bits.len()], bits.iter().map(|&b| f32::from_bits(b)).collect()).unwrap();
    let y: Tensor = serde_json::from_str(&serde_json::to_string(&x).unwrap()).unwrap();
    assert!(y.values::<f32>().unwrap().iter().zip(&bits).all(|(v, &b)| v.to_bits() == b));
    let x = Tensor::from_vec([50_000], (0..50_000).map(|_| f64::from_bits(rng.next())).collect()).unwrap();
    let y: Tensor = serde_json::from_str(&serde_json::to_string(&x).unwrap()).unwrap();
    assert!(y.values::<f64>().unwrap().iter().zip(x.values::<f64>().unwrap()).all(|(a, b)| a.to_bits() == b.to_bits()));
    let all = Tensor::from_vec([1 << 16], (0..=u16::MAX).map(f16::from_bits).collect()).unwrap();
    let y: Tensor = serde_json::from_str(&serde_json::to_string(&all).unwrap()).unwrap();
    assert!(y.values::<f16>().unwrap().iter().enumerate().all(|(i, v)| v.to_bits() as usize == i));
}

#[test]
fn what_does_not_fit_is_refused() {
    let good = json!({
        "shape": [2, 3], "dtype": "float64", "layout": "csr", "fill": 0.0,
        "pointers_to_1": [0, 1, 3], "indices_1": [2, 0, 1], "values": [1.5, 2.0, 3.0],
    });
    let read = |v: &Value| serde_json::from_value::<Tensor>(v.clone()).map_err(|e| e.to_string());
    assert!(read(&good).is_ok());
    for (key, value, why) in [
        ("shape", json!([2]), "csr needs at least 2 axes"),
        ("shape", json!([3, 3]), "`pointers_to_1`: has 3 entries, 4 are needed"),
        ("shape", json!([2, 2]), "out of range for an axis of size 2"),
        ("shape", json!([2, -3]), "invalid value"),
        ("shape", json!(vec![1; 2000]), "2000 axes, 1024 are allowed"),
        ("dtype", json!("float"), "unknown dtype \"float\""),
        ("dtype", json!("int8"), "does not fit int8"),
        ("dtype", json!("complex64"), "an element of complex64 is a pair [re, im]"),
        ("layout", json!("csx"), "names no layout"),
        ("layout", json!("levels"), "does not say which levels"),
        ("layout", json!("strided"), "a strided tensor has no `fill`"),
        ("layout", json!("csc"), "`pointers_to_1`: has 3 entries, 4 are needed"),
        ("layout", json!("coo"), "`indices_0` is missing"),
        ("fill", json!("undefine"), "strings are NaN"),
        ("fill", json!({"shape": [4], "values": [1, 2, 3, 4]}), "each axis of an array fill"),
        ("fill", json!({"shape": [3], "values": [1, 2]}), "2 elements for shape [3]"),
        ("fill", json!({"shape": [3]}), "an array fill needs"),
        ("pointers_to_1", json!([0, 3, 1]), "pointers must not fall"),
        ("pointers_to_1", json!([0, 1, 4]), "has 3 entries, 4 are needed"),
        ("indices_1", json!([2, 1, 0]), "have to rise"),
        ("indices_1", json!([2, 0, 18446744073709551615u64]), "out of range"),
        ("indices_7", json!([1]), "the layout has no `indices_7`"),
        ("indices_07", json!([1]), "unknown key"),
        ("extra", json!(1), "unknown key `extra`"),
        ("values", json!([1.5, 2.0]), "2 elements for shape [3]"),
        ("values", json!([1.5, 2.0, [1.0, 2.0]]), "is no element of float64"),
        ("values", json!([1.5, 2.0, "NaN(0x0)"]), "is no float64"),
        ("values", json!([1.5, 2.0, null]), "expected an element"),
        ("values", json!([1.5, 2.0, [[1, 2], 3]]), "invalid type: sequence"),
        ("stored_shape", json!([2]), "each axis of the stored values"),
        ("stored_shape", json!([1]), "3 elements for shape [1]"),
        ("ordered", json!([true]), "of different lengths"),
        ("levels", json!({"levels": ["dense"], "dims": [0, 1]}), "the layout has no `indices_1`"),
        ("levels", json!({"levels": [{"sparse": 99999}], "dims": [0, 1]}), "rank 99999"),
        ("levels", json!({"levels": [{"sparse": 1}, {"sparse": 1}], "dims": [0, 1]}), "`indices_0` is missing"),
        ("levels", json!({"levels": ["dense", {"sparse": 1}], "dims": [1, 0]}), "has 3 entries, 4 are needed"),
        ("levels", json!({"levels": ["dense", {"sparse": 1}], "dims": [0, [1, "mid", 2]]}), "expected a dimension"),
        ("levels", json!({"levels": ["thick"], "dims": [0]}), "expected a level"),
    ] {
        let mut bad = good.clone();
        bad[key] = value;
        let error = read(&bad).unwrap_err();
        assert!(error.contains(why), "{key}: {error}");
    }
    for key in ["shape", "dtype", "layout", "fill", "pointers_to_1", "indices_1", "values"] {
        let mut bad = good.clone();
        bad.as_object_mut().unwrap().remove(key);
        let error = read(&bad).unwrap_err();
        assert!(error.contains(&format!("`{key}` is missing")), "{key}: {error}");
    }
    let twice = r#"{"shape":[1],"shape":[1]}"#;
    assert!(serde_json::from_str::<Tensor>(twice).unwrap_err().to_string().contains("`shape` is given twice"));
    let many = r#"{"shape":[2],"dtype":"bool","layout":"levels","levels":{"levels":[{"sparse":0}],"dims":[0]},"fill":false,"pointers_to_0":[0,1152921504606846976],"stored_shape":[1,2],"values":[true,false]}"#;
    let error = serde_json::from_str::<Tensor>(many).unwrap_err().to_string();
    assert!(error.contains("`pointers_to_0`: claim 1152921504606846976 positions"), "{error}");
    let huge = r#"{"shape":[1000000000000,1000000000000],"dtype":"float64","layout":"strided","stored_shape":[1,1],"values":[1]}"#;
    assert!(serde_json::from_str::<Tensor>(huge).unwrap_err().to_string().contains("does not fit in memory"));
    for text in [r#"{"scalar":1}"#, r#"{}"#, r#"{"int8":1,"int16":2}"#, r#"{"int8":300}"#, r#""defined""#, "3"] {
        assert!(serde_json::from_str::<Fill>(text).is_err(), "{text}");
    }
    assert!(serde_json::from_str::<Scalar>(r#"{"bool":"NaN"}"#).is_err());
    assert!(postcard::from_bytes::<Scalar>(&postcard::to_stdvec(&(DType::F64, [1u8, 2].as_slice())).unwrap()).is_err());
}

#[test]
fn mutants_end_in_an_error_or_a_tensor() {
    let rng = &mut Rng::new(5);
    let (mut read, mut refused) = (0, 0);
    for (_, x) in all_tensors(6).step_by(5) {
        let text = serde_json::to_vec(&x).unwrap();
        let bytes = postcard::to_stdvec(&x).unwrap();
        for _ in 0..4 {
            let (mut text, mut bytes) = (text.clone(), bytes.clone());
            let (at, place) = (rng.below(text.len()), rng.below(bytes.len()));
            match rng.below(3) {
                0 => text[at] = b"{}[],:\"0919"[rng.below(11)],
                1 => text.truncate(at),
                _ => {
                    let digit = (at..text.len()).find(|&i| text[i].is_ascii_digit());
                    digit.into_iter().for_each(|i| text[i] = b'0' + rng.below(10) as u8);
                }
            }
            bytes[place] = rng.next() as u8;
            let a = serde_json::from_slice::<Tensor>(&text).ok();
            let b = postcard::from_bytes::<Tensor>(&bytes).ok();
            for y in [a, b] {
                match y {
                    Some(y) => {
                        read += 1;
                        assert_eq!(y.iter_stored().count(), y.nse());
                    }
                    None => refused += 1,
                }
            }
        }
    }
    assert!(read > 500 && refused > 500, "{read} read, {refused} refused");
}

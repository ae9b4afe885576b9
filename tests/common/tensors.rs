//! Small tensors and their elements, and errors that have to say something.

use openwork::{Error, Fill, IndexArray, Result, Tensor};

/// A vector of these numbers.
pub fn vector(data: &[f64]) -> Tensor {
    Tensor::from_vec([data.len()], data.to_vec()).unwrap()
}

/// Elements at single places of a tensor of any shape.
pub fn coo(shape: &[usize], places: &[&[u64]], data: &[f64], fill: impl Into<Fill>) -> Tensor {
    let columns: Vec<Vec<u64>> = (0..shape.len()).map(|a| places.iter().map(|p| p[a]).collect()).collect();
    Tensor::coo(shape, columns, &vector(data), fill).unwrap()
}

/// All elements in C order.
pub fn elements(x: &Tensor) -> Vec<f64> {
    x.to_dense().unwrap().to_contiguous().unwrap().values::<f64>().unwrap().to_vec()
}

/// The numbers of an index array.
pub fn entries(a: &IndexArray) -> Vec<u64> {
    match (a.as_u32(), a.as_u64()) {
        (Some(v), _) => v.iter().map(|&v| v.into()).collect(),
        (_, v) => v.unwrap().to_vec(),
    }
}

/// The error of a call that had to fail, whose message has these words in it.
#[track_caller]
pub fn says<T>(result: Result<T>, words: &[&str]) -> Error {
    let Err(error) = result else { panic!("wrong input was accepted; expected {words:?}") };
    tells(&error, words);
    error
}

/// The message of an error has these words in it.
#[track_caller]
pub fn tells(error: &Error, words: &[&str]) {
    let message = error.to_string();
    words.iter().for_each(|w| assert!(message.contains(w), "no {w:?} in: {message}"));
}

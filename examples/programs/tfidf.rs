//! Documents by the words they share: term frequency times inverse document frequency, cosine, the nearest.

use openwork::{Result, keep};

use super::Report;
use super::data::counts;

pub fn run() -> Result<Report> {
    let x = counts(30, 20)?; // how often a document has a word
    let frequency = x.normalize(1.0, 1)?; // a document without words stays as it is
    let documents = x.gt(0.0)?.count_nonzero(keep(0))?;
    let rarity = (30.0f64 / documents)?.log()?;
    let tfidf = (&frequency * &rarity)?.normalize(2.0, 1)?;

    // How like each document is to the first one, which is the likest of all.
    let likeness = tfidf.matmul(&tfidf.index_select(vec![0], 0)?.t()?)?.flatten()?;
    let (scores, places) = likeness.topk(3, 0)?;
    let (scores, places) = (scores.to_vec::<f64>()?, places.to_vec::<i64>()?);
    Ok(vec![
        ("itself", scores[0]),
        ("second score", scores[1]),
        ("second document", places[1] as f64),
        ("third score", scores[2]),
        ("third document", places[2] as f64),
    ])
}

//! Films by those who rated both. What nobody rated is absent: it is not a rating of 0.

use openwork::{Fill, Result, keep};

use super::Report;
use super::data::counts;

pub fn run() -> Result<Report> {
    let ratings = counts(25, 10)?.replace_fill(Fill::Undefined)?; // readers × films
    let own = (&ratings - ratings.mean(keep(1)))?; // less what a reader gives on average

    // Cosine over readers: absent ones count as 0 in the product, so the fill becomes 0.
    let x = own.replace_fill(0.0)?;
    let together = x.t()?.matmul(&x)?.to_dense()?;
    let length = together.diagonal(0, 0, 1)?.sqrt()?;
    let likeness = (&(&together / &length)? / length.expand_dims(1)?)?;

    let best = likeness.triu(1)?.max(..)?;
    let films = ratings.mean(0)?;
    Ok(vec![
        ("likeness of films 1 and 2", likeness.get([1, 2])?.map_or(f64::NAN, |v| v.to::<f64>())),
        ("greatest likeness", best.item_as::<f64>()?),
        ("best mean of a film", films.max(..)?.item_as::<f64>()?),
        ("that film", films.argmax(0)?.item_as::<f64>()?),
        ("ratings", ratings.is_stored()?.count_nonzero(..)?.item_as::<f64>()?),
    ])
}

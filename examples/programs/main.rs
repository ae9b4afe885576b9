//! Ten small programs, each as one would write it first: `cargo run --release --example programs -- [name]`.
//!
//! Each works on data of its own and gives the numbers that `tests/ops/programs.rs` compares with NumPy's and SciPy's.
//! None of them says how its data is stored: another layout in [`data`] changes what they cost, not what they give.

mod attention;
mod cp_als;
mod data;
mod fem;
mod gcn;
mod graphs;
mod models;
mod pca;
mod prune;
mod recommender;
mod tfidf;

/// What a program gives: names and numbers.
pub type Report = Vec<(&'static str, f64)>;

/// Its name, what it does, and itself.
pub type Program = (&'static str, &'static str, fn() -> openwork::Result<Report>);

/// All of them.
pub const PROGRAMS: [Program; 10] = [
    ("tfidf", "documents like the first one", tfidf::run),
    ("pca", "the first principal component of a standardised sparse matrix", pca::run),
    ("gcn", "a graph network: loss, gradient, a step downhill", gcn::run),
    ("prune", "a network pruned to a tenth of its weights, and trained on", prune::run),
    ("attention", "attention where a mask allows it", attention::run),
    ("fem", "Poisson's equation with a fixed border, by conjugate gradients", fem::run),
    ("recommender", "likeness of films by those who rated both", recommender::run),
    ("cp_als", "a sparse tensor as a sum of outer products", cp_als::run),
    ("graphs", "PageRank, breadth-first search, shortest paths, triangles", graphs::run),
    ("models", "sparse weights saved, looked into, loaded", models::run),
];

fn main() -> openwork::Result<()> {
    let wanted = std::env::args().nth(1);
    let known = PROGRAMS.iter().any(|p| wanted.as_deref().is_none_or(|name| name == p.0));
    if !known {
        eprintln!("no such program; there are {}", PROGRAMS.map(|p| p.0).join(", "));
        std::process::exit(2);
    }
    for (name, what, run) in PROGRAMS.iter().filter(|p| wanted.as_deref().is_none_or(|name| name == p.0)) {
        println!("{name}: {what}");
        for (key, value) in run()? {
            println!("  {key} = {value:.6}");
        }
    }
    Ok(())
}

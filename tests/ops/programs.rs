//! The programs of `examples/programs`, whose numbers are compared with what NumPy and SciPy give on the same data, by
//! dense matrices and their own solvers (`numpy.linalg`, `scipy.sparse.csgraph`).

#[path = "../../examples/programs/main.rs"]
#[allow(dead_code)]
mod sources;

/// Names, numbers, and how far they may be off.
fn holds(name: &str, expected: &[(&str, f64, f64)]) {
    let (.., run) = sources::PROGRAMS.iter().find(|p| p.0 == name).unwrap();
    let report = run().unwrap();
    assert_eq!(report.iter().map(|r| r.0).collect::<Vec<_>>(), expected.iter().map(|e| e.0).collect::<Vec<_>>());
    for ((what, got), (_, wanted, off)) in report.iter().zip(expected) {
        assert!((got - wanted).abs() <= *off, "{name}: {what} is {got}, not {wanted}");
    }
}

#[test]
fn tfidf() {
    holds(
        "tfidf",
        &[
            ("itself", 1.0, 1e-12),
            ("second score", 0.7602334321129105, 1e-12),
            ("second document", 6.0, 0.0),
            ("third score", 0.6641253314983222, 1e-12),
            ("third document", 24.0, 0.0),
        ],
    );
}

#[test]
fn pca() {
    holds(
        "pca",
        &[
            ("stored of 480", 137.0, 0.0),
            ("greatest singular value", 9.379071703475901, 1e-9),
            ("variance explained", 0.1832645542061299, 1e-10),
            ("mean of a column", 0.0, 1e-12),
        ],
    );
}

/// Its own numbers: the loss falls, what pruning cost is won back, and no place is won or lost.
#[test]
fn prune() {
    let (.., run) = sources::PROGRAMS.iter().find(|p| p.0 == "prune").unwrap();
    let report = run().unwrap();
    let of = |name: &str| report.iter().find(|r| r.0 == name).unwrap().1;
    assert!(of("accuracy, dense") > 0.9, "{report:?}");
    assert!(of("loss, trained on") < 0.5 * of("loss, pruned"), "{report:?}");
    assert!(of("accuracy, trained on") > of("accuracy, pruned") + 0.1, "{report:?}");
    assert!(of("accuracy, trained on") > 0.85, "{report:?}");
    assert!(of("weights stored") < 0.105 * (32 * 64 + 64 * 4) as f64, "{report:?}");
    assert_eq!(of("pattern kept"), 1.0);
}

/// The gradients are those of finite differences.
#[test]
fn gcn() {
    holds(
        "gcn",
        &[
            ("loss", 1.099165541478573, 1e-12),
            ("gradient by the first weights", 0.003985323591129984, 1e-9),
            ("gradient by the second weights", 0.0029924686206829606, 1e-9),
            ("loss after a step", 1.0991531295017005, 1e-10),
            ("greatest row sum", 1.111409069334439, 1e-12),
        ],
    );
}

#[test]
fn attention() {
    holds(
        "attention",
        &[
            ("present of 1024", 240.0, 0.0),
            ("first attention", 0.27410770917894367, 1e-13),
            ("sum of results", -4.282250331525828, 1e-11),
            ("norm of results", 1.6352751820254634, 1e-12),
        ],
    );
}

#[test]
fn fem() {
    holds(
        "fem",
        &[
            ("stored", 1129.0, 0.0),
            ("sum of u", 153.3839045923573, 1e-8),
            ("greatest u", 1.0, 1e-12),
            ("u in the middle", 0.57344576657892, 1e-10),
            ("converged within 100 steps", 1.0, 0.0),
        ],
    );
}

#[test]
fn recommender() {
    holds(
        "recommender",
        &[
            ("likeness of films 1 and 2", 0.04260667924085833, 1e-12),
            ("greatest likeness", 0.12368256868515407, 1e-12),
            ("best mean of a film", 4.857142857142857, 1e-12),
            ("that film", 4.0, 0.0),
            ("ratings", 65.0, 0.0),
        ],
    );
}

#[test]
fn cp_als() {
    holds("cp_als", &[("stored of 336", 96.0, 0.0), ("fit", 0.2832820164319646, 1e-9)]);
}

#[test]
fn graphs() {
    holds(
        "graphs",
        &[
            ("edges", 184.0, 0.0),
            ("greatest rank", 0.03613992685815079, 1e-11),
            ("that node", 4.0, 0.0),
            ("converged within 60 steps", 1.0, 0.0),
            ("depth", 3.0, 0.0),
            ("sum of levels", 70.0, 0.0),
            ("greatest distance", 6.0, 0.0),
            ("sum of distances", 95.0, 0.0),
            ("triangles", 122.0, 0.0),
        ],
    );
}

#[test]
fn models() {
    holds(
        "models",
        &[
            ("tensors", 3.0, 0.0),
            ("stored weights", 22.0, 0.0),
            ("still CSC", 1.0, 0.0),
            ("sum of results", 0.16172175034068403, 1e-12),
            ("the same after loading", 1.0, 0.0),
        ],
    );
}

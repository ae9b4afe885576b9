//! The algorithms of `examples/graphs.rs`, whose answers are compared with those of networkx 3.6.1 on the same graph, in
//! several layouts.

#[path = "../../examples/graphs.rs"]
#[allow(dead_code)]
mod sources;

use openwork::{Fill, Layout, Tensor};

use sources::{betweenness, both_ways, components, distances, levels, pagerank, triangles};

/// Of 60 nodes: a random graph of 50, in some of which no edge leaves; a path of five; five nodes alone.
fn graph(layout: Layout) -> Tensor {
    let mut edges = Vec::new();
    for i in 0..50usize {
        for j in 0..50 {
            if i != j && (i * 73 + j * 179 + i * j * 31) % 1009 % 25 < 1 {
                edges.push(([i, j], (1 + i * j % 7) as f64));
            }
        }
    }
    edges.extend((50..54).map(|i| ([i, i + 1], 2.5)));
    Tensor::from_entries([60, 60], edges, Fill::Undefined).unwrap().to_layout(layout).unwrap()
}

const LAYOUTS: [Layout; 4] = [Layout::Coo, Layout::Csr, Layout::Csc, Layout::Dcsr];

/// No way there.
const NEVER: f64 = f64::INFINITY;

fn close(got: &Tensor, wanted: &[f64], off: f64) {
    let got = got.to_vec::<f64>().unwrap();
    assert_eq!(got.len(), wanted.len());
    for (i, (got, wanted)) in got.iter().zip(wanted).enumerate() {
        assert!(got == wanted || (got - wanted).abs() <= off, "node {i}: {got}, not {wanted}");
    }
}

#[test]
fn directed_graphs() {
    for layout in LAYOUTS {
        let edges = graph(layout);
        assert_eq!(edges.nse(), 101, "{layout}");
        close(&pagerank(&edges, 0.85).unwrap(), &RANKS, 1e-11);
        let into = edges.t().unwrap().to_layout(layout).unwrap();
        for into in [None, Some(&into)] {
            let steps = levels(&edges, into, 3).unwrap().replace_fill(-1).unwrap();
            assert_eq!(steps.to_vec::<i64>().unwrap(), LEVELS, "{layout}");
        }
        close(&distances(&edges, 3).unwrap(), &DISTANCES, 0.0);
        let all: Vec<usize> = (0..60).collect();
        close(&betweenness(&edges, &all).unwrap(), &BETWEENNESS, 1e-10);
    }
}

#[test]
fn graphs_with_edges_both_ways() {
    for layout in LAYOUTS {
        let edges = both_ways(&graph(layout).replace_fill(0.0).unwrap()).unwrap();
        assert_eq!(edges.nse(), 2 * 98, "{layout}");
        assert_eq!(components(&edges, None).unwrap().to_vec::<i64>().unwrap(), COMPONENTS, "{layout}");
        assert_eq!(triangles(&edges).unwrap(), 5.0, "{layout}");
        // Asked from either side, from every node.
        for source in 0..60 {
            let [out, into] = [None, Some(&edges)].map(|into| levels(&edges, into, source).unwrap());
            assert!(out.equal(&into).unwrap(), "{layout} {source}");
        }
        close(&betweenness(&edges, &[0, 3, 17]).unwrap(), &BETWEENNESS_FROM_THREE, 1e-10);
    }
    // Edges that go one way join, too.
    let edges = graph(Layout::Csr);
    let into = edges.t().unwrap();
    assert_eq!(components(&edges, Some(&into)).unwrap().to_vec::<i64>().unwrap(), COMPONENTS);
}

/// A node with 50 neighbours, of which nine have another one each: after the first step few are left, who ask.
#[test]
fn few_nodes_that_are_left_ask() {
    let (mut row, mut column): (Vec<i64>, Vec<i64>) = (1..=50).map(|node| (0, node)).unzip();
    row.extend(1..=9);
    column.extend(51..=59);
    let edges = Tensor::from_triplets([61, 61], row, column, vec![1.0; 59], 0.0).unwrap();
    let edges = both_ways(&edges.to_layout(Layout::Csr).unwrap()).unwrap();
    let wanted: Vec<i64> = (0..61)
        .map(|node| [0, 1, 2, -1][usize::from(node > 0) + usize::from(node > 50) + usize::from(node > 59)])
        .collect();
    for into in [None, Some(&edges)] {
        let steps = levels(&edges, into, 0).unwrap();
        assert_eq!(steps.replace_fill(-1).unwrap().to_vec::<i64>().unwrap(), wanted);
    }
}

/// `pagerank(alpha=0.85)`, weighted.
const RANKS: [f64; 60] = [
    0.010917753847,
    0.007524434530,
    0.012633960300,
    0.017056829043,
    0.054994244960,
    0.014031343984,
    0.021495182850,
    0.006818757863,
    0.020088050515,
    0.021675790065,
    0.007750836989,
    0.039032722408,
    0.021276805543,
    0.041228937311,
    0.006803955407,
    0.018104034026,
    0.019780052416,
    0.019655345623,
    0.004991667321,
    0.016435365881,
    0.019878957625,
    0.008383533693,
    0.022151240949,
    0.027562034830,
    0.021703376473,
    0.024576339210,
    0.023439537323,
    0.016386678469,
    0.029213043257,
    0.014893376725,
    0.018069919605,
    0.004991667321,
    0.015074190093,
    0.010472938948,
    0.011327224173,
    0.007198719866,
    0.019911419852,
    0.013905388596,
    0.011902300527,
    0.008048584513,
    0.016569524321,
    0.017407210705,
    0.010981509266,
    0.034062657071,
    0.004991667321,
    0.038728777331,
    0.029442569549,
    0.016056526165,
    0.017645878528,
    0.016282658866,
    0.004991667321,
    0.009234584544,
    0.012841064184,
    0.015906571877,
    0.018512253417,
    0.004991667321,
    0.004991667321,
    0.004991667321,
    0.004991667321,
    0.004991667321,
];
/// `single_source_shortest_path_length` from node 3; −1 where no way leads.
const LEVELS: [i64; 60] = [
    5, 5, 6, 0, 6, 3, 4, 5, 5, 3, 3, 4, 3, 5, 1, 4, 5, 5, -1, 3, 4, 2, 4, 4, 4, 3, 5, 1, 3, 5, 4, -1, 3, 5, 2, 6, 6, 4,
    2, 6, 1, 4, 5, 6, -1, 5, 2, 4, 5, 4, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
];
/// `single_source_dijkstra_path_length` from node 3.
const DISTANCES: [f64; 60] = [
    7.0, 18.0, 12.0, 0.0, 13.0, 5.0, 10.0, 11.0, 18.0, 11.0, 5.0, 13.0, 5.0, 9.0, 1.0, 13.0, 7.0, 15.0, NEVER, 7.0,
    12.0, 6.0, 11.0, 11.0, 12.0, 8.0, 14.0, 5.0, 10.0, 15.0, 8.0, NEVER, 7.0, 13.0, 2.0, 8.0, 15.0, 15.0, 2.0, 9.0,
    2.0, 11.0, 14.0, 16.0, NEVER, 15.0, 9.0, 12.0, 7.0, 6.0, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER,
    NEVER, NEVER,
];
/// The least node of each of `connected_components`.
const COMPONENTS: [i64; 60] = [
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 50, 50, 50, 50, 50, 55, 56, 57, 58, 59,
];
/// `betweenness_centrality(normalized=False)`.
const BETWEENNESS: [f64; 60] = [
    24.0,
    50.833333333333,
    118.666666666667,
    168.8,
    0.0,
    63.033333333333,
    215.366666666667,
    8.816666666667,
    357.583333333333,
    214.616666666667,
    52.833333333333,
    41.533333333333,
    364.533333333333,
    160.45,
    58.366666666667,
    346.183333333333,
    168.833333333333,
    0.0,
    0.0,
    233.366666666667,
    124.983333333333,
    64.7,
    112.866666666667,
    395.05,
    63.5,
    344.366666666667,
    68.5,
    136.85,
    314.3,
    92.383333333333,
    0.0,
    0.0,
    0.0,
    73.416666666667,
    13.033333333333,
    76.916666666667,
    254.666666666667,
    222.833333333333,
    132.866666666667,
    0.0,
    0.0,
    54.833333333333,
    222.516666666667,
    281.333333333333,
    0.0,
    264.716666666667,
    409.55,
    149.1,
    410.75,
    351.15,
    0.0,
    3.0,
    4.0,
    3.0,
    0.0,
    0.0,
    0.0,
    0.0,
    0.0,
    0.0,
];
/// Twice `betweenness_centrality_subset` from three sources, which halves for undirected graphs.
const BETWEENNESS_FROM_THREE: [f64; 60] = [
    4.583333333333,
    1.2,
    1.0,
    1.75,
    2.041666666667,
    7.083333333333,
    0.5,
    0.166666666667,
    3.791666666667,
    7.791666666667,
    1.0,
    2.583333333333,
    2.833333333333,
    0.375,
    2.733333333333,
    20.533333333333,
    11.916666666667,
    3.5,
    0.0,
    0.166666666667,
    1.5,
    5.916666666667,
    4.583333333333,
    2.833333333333,
    2.416666666667,
    10.2,
    0.125,
    16.416666666667,
    13.041666666667,
    3.666666666667,
    7.5,
    0.333333333333,
    4.208333333333,
    1.166666666667,
    0.366666666667,
    1.583333333333,
    0.333333333333,
    24.283333333333,
    2.733333333333,
    0.0,
    4.616666666667,
    23.458333333333,
    39.583333333333,
    0.375,
    0.0,
    5.958333333333,
    7.666666666667,
    5.583333333333,
    9.708333333333,
    32.291666666667,
    0.0,
    0.0,
    0.0,
    0.0,
    0.0,
    0.0,
    0.0,
    0.0,
    0.0,
    0.0,
];

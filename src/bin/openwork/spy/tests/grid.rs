use super::*;

#[test]
fn cells_cover_an_axis_once_and_in_order() {
    for (size, most) in [(1, 5), (7, 3), (10, 10), (1000, 7), (3 << 20, 1024), (12_345, 100)] {
        let span = Span::new(size, most);
        assert_eq!((span.start(0), span.start(span.cells)), (0, size));
        for cell in 0..span.cells {
            assert!(span.start(cell) < span.start(cell + 1), "{size} {most}");
            assert_eq!(span.cell(span.start(cell)), cell, "{size} {most}");
            assert_eq!(span.cell(span.start(cell + 1) - 1), cell, "{size} {most}");
        }
    }
    let huge = Span::new(1 << 63, 1000);
    assert_eq!((huge.cell(0), huge.cell((1 << 63) - 1)), (0, 999));
}

#[test]
fn labels_and_ticks_are_round() {
    assert_eq!(ticks(2003, 5), [0, 500, 1000, 1500, 2000]);
    assert_eq!(ticks(3, 10), [0, 1, 2]);
    assert_eq!(ticks(1 << 63, 4).len(), 2);
    assert_eq!(
        (label(1500, 2003), label(200_000, 900_000), label(2_500_000, 1 << 30)),
        ("1500".into(), "200k".into(), "2.5M".into())
    );
    for (density, text) in [(0.0, "0"), (1.0, "1"), (0.5, "0.5"), (0.00213, "0.0021"), (7.42e-8, "7.4e-8")] {
        assert_eq!(short(density), text);
    }
}

#[test]
fn levels_rise_by_a_factor() {
    let mut grid = Grid::new(&[1, 4], [Some(0), Some(1)], [1, 4]);
    grid.counts = vec![0, 1, 1, 1];
    let scale = Scale::new(&grid, 4);
    assert_eq!((scale.level(0.0), scale.level(1.0), scale.level(0.49), scale.level(0.01)), (0, 4, 3, 1));
    assert_eq!((scale.edge(4), scale.edge(3)), (1.0, 0.5));
    assert_eq!((scale.level(scale.edge(3)), scale.level(scale.edge(2))), (3, 2));
}

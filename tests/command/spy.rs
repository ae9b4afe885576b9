//! `spy`: pictures of what is stored, from every format, in pieces or whole.

use openwork::{Fill, Layout, Tensor, io};

use super::{fails, good, text};
use crate::common::temporary;

#[test]
fn small_patterns_are_drawn_element_by_element() {
    let folder = temporary("spy-small");
    let path = folder.join("x.mtx");
    std::fs::write(&path, "%%MatrixMarket matrix coordinate real general\n4 6 4\n1 1 1\n2 3 1\n3 5 1\n4 6 1\n")
        .unwrap();
    let name = path.display();
    let drawn = good(&["spy", text(&path), "--style", "ascii"]);
    let expected = format!(
        "{name}: 4 x 6, float64, 4 stored (density 0.17)\n\
         axis 0 downwards, axis 1 to the right; a cell is an element\n\
         \x20 +------+\n\
         0 +#     |\n\
         \x20 |  #   |\n\
         2 +    # |\n\
         \x20 |     #|\n\
         \x20 ++----++\n\
         \x20  0    5\n\
         \x20  # stored\n"
    );
    assert_eq!(drawn, expected, "{drawn}");
    let drawn = good(&["spy", text(&path), "--style", "braille"]);
    assert!(drawn.contains("⠁⠂⢄"), "{drawn}");
    let drawn = good(&["spy", text(&path), "--style", "color"]);
    assert!(drawn.contains("\u{1b}[0;38;5;227m▀") && drawn.contains("▄"), "{drawn}");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The same picture whatever holds the tensor, and in which layout: large enough to be read in several pieces.
#[test]
fn every_format_shows_the_same() {
    let folder = temporary("spy-formats");
    // A band with a dense corner.
    let n = 300_000_u64;
    let band = (0..n).flat_map(|i| (0..4).map(move |k| (i, (i + 37 * k) % n)));
    let corner = (0..300).flat_map(|i| (5000..5300).map(move |k| (i, k)));
    let (rows, cols): (Vec<u64>, Vec<u64>) = band.chain(corner).unzip();
    let ones = Tensor::from_vec([rows.len()], vec![1.0_f32; rows.len()]).unwrap();
    let x = Tensor::coo([n as usize, n as usize], vec![rows, cols], &ones, 0.0).unwrap().coalesce().unwrap();
    let mut seen: Option<String> = None;
    for (ending, layout) in [
        ("mtx", Layout::Coo),
        ("tns.gz", Layout::Coo),
        ("npz", Layout::Coo),
        ("npz", Layout::Csr),
        ("h5", Layout::Csc),
        ("h5", Layout::Dcsr),
        ("safetensors", Layout::Csr),
        ("safetensors", Layout::Coo),
    ] {
        let path = folder.join(format!("x.{ending}"));
        io::write(&path, &x.to_layout(layout).unwrap()).unwrap();
        let drawn = good(&["spy", text(&path), "--width", "60"]);
        let (title, picture) = drawn.split_once('\n').unwrap();
        assert!(title.contains(&format!("{} stored", x.nse())), "{ending} {layout}: {title}");
        let first = seen.get_or_insert_with(|| picture.to_owned());
        assert_eq!(first, picture, "{ending} {layout}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn pictures_are_files() {
    let folder = temporary("spy-pictures");
    let path = folder.join("x.npz");
    io::write(&path, &Tensor::random([3000, 2000], 0.01, 0.0, Layout::Csr, 1).unwrap()).unwrap();
    let (png, svg) = (folder.join("x.png"), folder.join("x.svg"));
    assert_eq!(good(&["spy", text(&path), "-o", text(&png)]), "");
    let bytes = std::fs::read(&png).unwrap();
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!((&bytes[..8], &bytes[12..16]), (&b"\x89PNG\r\n\x1a\n"[..], &b"IHDR"[..]));
    assert!(number(16) > 533 && number(20) > 800 && bytes[25] == 3, "{} x {}", number(16), number(20));
    assert_eq!(good(&["spy", text(&path), "-o", text(&svg), "--width", "50", "--height", "50"]), "");
    let drawn = std::fs::read_to_string(&svg).unwrap();
    assert!(drawn.starts_with("<svg ") && drawn.ends_with("</svg>\n") && drawn.contains("3000 × 2000"), "{drawn}");
    assert!(drawn.matches("<path fill").count() > 2 && drawn.matches('<').count() == drawn.matches('>').count());
    let told = fails(&["spy", text(&path), "-o", text(&folder.join("x.jpg"))], 2);
    assert!(told.contains(".png or .svg"), "{told}");
    let told = fails(&["spy", text(&path), "-o", text(&folder.join("none/x.png"))], 2);
    assert!(told.contains("none"), "{told}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn axes_are_chosen_and_others_summed() {
    let folder = temporary("spy-axes");
    let path = folder.join("x.tns");
    std::fs::write(&path, "#openwork shape 3 2 4\n1 1 1 1\n1 2 1 1\n3 1 4 1\n").unwrap();
    let drawn = good(&["spy", text(&path), "--style", "ascii"]);
    assert!(
        drawn.contains("axis 0 downwards, axis 2 to the right; summed over 1") && drawn.contains("0 +#   |"),
        "{drawn}"
    );
    assert!(drawn.contains("2 +   o|") || drawn.contains("|   :|") || drawn.contains("2 +   :|"), "{drawn}");
    let drawn = good(&["spy", text(&path), "--axes", "1,0", "--style", "ascii"]);
    assert!(drawn.contains("axis 1 downwards, axis 0 to the right; summed over 2"), "{drawn}");
    for axes in ["0,0", "0,3"] {
        assert!(fails(&["spy", text(&path), "--axes", axes], 1).contains("not two axes"));
    }
    fails(&["spy", text(&path), "--axes", "1"], 2);
    // A vector is a strip; a dense tensor shows what is not 0, and one of absent elements what is there.
    let vector = folder.join("v.npz");
    io::write(&vector, &Tensor::from_vec([6], vec![0.0, 1.0, 0.0, 0.0, f64::NAN, 0.0]).unwrap()).unwrap();
    let drawn = good(&["spy", text(&vector), "--style", "ascii"]);
    assert!(drawn.contains("2 not 0") && drawn.contains(" # "), "{drawn}");
    let absent = Tensor::eye(5, openwork::DType::F64, Layout::Csr).unwrap().prune().unwrap();
    let options = io::WriteOptions { extensions: true, ..Default::default() };
    io::write_with(&vector, &absent.replace_fill(Fill::Undefined).unwrap(), &options).unwrap();
    assert!(good(&["spy", text(&vector)]).contains("5 stored (density 0.2)"));
    let point = folder.join("p.npz");
    io::write(&point, &Tensor::scalar(1.0)).unwrap();
    assert!(fails(&["spy", text(&point)], 1).contains("without axes"));
    io::write(&point, &Tensor::zeros([0, 7], openwork::DType::F32, Layout::Csr).unwrap()).unwrap();
    assert!(good(&["spy", text(&point)]).contains("nothing is stored"));
    std::fs::remove_dir_all(&folder).unwrap();
}

use super::*;
use crate::base::parallel;

fn over_after(millis: u64) -> Watch {
    let start = Instant::now();
    Watch::new(move || start.elapsed() > Duration::from_millis(millis))
}

fn is_interrupted<R>(result: Result<R>) -> bool {
    result.is_err_and(|e| matches!(e.kind(), ErrorKind::Interrupted { .. }))
}

/// Chunks that take a millisecond each, nested or not.
fn slow(deep: bool) -> Result<()> {
    parallel::map_chunks(20_000, 1, &|_| {
        if deep {
            parallel::map_chunks(10_000, 1, &|_| std::thread::sleep(Duration::from_millis(1)));
        }
        std::thread::sleep(Duration::from_millis(1));
    });
    Ok(())
}

#[test]
fn chunks_end_where_they_are_given_up() {
    for threads in [1, 3] {
        for deep in [false, true] {
            let start = Instant::now();
            let watch = over_after(100);
            // The pool inside the watch, and the watch inside the pool.
            assert!(is_interrupted(watch.run(|| parallel::with_threads(threads, || slow(deep))?)));
            let inside = parallel::with_threads(threads, || is_interrupted(over_after(100).run(|| slow(deep))));
            assert!(inside.unwrap());
            assert!(start.elapsed() < Duration::from_secs(5), "{threads} {deep}: {:?}", start.elapsed());
            // The same watch, and the same threads, work on.
            assert_eq!(watch.run(|| Ok(5)).unwrap(), 5);
        }
    }
    assert!(!IS_WATCHED.get());
}

#[test]
fn many_short_loops_end_where_they_are_given_up() {
    let start = Instant::now();
    let watch = over_after(100);
    let loops = || {
        for _ in 0..20_000 {
            parallel::map_chunks(8, 1, &|_| std::thread::sleep(Duration::from_millis(1)));
        }
        Ok(())
    };
    assert!(is_interrupted(watch.run(loops)));
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

#[test]
fn long_sorts_are_given_up_and_short_ones_are_done() {
    let mixed = |n: u64| -> Vec<u64> { (0..n).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect() };
    // A fast machine sorts 20 million before the second question, after 100 ms.
    let mut words = mixed(64 << 20);
    let sort = || {
        parallel::sort(&mut words);
        Ok(())
    };
    assert!(is_interrupted(over_after(0).run(|| parallel::with_threads(3, sort)?)));
    let (mut words, mut keys) = (mixed(200_000), mixed(200_000));
    let mut numbers: Vec<u64> = (0..200_000).collect();
    let late = Watch::new(|| false);
    let sort = || {
        parallel::sort(&mut words);
        parallel::sort_numbered(&mut keys, &mut numbers);
        Ok(())
    };
    late.run(|| parallel::with_threads(3, sort)?).unwrap();
    assert!(words.is_sorted() && words == keys);
    assert!(numbers.iter().zip(&keys).all(|(i, key)| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) == *key));
}

#[test]
fn what_is_held_is_done() {
    let watch = over_after(0);
    let mut done = 0;
    let end = watch.run(|| {
        hold(|| {
            for _ in 0..200 {
                std::thread::sleep(Duration::from_millis(1));
                check();
                done += 1;
            }
        });
        slow(false)
    });
    assert!(is_interrupted(end));
    assert_eq!(done, 200);
}

#[test]
fn panics_and_errors_go_through() {
    let watch = over_after(0);
    let panicked = catch_unwind(AssertUnwindSafe(|| watch.run(|| -> Result<()> { resume_unwind(Box::new("mine")) })));
    assert_eq!(panicked.unwrap_err().downcast_ref::<&str>(), Some(&"mine"));
    let failed: Result<()> = watch.run(|| Err(ErrorKind::Absent { op: "get", why: String::new() }.into()));
    assert!(!is_interrupted(failed));
    assert!(!IS_WATCHED.get());
}

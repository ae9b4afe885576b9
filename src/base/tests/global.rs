use std::thread;
use std::time::Duration;

use super::*;

#[test]
fn a_process_waits_for_its_own_threads() {
    let shared = Global::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..1000 {
                    *shared.lock().unwrap() += 1;
                }
            });
        }
        let value = shared.lock().unwrap();
        let waits = scope.spawn(|| shared.lock().is_some());
        thread::sleep(Duration::from_millis(10));
        drop(value);
        assert!(waits.join().unwrap());
    });
    assert_eq!(*shared.lock().unwrap(), 4000);
}

/// As a child that was forked while another thread had the value: it has the lock as it was, and another number.
#[test]
fn a_forked_child_does_without() {
    let shared = Global::new(5);
    let value = shared.lock().unwrap();
    shared.process.fetch_add(1, Ordering::Relaxed);
    thread::scope(|scope| assert!(scope.spawn(|| shared.lock().is_none()).join().unwrap()));
    drop(value);
    assert_eq!(*shared.lock().unwrap(), 5);
}

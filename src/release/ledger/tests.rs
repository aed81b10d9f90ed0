//! What is written is spent, what is not a ledger is refused, and nothing is ever overspent.

use super::*;
use crate::privacy::Neighbours;

fn rho(x: f64) -> Rho {
    Rho::new(x).unwrap()
}

fn unit() -> PrivacyUnit {
    PrivacyUnit::default()
}

fn new(total: f64) -> (tempfile::TempDir, Ledger) {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::create(&folder.path().join("L.jsonl"), rho(total), unit()).unwrap();
    (folder, ledger)
}

#[test]
fn what_is_reserved_is_spent_whether_it_is_settled_or_not() {
    let (_folder, ledger) = new(1.0);
    let first = ledger.reserve(rho(0.25), unit(), "first").unwrap();
    let balance = ledger.balance().unwrap();
    assert_eq!((balance.spent, balance.left, balance.unsettled), (0.25, 0.75, 1));
    ledger.settle(first).unwrap();
    ledger.reserve(rho(0.75), unit(), "second").unwrap();
    let balance = ledger.balance().unwrap();
    assert_eq!((balance.spent, balance.left, balance.reservations, balance.unsettled), (1.0, 0.0, 2, 1));
    let refused = ledger.reserve(rho(1e-300), unit(), "third").unwrap_err();
    assert!(matches!(refused, Error::BudgetExhausted { left: 0.0, .. }), "{refused}");
    assert_eq!(std::fs::read_to_string(&ledger.path).unwrap().lines().count(), 4);
}

/// A thousand small reservations: the exact sum never exceeds the total, and what is said to be left can be spent.
#[test]
fn rounding_never_overspends() {
    let (_folder, ledger) = new(0.3);
    for _ in 0..2 {
        ledger.reserve(rho(0.1), unit(), "a tenth").unwrap();
    }
    // 0.1 is a little more than a tenth, 0.3 a little less than three.
    assert!(ledger.reserve(rho(0.1), unit(), "a tenth").is_err());
    let left = ledger.balance().unwrap().left;
    assert!(left < 0.1 && left > 0.1 - 1e-15);
    assert!(ledger.reserve(rho(left.next_up()), unit(), "too much").is_err());
    ledger.reserve(rho(left), unit(), "the rest").unwrap();
    assert!(ledger.balance().unwrap().left < 1e-15);
}

#[test]
fn another_unit_is_refused() {
    let (_folder, ledger) = new(1.0);
    for other in [PrivacyUnit { rows: 2, ..unit() }, PrivacyUnit { neighbours: Neighbours::ReplaceOneRecord, ..unit() }]
    {
        let message = ledger.reserve(rho(0.1), other, "x").unwrap_err().to_string();
        assert!(message.contains("--unit-rows"), "{message}");
    }
    assert_eq!(ledger.balance().unwrap().reservations, 0);
}

#[test]
fn files_that_are_no_ledger_are_refused_with_the_line() {
    let (_folder, ledger) = new(1.0);
    ledger.reserve(rho(0.5), unit(), "x").unwrap();
    let good = std::fs::read_to_string(&ledger.path).unwrap();
    let lines: Vec<&str> = good.lines().collect();
    let (opening, reserve) = (lines[0], lines[1]);
    let settle = "{\"settle\":1}";
    assert!(read_text(&format!("{good}{settle}\n"), "L", 0).is_ok());
    for (text, line) in [
        (String::new(), 1),
        ("\n".into(), 1),
        (good.trim_end().to_owned(), 2),
        (good[..good.len() - 5].to_owned(), 2),
        (format!("{good}{{\"reserve\":2,\"rho\":0."), 3),
        (format!("{good}garbage\n"), 3),
        (format!("{good}\n"), 3),
        (format!("{good}\0\0\0\0\n"), 3),
        (format!("{opening}\n{}\n", reserve.replace("0.5", "-0.5")), 2),
        (format!("{opening}\n{}\n", reserve.replace("0.5", "null")), 2),
        (format!("{opening}\n{}\n", reserve.replace("\"reserve\":1", "\"reserve\":2")), 2),
        (format!("{good}{reserve}\n"), 3),
        (format!("{good}{opening}\n"), 3),
        (format!("{reserve}\n"), 1),
        (format!("{good}{settle}\n{settle}\n"), 4),
        (format!("{good}{{\"settle\":0}}\n"), 3),
        (format!("{good}{{\"settle\":2}}\n"), 3),
        (format!("{good}{{\"settle\":1,\"refund\":0.5}}\n"), 3),
        (opening.replace("\"ledger\":1", "\"ledger\":2") + "\n", 1),
        (opening.replace("1.0", "0.0") + "\n", 1),
        (opening.replace("\"rows\":1", "\"rows\":0") + "\n", 1),
    ] {
        std::fs::write(&ledger.path, &text).unwrap();
        for refused in [ledger.balance().unwrap_err(), ledger.reserve(rho(0.1), unit(), "x").unwrap_err()] {
            let Error::Parse { place: Some(place), .. } = &refused else { panic!("{text}: {refused}") };
            assert_eq!(place.line, line, "{text}");
        }
        assert_eq!(std::fs::read_to_string(&ledger.path).unwrap(), text, "nothing is mended silently");
    }
    assert!(Ledger::open(Path::new("/nowhere/L.jsonl")).unwrap_err().to_string().contains("matmech ledger create"));
    assert!(Ledger::create(&ledger.path, rho(1.0), unit()).is_err());
}

/// `/dev/full` refuses what is written: a device is no ledger, and a failed write is an error and not half a reservation.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_reserves_nothing() {
    assert!(Ledger::open(Path::new("/dev/full")).is_err());
    let mut full = OpenOptions::new().append(true).open("/dev/full").unwrap();
    assert!(append(&mut full, &Line::Settle { settle: 1 }).is_err());
}

/// After the data was read nobody is told that it was not.
#[test]
fn a_settlement_that_fails_says_what_is_spent() {
    let (folder, ledger) = new(1.0);
    let reservation = ledger.reserve(rho(0.5), unit(), "x").unwrap();
    let moved = folder.path().join("M.jsonl");
    std::fs::rename(&ledger.path, &moved).unwrap();
    let gone = ledger.settle(reservation).unwrap_err().to_string();
    assert!(gone.contains("its cost is spent") && !gone.contains("create it first"), "{gone}");
    let said = |when| ledger.io("writing the ledger", std::io::ErrorKind::StorageFull.into(), when).to_string();
    assert!(
        said(When::AfterTheRun).contains("its cost is spent") && !said(When::AfterTheRun).contains("nothing was read")
    );
    assert!(said(When::Before).contains("nothing was read or spent"));
}

/// Threads with a handle of their own each: as many reservations as the total allows, no more.
#[test]
fn reservations_at_the_same_time_wait_for_each_other() {
    let (_folder, ledger) = new(1.0);
    let won = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16)
            .map(|_| {
                let path = ledger.path.clone();
                scope.spawn(move || Ledger { path }.reserve(rho(0.1), unit(), "x").is_ok())
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).filter(|won| *won).count()
    });
    // Ten times 0.1 is more than 1, exactly.
    assert_eq!(won, 9);
    assert_eq!(ledger.balance().unwrap().reservations, 9);
}

/// Ledgers with random changes: no panic.
#[test]
fn damaged_ledgers_do_not_panic() {
    use rand::{RngExt, SeedableRng};
    let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(1);
    let (_folder, ledger) = new(1.0);
    let first = ledger.reserve(rho(0.5), unit(), "x").unwrap();
    ledger.settle(first).unwrap();
    let good = std::fs::read(&ledger.path).unwrap();
    for _ in 0..5000 {
        let mut bytes = good.clone();
        for _ in 0..random.random_range(1..4) {
            let at = random.random_range(0..bytes.len());
            bytes[at] = random.random_range(0..128);
        }
        bytes.truncate(random.random_range(1..=bytes.len()));
        drop(read_text(&String::from_utf8_lossy(&bytes), "L", 0));
    }
}

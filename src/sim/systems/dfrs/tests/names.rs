use std::collections::BTreeSet;

use super::super::Algorithm;
use crate::grid::Images;

#[test]
fn there_are_116_and_each_has_its_own_name() {
    let all = Algorithm::all_published();
    let names: BTreeSet<String> = all.iter().map(Algorithm::to_string).collect();
    assert_eq!((all.len(), names.len()), (116, 116));
    for algorithm in all {
        assert_eq!(Algorithm::parse(&algorithm.to_string()), Ok(algorithm));
    }
}

#[test]
fn names_may_be_written_in_other_ways() {
    let same = |a: &str, b: &str| assert_eq!(Algorithm::parse(a).unwrap().to_string(), b);
    same("Greedy*", "Greedy */opt=min");
    same("  GreedyPM   * /per/minvt=600/opt=min ", "GreedyPM */per/opt=min/minvt=600");
    same("/per", "/per/opt=min");
    same("/stretch-per", "/stretch-per/opt=max");
    same("MCB8/per/penalty=0/period=1.5/minft=300", "MCB8/per/opt=min/minft=300/period=1.5/penalty=0");
    same("/per/period=600/penalty=300", "/per/opt=min");
    same("MCB8 */sort=sum/priority=stretch", "MCB8 */opt=min/priority=stretch/sort=sum");
    same("/per/priority=square/sort=max", "/per/opt=min");
    same("/per/vt=progress", "/per/opt=min");
    same("Greedy */penalty=10/vt=yield", "Greedy */opt=min/vt=yield/penalty=10");
    same("FCFS", "FCFS");
    same("Greedy */pays=moves/penalty=10", "Greedy */opt=min/penalty=10");
    same("Greedy */pays=from-pause/penalty=10", "Greedy */opt=min/penalty=10/pays=from-pause");
    same(" EASY ", "EASY");
}

#[test]
fn wrong_names_are_reported_with_their_place() {
    let message = |name: &str| Algorithm::parse(name).expect_err(name).to_string();
    assert_eq!(
        message("GreedyM *"),
        "`GreedyM *` names no algorithm: expected Greedy, GreedyP, GreedyPM, MCB8, FCFS, EASY, `/per` or `/stretch-per` at `GreedyM *`; \
         did you mean `Greedy`?"
    );
    assert_eq!(message("Greedy"), "`Greedy` names no algorithm: ` *` or `/per` is missing at its end");
    assert_eq!(
        message("*/per"),
        "`*/per` names no algorithm: `*` comes after a policy: Greedy, GreedyP, GreedyPM or MCB8 at `*/per`"
    );
    for (name, part) in [
        ("stretch-per/opt=max", "`/stretch-per`"),
        ("per", "`/per`"),
        ("Greedy */opt=min/minvt=600", "use MCB8"),
        ("/per/opt=max", "only for `stretch-per`"),
        ("/stretch-per/opt=min", "is not for `stretch-per`"),
        ("Greedy/stretch-per", "cannot follow a policy"),
        ("Greedy */stretch-per", "cannot follow a policy"),
        ("Greedy */opt=min/per", "only be the first part"),
        ("MCB8 */minvt=300/minft=300", "only one of minvt and minft"),
        ("MCB8 */opt=min/opt=avg", "given twice"),
        ("MCB8 */opt=mim", "did you mean `min`?"),
        ("MCB8 */minv=300", "did you mean `minvt=`?"),
        ("MCB8 */minvt=ten", "expected seconds"),
        ("MCB8 */minvt=-3", "expected seconds"),
        ("MCB8 */", "expected per, stretch-per"),
        ("MCB8 * per", "expected `/`"),
        ("MCB8 */opt=min/period=900", "`period` is only for"),
        ("/per/period=0", "above 0"),
        ("MCB8 */priority=1/vt", "expected square, stretch or inverse"),
        ("MCB8 */sort=summ", "did you mean `sum`?"),
        ("Greedy */vt=yeild", "did you mean `yield`?"),
        ("/per/vt=yield/vt=yield", "given twice"),
        ("/per/pays=pause", "did you mean `pauses`?"),
        ("/per/pays=moves/pays=pauses", "given twice"),
        ("Greedy */sort=sum", "use MCB8"),
        ("/per/sort=sum/sort=sum", "given twice"),
        ("", "neither policy"),
        ("FCFS *", "did you mean `FCFS`?"),
    ] {
        let message = message(name);
        assert!(message.contains(part), "{name}: {message}");
    }
}

#[test]
fn a_period_that_a_penalty_may_fill_is_warned_of() {
    let warning = |name| Algorithm::parse(name).unwrap().fractional().unwrap().warning(None);
    assert_eq!(warning("/per"), None);
    assert!(
        warning("/per/period=300").unwrap().contains("the period of 5 min is not longer than the penalty of 5 min")
    );
    assert_eq!(warning("Greedy */penalty=1000"), None);

    // A full node of 8 GB takes 320 s at 200 Mbps, and 290 s at 220 Mbps or so.
    let at = |name, bandwidth| {
        let rules = *Algorithm::parse(name).unwrap().fractional().unwrap();
        rules.warning(Some(Images { memory_kb: 8_000_000, bandwidth }))
    };
    assert_eq!(at("/per", 220_690_000), None);
    let message = at("/per", 200_000_000).unwrap();
    assert!(message.contains("the penalty of 5 min and the 320 s in which what fills a node moves"), "{message}");
    assert_eq!(at("/per/penalty=0", 200_000_000), None);
    let message = at("/per/penalty=0", 100_000_000).unwrap();
    assert!(message.contains("not longer than the 640 s in which"), "{message}");
    assert_eq!(at("Greedy */penalty=0", 1), None);
}

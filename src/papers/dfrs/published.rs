//! Published numbers.

use super::{Group, Metric, with_period};

/// Mean, standard deviation and maximum of the degradation from bound.
pub type Three = [f64; 3];

/// Table 2: over the weeks of HPC2N, the unscaled and the scaled traces.
#[rustfmt::skip]
pub const TABLE_2: [(&str, [Three; 3]); 20] = [
    ("FCFS", [[3578.5, 3727.8, 21_718.4], [5457.2, 2958.5, 15_102.7], [5869.3, 2789.1, 17_403.3]]),
    ("EASY", [[3041.9, 3438.0, 21_317.4], [4955.4, 2730.6, 14_036.8], [5262.0, 2588.9, 14_534.1]]),
    ("Greedy */opt=min", [[949.8, 1828.5, 11_778.4], [2435.0, 2285.6, 11_229.9], [3204.3, 2517.5, 19_129.2]]),
    ("GreedyP */opt=min", [[13.5, 68.0, 819.2], [37.5, 156.0, 1204.9], [115.7, 644.0, 10_354.2]]),
    ("GreedyPM */opt=min", [[13.8, 68.2, 819.2], [33.8, 154.0, 1321.7], [124.0, 673.5, 9598.8]]),
    ("Greedy/per/opt=min", [[28.3, 24.9, 163.7], [30.1, 10.2, 58.1], [29.3, 14.3, 153.2]]),
    ("GreedyP/per/opt=min", [[18.5, 18.6, 152.4], [20.1, 7.3, 38.1], [17.8, 9.6, 84.6]]),
    ("GreedyPM/per/opt=min", [[18.4, 18.8, 158.7], [20.2, 7.3, 38.1], [17.9, 9.8, 93.0]]),
    ("Greedy */per/opt=min", [[24.3, 15.9, 81.6], [30.4, 9.7, 65.7], [29.1, 12.3, 101.4]]),
    ("GreedyP */per/opt=min", [[17.9, 19.6, 213.5], [20.3, 6.8, 32.0], [17.9, 8.6, 89.9]]),
    ("GreedyPM */per/opt=min", [[17.9, 19.3, 198.6], [20.3, 6.9, 32.0], [17.9, 8.6, 89.9]]),
    ("GreedyP/per/opt=min/minvt=600", [[8.9, 18.9, 152.4], [5.9, 4.5, 38.1], [7.3, 8.5, 96.8]]),
    ("GreedyPM/per/opt=min/minvt=600", [[8.8, 18.9, 158.7], [5.9, 4.5, 38.1], [7.3, 8.1, 96.8]]),
    ("GreedyP */per/opt=min/minvt=600", [[6.9, 14.2, 149.3], [4.9, 2.9, 19.2], [6.1, 6.3, 103.5]]),
    ("GreedyPM */per/opt=min/minvt=600", [[6.9, 14.4, 149.6], [4.8, 2.4, 13.6], [6.1, 5.4, 90.2]]),
    ("MCB8 */opt=min/minvt=600", [[12.0, 32.8, 370.0], [6.9, 5.4, 44.4], [13.2, 21.6, 270.9]]),
    ("MCB8/per/opt=min/minvt=600", [[10.8, 25.3, 287.6], [8.1, 6.6, 53.3], [11.0, 12.6, 127.5]]),
    ("MCB8 */per/opt=min/minvt=600", [[13.6, 30.2, 318.9], [7.8, 3.9, 21.9], [12.2, 15.3, 195.7]]),
    ("/per/opt=min/minvt=600", [[105.0, 445.6, 5011.9], [43.0, 19.7, 134.7], [40.4, 25.0, 238.3]]),
    ("/stretch-per/opt=max/minvt=600", [[105.0, 445.6, 5011.9], [43.0, 19.6, 134.7], [40.2, 24.8, 236.9]]),
];

/// Table 3: mean and maximum on scaled traces with a load of at least 0.7, of GB/s, events per hour and events per job,
/// each for preemptions and then for migrations.
#[rustfmt::skip]
pub const TABLE_3: [(&str, [(f64, f64); 6]); 16] = [
    ("GreedyP */opt=min", [(0.06, 0.17), (0.0, 0.0), (5.67, 18.0), (0.0, 0.0), (0.57, 2.04), (0.0, 0.0)]),
    ("GreedyPM */opt=min", [(0.03, 0.07), (0.02, 0.05), (2.25, 10.08), (3.69, 13.32), (0.23, 1.19), (0.36, 1.22)]),
    ("Greedy/per/opt=min", [(0.48, 1.08), (0.21, 0.6), (32.58, 83.52), (38.79, 110.52), (5.41, 21.76), (4.81, 16.17)]),
    ("GreedyP/per/opt=min", [(0.5, 1.11), (0.2, 0.6), (33.34, 85.32), (37.52, 107.64), (5.54, 22.2), (4.67, 15.76)]),
    ("GreedyPM/per/opt=min", [(0.49, 1.1), (0.21, 0.6), (32.93, 84.24), (39.21, 112.32), (5.52, 21.65), (4.85, 16.03)]),
    ("Greedy */per/opt=min", [(0.5, 1.29), (0.27, 0.66), (29.27, 84.96), (58.06, 124.56), (4.49, 22.55), (6.94, 17.65)]),
    ("GreedyP */per/opt=min", [(0.58, 1.37), (0.28, 0.65), (39.67, 97.92), (58.56, 127.08), (5.87, 24.87), (7.09, 17.91)]),
    ("GreedyPM */per/opt=min", [(0.56, 1.37), (0.29, 0.66), (35.78, 96.48), (62.95, 135.72), (5.42, 24.0), (7.59, 18.32)]),
    ("Greedy */per/opt=min/minvt=600", [(0.49, 1.27), (0.24, 0.62), (28.08, 83.52), (51.97, 117.36), (4.29, 21.8), (6.25, 16.53)]),
    ("GreedyP */per/opt=min/minvt=600", [(0.56, 1.36), (0.24, 0.63), (37.7, 97.2), (52.14, 119.16), (5.56, 23.88), (6.34, 16.48)]),
    ("GreedyPM */per/opt=min/minvt=600", [(0.54, 1.34), (0.26, 0.62), (33.8, 94.32), (56.45, 127.08), (5.11, 23.23), (6.84, 16.94)]),
    ("MCB8 */opt=min", [(0.42, 1.26), (1.17, 2.36), (61.66, 230.4), (490.48, 1005.48), (6.67, 18.83), (57.46, 90.29)]),
    ("MCB8 */per/opt=min", [(0.72, 1.15), (1.21, 2.68), (77.04, 170.28), (479.31, 1109.52), (13.01, 28.93), (73.61, 117.15)]),
    ("MCB8 */per/opt=min/minvt=600", [(0.54, 1.11), (0.56, 1.53), (37.94, 85.32), (194.57, 836.28), (6.57, 26.52), (22.55, 50.29)]),
    ("/per/opt=min", [(0.49, 1.07), (0.21, 0.62), (33.83, 84.24), (38.69, 111.24), (5.65, 23.23), (4.9, 16.58)]),
    ("/stretch-per/opt=max", [(0.28, 0.65), (0.39, 0.81), (20.41, 45.36), (67.26, 159.48), (3.79, 16.71), (10.41, 26.96)]),
];

/// Share of the calls of MCB8 that place at most 10 jobs (section 6.2).
pub const SMALL_CALLS: f64 = 0.6725;

/// Table 4: mean normalised underutilisation over the weeks, the unscaled and the scaled traces.
pub const TABLE_4: [(&str, Three); 3] = [
    ("EASY", [0.064, 0.349, 0.384]),
    ("GreedyP */per/opt=min/minvt=600", [0.344, 0.497, 0.607]),
    ("GreedyPM */per/opt=min/minvt=600", [0.344, 0.497, 0.608]),
];

/// Number that the paper gives for an algorithm in a table or in words. Its figures of periods contribute one: the
/// recommended algorithm leaves 0.118 of HPC2N unused with long periods.
pub fn published_mean(group: Group, name: &str, metric: Metric) -> Option<f64> {
    let place = Group::ALL.iter().position(|known| *known == group)?;
    match metric {
        Metric::Degradation => TABLE_2.iter().find(|row| row.0 == name).map(|row| row.1[place][0]),
        Metric::Underutilisation if group == Group::Weeks && name == with_period(LONG) => Some(0.118),
        Metric::Underutilisation => TABLE_4.iter().find(|row| row.0 == name).map(|row| row.1[place]),
        _ => None,
    }
}

const LONG: u64 = 6_000;

/// Limits of table 5 on preemption, as the suffixes of algorithm names: repacking does not move a job with less flow
/// time or virtual time than this, in seconds.
pub const LIMITS: [&str; 5] = ["", "/minft=300", "/minft=600", "/minvt=300", "/minvt=600"];

/// Table 5: degradation over the weeks for each family, objective and limit.
#[rustfmt::skip]
pub const TABLE_5: [(&str, &str, [Option<Three>; 5]); 28] = [
    ("Greedy *", "avg", [Some([1012.2, 2229.5, 19_799.1]), None, None, None, None]),
    ("Greedy *", "min", [Some([949.8, 1828.5, 11_778.4]), None, None, None, None]),
    ("Greedy/per", "avg", [Some([28.9, 27.0, 212.9]), Some([23.3, 26.9, 182.3]), Some([23.5, 27.6, 212.2]), Some([23.9, 26.9, 182.3]), Some([23.8, 27.8, 182.3])]),
    ("Greedy/per", "min", [Some([28.3, 24.9, 163.7]), Some([23.4, 26.0, 152.0]), Some([23.1, 24.8, 152.5]), Some([23.5, 26.9, 182.8]), Some([23.0, 25.9, 152.0])]),
    ("Greedy */per", "avg", [Some([24.5, 15.9, 81.6]), Some([19.8, 17.8, 85.6]), Some([19.3, 17.6, 85.6]), Some([19.2, 17.5, 85.6]), Some([18.9, 17.3, 74.9])]),
    ("Greedy */per", "min", [Some([24.3, 15.9, 81.6]), Some([19.5, 17.7, 85.6]), Some([19.1, 17.5, 85.6]), Some([18.9, 17.2, 85.6]), Some([19.0, 17.4, 66.1])]),
    ("GreedyP *", "avg", [Some([20.4, 116.7, 1254.2]), None, None, None, None]),
    ("GreedyP *", "min", [Some([13.5, 68.0, 819.2]), None, None, None, None]),
    ("GreedyP/per", "avg", [Some([18.4, 18.6, 152.4]), Some([9.1, 18.8, 152.4]), Some([9.0, 18.7, 152.4]), Some([9.0, 18.8, 152.4]), Some([8.9, 18.9, 152.4])]),
    ("GreedyP/per", "min", [Some([18.5, 18.6, 152.4]), Some([9.1, 18.8, 152.4]), Some([9.0, 18.9, 152.4]), Some([9.0, 18.9, 152.4]), Some([8.9, 18.9, 152.4])]),
    ("GreedyP */per", "avg", [Some([17.9, 19.7, 213.5]), Some([8.2, 19.4, 213.5]), Some([7.7, 18.5, 198.8]), Some([7.0, 14.0, 149.3]), Some([6.9, 14.0, 149.3])]),
    ("GreedyP */per", "min", [Some([17.9, 19.6, 213.5]), Some([7.9, 19.0, 213.5]), Some([7.5, 18.0, 198.8]), Some([6.9, 14.0, 149.3]), Some([6.9, 14.2, 149.3])]),
    ("GreedyPM *", "avg", [Some([14.1, 72.7, 880.1]), None, None, None, None]),
    ("GreedyPM *", "min", [Some([13.8, 68.2, 819.2]), None, None, None, None]),
    ("GreedyPM/per", "avg", [Some([18.5, 19.2, 158.7]), Some([9.1, 19.4, 158.7]), Some([9.0, 19.3, 158.7]), Some([9.1, 19.4, 158.7]), Some([8.9, 19.5, 158.7])]),
    ("GreedyPM/per", "min", [Some([18.4, 18.8, 158.7]), Some([9.2, 19.2, 158.7]), Some([9.1, 19.3, 158.7]), Some([8.9, 18.8, 158.7]), Some([8.8, 18.9, 158.7])]),
    ("GreedyPM */per", "avg", [Some([17.8, 19.3, 198.6]), Some([8.2, 19.1, 198.6]), Some([7.8, 19.0, 198.8]), Some([7.0, 14.1, 149.6]), Some([6.9, 14.2, 149.6])]),
    ("GreedyPM */per", "min", [Some([17.9, 19.3, 198.6]), Some([8.1, 19.2, 198.6]), Some([7.9, 19.1, 198.8]), Some([6.9, 14.3, 149.6]), Some([6.9, 14.4, 149.6])]),
    ("MCB8 *", "avg", [Some([346.3, 1223.1, 13_399.7]), Some([44.7, 144.2, 1082.8]), Some([20.6, 63.9, 672.0]), Some([14.1, 33.2, 370.0]), Some([12.1, 32.8, 370.0])]),
    ("MCB8 *", "min", [Some([345.6, 1241.5, 13_668.8]), Some([44.7, 138.4, 1126.3]), Some([19.1, 59.2, 672.0]), Some([14.0, 33.2, 370.0]), Some([12.0, 32.8, 370.0])]),
    ("MCB8/per", "avg", [Some([171.4, 702.4, 8383.0]), Some([15.0, 33.5, 279.3]), Some([12.1, 26.9, 292.4]), Some([11.5, 25.3, 287.6]), Some([10.7, 25.2, 287.6])]),
    ("MCB8/per", "min", [Some([169.1, 691.4, 8362.3]), Some([15.1, 34.5, 309.3]), Some([12.1, 26.9, 292.4]), Some([11.5, 25.3, 287.6]), Some([10.8, 25.3, 287.6])]),
    ("MCB8 */per", "avg", [Some([394.5, 1562.9, 17_862.0]), Some([56.1, 197.4, 1849.6]), Some([23.6, 71.3, 799.3]), Some([15.5, 30.6, 318.9]), Some([13.7, 30.3, 318.9])]),
    ("MCB8 */per", "min", [Some([389.1, 1522.1, 17_313.6]), Some([56.8, 198.7, 1738.4]), Some([25.1, 81.4, 799.3]), Some([15.4, 30.6, 318.9]), Some([13.6, 30.2, 318.9])]),
    ("/per", "avg", [Some([105.0, 445.6, 5011.9]); 5]),
    ("/per", "min", [Some([105.0, 445.6, 5011.9]); 5]),
    ("/stretch-per", "avg", [Some([105.0, 445.6, 5011.9]); 5]),
    ("/stretch-per", "max", [Some([105.0, 445.6, 5011.9]); 5]),
];

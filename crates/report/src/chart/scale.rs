//! Axes: from numbers to places, and the round numbers that stand beside them.

/// How one axis maps numbers to places between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    low: f64,
    high: f64,
    log: bool,
    /// About how many ticks there are.
    count: usize,
    /// Between two ticks of a linear axis.
    step: f64,
}

impl Scale {
    /// An axis that holds all finite values (and, if `log`, all positive ones), rounded outwards to a tick. Without any
    /// it runs from 0 to 1.
    ///
    /// ```
    /// use epgt_report::chart::Scale;
    /// let scale = Scale::around([3.0, f64::NAN, 97.0].into_iter(), false, 5);
    /// assert_eq!((scale.place(0.0), scale.place(100.0)), (0.0, 1.0));
    /// ```
    pub fn around(values: impl Iterator<Item = f64>, log: bool, count: usize) -> Self {
        // Beyond 1e300 the distance of two numbers may be none.
        let usable = |value: &f64| value.abs() < 1e300 && (!log || *value > 0.0);
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(usable) {
            (low, high) = (low.min(value), high.max(value));
        }
        if low > high {
            return Self {
                low: 0.0,
                high: 1.0,
                log: false,
                count,
                step: 0.2,
            };
        }
        if log {
            if high / low < 1.0 + 1e-9 {
                (low, high) = (low / 2.0, high * 2.0);
            }
            // A little air, so that a line along the border is seen.
            let air = (high / low).powf(0.03);
            return Self {
                low: low / air,
                high: high * air,
                log,
                count,
                step: 0.0,
            };
        }
        if high - low <= 1e-12 * high.abs().max(low.abs()) {
            let half = if high == 0.0 { 1.0 } else { 0.1 * high.abs() };
            (low, high) = (low - half, high + half);
        }
        let step = step(high - low, count);
        Self {
            low: (low / step + 1e-9).floor() * step,
            high: (high / step - 1e-9).ceil() * step,
            log,
            count,
            step,
        }
    }

    /// An axis from the least to the greatest of the finite values, without any air; with one value or none it is that
    /// of [`Scale::around`].
    ///
    /// ```
    /// use epgt_report::chart::Scale;
    /// let scale = Scale::over([3.0, 97.0].into_iter(), 5);
    /// assert_eq!((scale.place(3.0), scale.place(97.0)), (0.0, 1.0));
    /// ```
    pub fn over(values: impl Iterator<Item = f64> + Clone, count: usize) -> Self {
        let around = Self::around(values.clone(), false, count);
        let finite = values.filter(|value| value.abs() < 1e300);
        let low = finite.clone().fold(f64::INFINITY, f64::min);
        let high = finite.fold(f64::NEG_INFINITY, f64::max);
        match high - low > 1e-12 * high.abs().max(low.abs()) {
            true => Self { low, high, ..around },
            false => around,
        }
    }

    /// Where a number lies: 0 at the lower end, 1 at the upper; NaN where it has no place.
    ///
    /// ```
    /// let scale = epgt_report::chart::Scale::around([0.0, 10.0].into_iter(), false, 5);
    /// assert_eq!(scale.place(2.5), 0.25);
    /// ```
    pub fn place(&self, value: f64) -> f64 {
        match self.log {
            true if value > 0.0 => (value / self.low).ln() / (self.high / self.low).ln(),
            true => f64::NAN,
            false => (value - self.low) / (self.high - self.low),
        }
    }

    /// Round numbers along the axis.
    ///
    /// ```
    /// let scale = epgt_report::chart::Scale::around([0.0, 98.0].into_iter(), false, 5);
    /// assert_eq!(scale.ticks(), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
    /// ```
    pub fn ticks(&self) -> Vec<f64> {
        if self.log {
            return self.log_ticks();
        }
        let step = self.step;
        let (first, last) = ((self.low / step - 1e-6).ceil(), (self.high / step + 1e-6).floor());
        // A negative zero would be written with its sign.
        (first as i64..=last as i64)
            .map(|index| index as f64 * step + 0.0)
            .collect()
    }

    /// Powers of ten; where there are few, also 2 and 5 or all digits; where there are many, not each.
    fn log_ticks(&self) -> Vec<f64> {
        let decades = (self.high / self.low).log10();
        let digits: &[f64] = match decades {
            d if d < 1.0 => &[1.0, 2.0, 3.0, 4.0, 5.0, 7.0],
            d if d < 2.5 => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let every = (decades / self.count as f64).ceil().max(1.0) as i32;
        let range = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        let powers = range.filter(|exponent| exponent.rem_euclid(every) == 0);
        powers
            .flat_map(|exponent| digits.iter().map(move |digit| digit * 10f64.powi(exponent)))
            .filter(|tick| (self.low..=self.high).contains(tick))
            .collect()
    }
}

/// The step of 1, 2 or 5 times a power of ten that makes about `count` parts of a range.
fn step(range: f64, count: usize) -> f64 {
    let rough = range / count.max(1) as f64;
    let power = 10f64.powf(rough.log10().floor());
    let digit = match rough / power {
        d if d < 1.5 => 1.0,
        d if d < 3.0 => 2.0,
        d if d < 7.0 => 5.0,
        _ => 10.0,
    };
    digit * power
}

/// A number as a person writes it on an axis or in a sentence: four digits, `200k`, `1.5M`, `3e-4`.
///
/// ```
/// use epgt_report::chart::number;
/// let shown = [0.0, 200_000.0, 1.5e6, 3e-4, 0.25, -12.5, 1234.5].map(number);
/// assert_eq!(shown, ["0", "200k", "1.5M", "3e-4", "0.25", "-12.5", "1234"]);
/// ```
pub fn number(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return "-".to_string();
    }
    if size == 0.0 {
        return "0".to_string();
    }
    match size {
        s if s >= 1e9 => exponential(value),
        s if s >= 999_950.0 => trimmed(format!("{:.2}", value / 1e6)) + "M",
        s if s >= 9_999.5 => trimmed(format!("{:.1}", value / 1e3)) + "k",
        s if s < 9.995e-3 => exponential(value),
        s => trimmed(format!(
            "{value:.*}",
            (3 - s.log10().floor() as i32).clamp(0, 3) as usize
        )),
    }
}

/// The numbers beside an axis, of which all are so many thousands where one is: `5k`, `10k`.
pub(super) fn labels(ticks: &[f64]) -> Vec<String> {
    let in_thousands = |value: f64| (9_999.5..999_950.0).contains(&value.abs());
    let thousands = ticks.iter().any(|tick| in_thousands(*tick));
    let label = |tick: &f64| match thousands && (1e3..9_999.5).contains(&tick.abs()) {
        true => trimmed(format!("{:.1}", tick / 1e3)) + "k",
        false => number(*tick),
    };
    ticks.iter().map(label).collect()
}

/// An interval behind a number, ` [1, 2]`; nothing where it is not known.
pub(super) fn between(low: f64, high: f64) -> String {
    match low.is_finite() && high.is_finite() {
        true => format!(" [{}, {}]", number(low), number(high)),
        false => String::new(),
    }
}

fn exponential(value: f64) -> String {
    let text = format!("{value:.1e}");
    text.replace(".0e", "e")
}

fn trimmed(text: String) -> String {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside_for_any_range() {
        for (low, high) in [(0.0, 1.0), (-3.7, 12.9), (1e-7, 3e-7), (-5e6, -1e6), (499.0, 500.0)] {
            let scale = Scale::around([low, high].into_iter(), false, 5);
            let ticks = scale.ticks();
            assert!((4..=9).contains(&ticks.len()), "{low}..{high}: {ticks:?}");
            for tick in &ticks {
                assert!((-1e-9..=1.0 + 1e-9).contains(&scale.place(*tick)), "{tick}");
            }
            assert!(scale.place(low) >= 0.0 && scale.place(high) <= 1.0);
        }
    }

    #[test]
    fn a_log_axis_has_powers_of_ten_and_no_place_for_what_is_not_positive() {
        let scale = Scale::around([1e-5, 1e-1, 0.0, -3.0].into_iter(), true, 5);
        let ticks = scale.ticks();
        assert_eq!(ticks.len(), 5);
        assert!((ticks[0] - 1e-5).abs() < 1e-17);
        assert!(scale.place(0.0).is_nan() && scale.place(-1.0).is_nan());
        assert!((scale.place(1e-3) - 0.5).abs() < 1e-9);
        let narrow = Scale::around([2e-4, 8e-4].into_iter(), true, 5);
        assert!(narrow.ticks().len() >= 3);
    }

    #[test]
    fn numbers_beside_one_axis_are_written_in_one_way() {
        assert_eq!(labels(&[0.0, 5e3, 1e4, 1.5e4]), ["0", "5k", "10k", "15k"]);
        assert_eq!(labels(&[-7.5e3, -2.5e3, 500.0, 1e4]), ["-7.5k", "-2.5k", "500", "10k"]);
        assert_eq!(labels(&[0.0, 2e3, 4e3]), ["0", "2000", "4000"]);
        assert_eq!(labels(&[5e5, 1e6, 1.5e6]), ["500k", "1M", "1.5M"]);
    }

    #[test]
    fn one_value_nothing_and_nan_have_an_axis_too() {
        for values in [vec![5.0], vec![0.0], vec![], vec![f64::NAN], vec![-1.7e308, 1.7e308]] {
            for log in [false, true] {
                let scale = Scale::around(values.iter().copied(), log, 5);
                assert!(scale.ticks().len() >= 2, "{values:?}");
                assert!(scale.ticks().iter().all(|tick| tick.is_finite()));
            }
        }
    }
}

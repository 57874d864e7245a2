//! The F distribution, also the noncentral one, which an F statistic has where the groups differ.

/// Terms of the continued fraction at most; it needs about the square root of the larger parameter.
const MOST_TERMS: usize = 20_000;

/// Deviations of the Poisson weights from their mean that are summed; what is left out is below 1e-15.
const DEVIATIONS: f64 = 9.0;

/// The probability that an F statistic is at most `f`, with `between` and `within` degrees of freedom, where the means
/// of the groups differ by a noncentrality: the sum over all values of (mean of its group - mean of all)^2, over the
/// variance within groups. 0 is the usual F distribution.
///
/// It is the mixture `sum over j of Poisson(j; noncentrality / 2) * I_x(between / 2 + j, within / 2)` of regularised
/// incomplete beta functions at `x = between * f / (between * f + within)`. NaN where anything is not finite, negative,
/// or without a degree of freedom.
///
/// ```
/// use epgt_report::f_distribution::probability;
/// assert!((probability(3.0, 2.0, 97.0, 0.0) - 0.945).abs() < 1e-3);
/// assert!(probability(3.0, 2.0, 97.0, 9.0) < 0.25);
/// ```
pub fn probability(f: f64, between: f64, within: f64, noncentrality: f64) -> f64 {
    let usable = [f, between, within, noncentrality].iter().all(|x| x.is_finite());
    if !usable || f < 0.0 || noncentrality < 0.0 || between <= 0.0 || within <= 0.0 {
        return f64::NAN;
    }
    let x = between * f / (between * f + within);
    let mean = noncentrality / 2.0;
    if mean == 0.0 {
        return incomplete_beta(x, between / 2.0, within / 2.0);
    }
    let reach = DEVIATIONS * (mean.sqrt() + DEVIATIONS);
    let (first, last) = ((mean - reach).max(0.0).floor(), (mean + reach).ceil());
    let weight = |j: f64| (j * mean.ln() - mean - ln_gamma(j + 1.0)).exp();
    let terms = (first as u64..=last as u64).map(|j| j as f64);
    let sum: f64 = terms
        .map(|j| weight(j) * incomplete_beta(x, between / 2.0 + j, within / 2.0))
        .sum();
    sum.min(1.0)
}

/// The F that chance alone stays below with this probability.
///
/// ```
/// let f = epgt_report::f_distribution::quantile(0.95, 2.0, 97.0);
/// assert!((f - 3.090).abs() < 1e-3);
/// ```
pub fn quantile(share: f64, between: f64, within: f64) -> f64 {
    crossing(|f| probability(f, between, within, 0.0) - share)
}

/// Where a function of numbers from 0 on that only rises is 0, or where it begins if it is above 0 there; NaN where it
/// never is.
pub(crate) fn crossing(rising: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    if rising(low) >= 0.0 {
        return low;
    }
    while rising(high) < 0.0 && high < 1e15 {
        high *= 2.0;
    }
    if rising(high).is_nan() || rising(high) < 0.0 {
        return f64::NAN;
    }
    while high - low > 1e-12 * high {
        let middle = 0.5 * (low + high);
        match rising(middle) < 0.0 {
            true => low = middle,
            false => high = middle,
        }
    }
    0.5 * (low + high)
}

/// The regularised incomplete beta function, by its continued fraction (Lentz's algorithm) on the side where that is
/// quick.
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, b, a);
    }
    let ln_front = a * x.ln() + b * (-x).ln_1p() + ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b);
    let away = |y: f64| if y.abs() < 1e-300 { 1e-300 } else { y };
    let (mut c, mut d) = (1.0, 1.0 / away(1.0 - (a + b) * x / (a + 1.0)));
    let mut fraction = d;
    for m in 1..MOST_TERMS {
        let m = m as f64;
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = fraction;
        for step in [even, odd] {
            d = 1.0 / away(1.0 + step * d);
            c = away(1.0 + step / c);
            fraction *= c * d;
        }
        if (fraction - before).abs() <= 1e-15 * fraction.abs() {
            break;
        }
    }
    ln_front.exp() * fraction / a
}

/// The logarithm of the gamma function of a positive number, by Lanczos's approximation (g = 7, nine coefficients).
fn ln_gamma(x: f64) -> f64 {
    const COEFFICIENTS: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    if x < 0.5 {
        // The reflection formula.
        return (std::f64::consts::PI / (std::f64::consts::PI * x).sin()).ln() - ln_gamma(1.0 - x);
    }
    let x = x - 1.0;
    let base = x + 7.5;
    let terms = COEFFICIENTS.iter().zip(1..).map(|(c, i)| c / (x + f64::from(i)));
    let sum: f64 = 0.999_999_999_999_809_9 + terms.sum::<f64>();
    0.5 * (2.0 * std::f64::consts::PI).ln() + (x + 0.5) * base.ln() - base + sum.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gamma_function_is_the_factorial_and_the_root_of_pi_at_a_half() {
        let factorials = [1.0, 1.0, 2.0, 6.0, 24.0, 120.0, 720.0, 5040.0_f64];
        for (n, factorial) in factorials.iter().enumerate() {
            assert!((ln_gamma(n as f64 + 1.0) - factorial.ln()).abs() < 1e-12, "{n}");
        }
        let pi = std::f64::consts::PI;
        assert!((ln_gamma(0.5) - pi.sqrt().ln()).abs() < 1e-12);
        assert!((ln_gamma(0.25) + ln_gamma(0.75) - (2.0_f64.sqrt() * pi).ln()).abs() < 1e-12);
    }

    #[test]
    fn what_is_no_f_statistic_has_no_probability() {
        for (f, between, within, noncentrality) in [
            (-1.0, 2.0, 9.0, 0.0),
            (f64::NAN, 2.0, 9.0, 0.0),
            (f64::INFINITY, 2.0, 9.0, 0.0),
            (1.0, 0.0, 9.0, 0.0),
            (1.0, 2.0, 0.0, 0.0),
            (1.0, 2.0, 9.0, -1.0),
        ] {
            assert!(probability(f, between, within, noncentrality).is_nan());
        }
        assert!(quantile(0.95, 0.0, 9.0).is_nan() && quantile(f64::NAN, 2.0, 9.0).is_nan());
    }
}

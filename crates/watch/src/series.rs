//! A curve of any length in a bounded number of points, built row by row.

use serde_json::{Value, json};

/// A curve whose points come one by one and which is kept as buckets of equally many points: of each its lowest and its
/// highest. Where there are too many buckets, two neighbours become one. No peak is ever lost.
///
/// ```
/// use epgt_watch::series::Series;
/// let mut series = Series::new(100);
/// (0..1_000_000).for_each(|i| series.push(f64::from(i), if i == 765_432 { 9.0 } else { 0.0 }));
/// let points = series.points();
/// assert!(points.len() <= 200 && points.contains(&(765_432.0, 9.0)));
/// ```
#[derive(Clone, Debug)]
pub struct Series {
    /// Buckets at most.
    most: usize,
    /// Points of a full bucket, a power of two.
    width: u64,
    /// Points in the last bucket.
    filled: u64,
    buckets: Vec<Bucket>,
    /// The newest point.
    last: Option<Point>,
    /// How often it has begun anew.
    begun: u64,
}

type Point = (f64, f64);

#[derive(Clone, Copy, Debug)]
struct Bucket {
    low: Point,
    high: Point,
}

impl Bucket {
    fn with(self, other: Self) -> Self {
        Self {
            low: if other.low.1 < self.low.1 { other.low } else { self.low },
            high: if other.high.1 > self.high.1 {
                other.high
            } else {
                self.high
            },
        }
    }

    /// Both points in the order of their places.
    fn points(self) -> [Point; 2] {
        match self.low.0 <= self.high.0 {
            true => [self.low, self.high],
            false => [self.high, self.low],
        }
    }
}

/// What a reader has of a series: the width of its buckets, and how many of them were full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    begun: u64,
    width: u64,
    full: usize,
    /// The bits of the newest point.
    last: (u64, u64),
}

impl Series {
    /// An empty curve that is kept in so many buckets, an even number.
    pub fn new(most: usize) -> Self {
        Self {
            most: most.max(2).next_multiple_of(2),
            width: 1,
            filled: 0,
            buckets: Vec::new(),
            last: None,
            begun: 0,
        }
    }

    /// Begins anew, without any point.
    pub fn clear(&mut self) {
        *self = Self {
            begun: self.begun + 1,
            ..Self::new(self.most)
        };
    }

    /// Adds a point; one that is not finite is left out.
    pub fn push(&mut self, x: f64, y: f64) {
        if !(x.is_finite() && y.is_finite()) {
            return;
        }
        self.last = Some((x, y));
        let bucket = Bucket {
            low: (x, y),
            high: (x, y),
        };
        match self.buckets.last_mut() {
            Some(open) if self.filled < self.width => {
                *open = open.with(bucket);
                self.filled += 1;
                return;
            }
            _ => {}
        }
        if self.buckets.len() == self.most {
            let merged = self.buckets.chunks(2).map(|pair| pair[0].with(pair[1]));
            self.buckets = merged.collect();
            self.width *= 2;
        }
        self.buckets.push(bucket);
        self.filled = 1;
    }

    /// The newest value.
    pub fn last(&self) -> Option<f64> {
        self.last.map(|(_, y)| y)
    }

    /// The points that are kept.
    pub fn points(&self) -> Vec<(f64, f64)> {
        self.from(0)
    }

    /// The points from a bucket on: one of each as long as each holds one, then two.
    fn from(&self, bucket: usize) -> Vec<(f64, f64)> {
        let buckets = &self.buckets[bucket.min(self.buckets.len())..];
        match self.width {
            1 => buckets.iter().map(|bucket| bucket.low).collect(),
            _ => buckets.iter().flat_map(|bucket| bucket.points()).collect(),
        }
    }

    /// What a reader lacks: from which of its points on they are replaced, the points, and the newest; `None` where it
    /// has all.
    pub fn since(&self, cursor: &mut Cursor) -> Option<Value> {
        let last = self.last;
        let now = Cursor {
            begun: self.begun,
            width: self.width,
            full: self.buckets.len().saturating_sub(1),
            last: last.map_or((0, 0), |last| (last.0.to_bits(), last.1.to_bits())),
        };
        if *cursor == now || (last.is_none() && cursor.begun == now.begun) {
            return None;
        }
        let same = (cursor.begun, cursor.width) == (now.begun, now.width);
        let from = if same { cursor.full } else { 0 };
        *cursor = now;
        let per_bucket = if self.width == 1 { 1 } else { 2 };
        let points: Vec<f64> = self.from(from).into_iter().flat_map(|(x, y)| [x, short(y)]).collect();
        let last = last.map(|(x, y)| [x, short(y)]);
        Some(json!({"from": per_bucket * from, "points": points, "last": last}))
    }
}

/// A number with the digits that a picture can show.
fn short(y: f64) -> f64 {
    match format!("{y:.5e}").parse() {
        Ok(rounded) => rounded,
        Err(_) => y,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_points_keep_their_extremes_in_few() {
        let mut series = Series::new(500);
        let noise = |i: u64| ((i.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407)) >> 40) as f64;
        for i in 0..1_000_000 {
            let spike = match i {
                123_457 => 1e9,
                987_654 => -1e9,
                _ => 0.0,
            };
            series.push(i as f64, noise(i) + spike);
        }
        let points = series.points();
        assert!(points.len() <= 1000 && points.len() > 400, "{}", points.len());
        assert!(points.is_sorted_by(|a, b| a.0 <= b.0));
        assert!(points.contains(&(123_457.0, noise(123_457) + 1e9)));
        assert!(points.contains(&(987_654.0, noise(987_654) - 1e9)));
    }

    /// A reader that is told of changes only.
    #[derive(Default)]
    struct Reader {
        cursor: Cursor,
        points: Vec<f64>,
    }

    impl Reader {
        fn read(&mut self, series: &Series) -> usize {
            let Some(news) = series.since(&mut self.cursor) else {
                return 0;
            };
            self.points.truncate(2 * news["from"].as_u64().unwrap() as usize);
            let points = news["points"].as_array().unwrap();
            self.points.extend(points.iter().map(|number| number.as_f64().unwrap()));
            points.len()
        }
    }

    #[test]
    fn a_reader_of_changes_has_what_is_there() {
        let mut series = Series::new(16);
        let mut reader = Reader::default();
        let mut given = 0;
        for i in 0..5000 {
            series.push(f64::from(i), f64::from(i * 7919 % 1000));
            if i % 3 == 0 {
                given += reader.read(&series);
            }
        }
        reader.read(&series);
        let whole: Vec<f64> = series.points().into_iter().flat_map(|(x, y)| [x, y]).collect();
        assert_eq!(reader.points, whole);
        // Each time it was told of a bucket or two, not of all.
        assert!(given < 5000 / 3 * 10, "{given}");
        assert_eq!(reader.read(&series), 0);
        // What begins anew does so for the reader too, also where it is longer by then.
        for length in [0, 3, 9000] {
            series.clear();
            (0..length).for_each(|i| series.push(f64::from(i), f64::from(i % 7)));
            reader.read(&series);
            let whole: Vec<f64> = series.points().into_iter().flat_map(|(x, y)| [x, y]).collect();
            assert_eq!(reader.points, whole);
        }
    }

    #[test]
    fn what_is_not_finite_is_left_out() {
        let mut series = Series::new(4);
        [f64::NAN, 1.0, f64::INFINITY, 2.0]
            .iter()
            .for_each(|&y| series.push(1.0, y));
        assert_eq!(series.points(), [(1.0, 1.0), (1.0, 2.0)]);
        assert_eq!(series.last(), Some(2.0));
    }
}

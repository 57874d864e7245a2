//! What observations and actions look like, told to Python.

use epgt_envs::Space;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A space as a dictionary: its kind, and the counts of its choices, its bounds, or the sides of its images. It is made
/// into a space of Gymnasium's by `python/epgt/_spaces.py`.
pub fn describe<'py>(py: Python<'py>, space: &Space) -> PyResult<Bound<'py, PyDict>> {
    let told = PyDict::new(py);
    match space {
        Space::Discrete(n) => {
            told.set_item("kind", "discrete")?;
            told.set_item("counts", [*n])?;
        }
        Space::MultiDiscrete(counts) => {
            told.set_item("kind", "multi-discrete")?;
            told.set_item("counts", counts)?;
        }
        Space::Box { low, high } => {
            told.set_item("kind", "box")?;
            told.set_item("low", PyArray1::from_slice(py, low))?;
            told.set_item("high", PyArray1::from_slice(py, high))?;
        }
        Space::Image {
            channels,
            height,
            width,
        } => {
            told.set_item("kind", "image")?;
            told.set_item("shape", (channels, height, width))?;
        }
    }
    Ok(told)
}

/// The space of such a dictionary.
pub fn read(told: &Bound<'_, PyDict>) -> PyResult<Space> {
    let part = |name: &str| told.as_any().get_item(name);
    let kind: String = part("kind")?.extract()?;
    Ok(match kind.as_str() {
        "discrete" => Space::Discrete(part("counts")?.get_item(0)?.extract()?),
        "multi-discrete" => Space::MultiDiscrete(part("counts")?.extract()?),
        "image" => {
            let (channels, height, width) = part("shape")?.extract()?;
            Space::Image {
                channels,
                height,
                width,
            }
        }
        _ => Space::Box {
            low: part("low")?.extract()?,
            high: part("high")?.extract()?,
        },
    })
}

//! Figures for a paper: each as a file of its own, as wide as a column or a page of it.

use std::fs;
use std::path::PathBuf;

use epgt_report::chart::{Sheet, pdf, png, svg};
use epgt_train::artifact::{reason, write_atomically};

use super::figures::Picture;
use crate::error::ExperimentError;

/// What a figure's file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Lines and words, for a browser or an editor.
    Svg,
    /// Lines and words with their font, for LaTeX.
    Pdf,
    /// Pixels, 400 to the inch.
    Png,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Svg, Self::Pdf, Self::Png];

    /// Its name, which is also how its files end.
    pub fn name(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Pdf => "pdf",
            Self::Png => "png",
        }
    }
}

/// How wide a figure is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Width {
    /// One column of two: 3.3 inches.
    Column,
    /// All of a page: 6.8 inches.
    #[default]
    Page,
}

impl Width {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Column, Self::Page];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Column => "column",
            Self::Page => "page",
        }
    }
}

/// Figures that are to be printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paper {
    /// Where they go.
    pub folder: PathBuf,
    /// What they are.
    pub formats: Vec<Format>,
    /// How wide they are.
    pub width: Width,
}

impl Paper {
    /// Writes the figures, and says how many files that are.
    pub(super) fn print(&self, pictures: &[Picture]) -> Result<usize, ExperimentError> {
        let sheet = match self.width {
            Width::Column => Sheet::COLUMN,
            Width::Page => Sheet::PAGE,
        };
        fs::create_dir_all(&self.folder)
            .map_err(|error| ExperimentError::system("make", &self.folder, reason(&error)))?;
        for picture in pictures {
            let drawing = picture.figure.on_sheet(sheet);
            for format in &self.formats {
                let bytes = match format {
                    Format::Svg => svg::standalone(&drawing, true).into_bytes(),
                    Format::Pdf => pdf::encode(&drawing),
                    Format::Png => png::encode(&drawing, png::PAPER)?,
                };
                write_atomically(self.folder.join(format!("{}.{}", picture.file, format.name())), &bytes)?;
            }
        }
        Ok(pictures.len() * self.formats.len())
    }
}

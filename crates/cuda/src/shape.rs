//! The sizes of an image network, and where its tensors lie.

use std::ops::Range;

use crate::GpuError;

/// One convolution with a rectifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConvShape {
    /// Channels that it makes; a multiple of four.
    pub outputs: usize,
    /// Side of its square window in pixels.
    pub kernel: usize,
    /// Pixels from one position of the window to the next.
    pub stride: usize,
}

/// Convolutions, one dense layer with a rectifier, and linear heads on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetShape {
    /// Channels, height and width of an image.
    pub image: [usize; 3],
    /// The convolutions.
    pub convs: Vec<ConvShape>,
    /// Width of the dense layer.
    pub dense: usize,
    /// Outputs of each head.
    pub heads: Vec<usize>,
    /// Weights that no layer has, behind all others: the deviations of a policy.
    pub rest: usize,
}

/// A window on an image of `[planes, height, width, depth]` as the kernels know it.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub planes: i32,
    pub height: i32,
    pub width: i32,
    pub depth: i32,
    pub kernel: i32,
    pub stride: i32,
    pub down: i32,
    pub across: i32,
}

// SAFETY: eight 32-bit integers in C's order, as in kernels.cu.
unsafe impl cudarc::driver::DeviceRepr for Window {}

impl Window {
    pub fn positions(&self) -> usize {
        (self.down * self.across) as usize
    }

    pub fn patch(&self) -> usize {
        (self.planes * self.kernel * self.kernel * self.depth) as usize
    }
}

/// Weight and bias of a layer in the flat array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tensors {
    pub weight: Range<usize>,
    pub bias: Range<usize>,
    pub inputs: usize,
    pub outputs: usize,
}

impl NetShape {
    /// The network of the paper's Atari experiments for four stacked frames of 84 x 84.
    ///
    /// ```
    /// let shape = epgt_cuda::NetShape::paper(6);
    /// assert_eq!(shape.parameters(), 866_439);
    /// ```
    pub fn paper(actions: usize) -> Self {
        let conv = |outputs, kernel, stride| ConvShape {
            outputs,
            kernel,
            stride,
        };
        Self {
            image: [4, 84, 84],
            convs: vec![conv(32, 8, 4), conv(64, 4, 2), conv(32, 3, 1)],
            dense: 512,
            heads: vec![actions, 1],
            rest: 0,
        }
    }

    /// Refuses what the kernels cannot work on, in one sentence.
    ///
    /// ```
    /// let mut shape = epgt_cuda::NetShape::paper(6);
    /// shape.convs[0].outputs = 30;
    /// assert!(shape.check().unwrap_err().to_string().contains("multiple of four"));
    /// ```
    pub fn check(&self) -> Result<(), GpuError> {
        if self.convs.is_empty() || self.heads.is_empty() || self.dense == 0 || self.image.contains(&0) {
            return Err(GpuError::Incomplete);
        }
        let (mut height, mut width) = (self.image[1], self.image[2]);
        for (convolution, conv) in self.convs.iter().enumerate() {
            if conv.outputs == 0 || conv.outputs % 4 != 0 {
                let outputs = conv.outputs;
                return Err(GpuError::Channels { convolution, outputs });
            }
            if conv.stride == 0 || conv.kernel == 0 || conv.kernel > height.min(width) {
                return Err(GpuError::Window {
                    convolution,
                    kernel: conv.kernel,
                    stride: conv.stride,
                    height,
                    width,
                });
            }
            height = (height - conv.kernel) / conv.stride + 1;
            width = (width - conv.kernel) / conv.stride + 1;
        }
        Ok(())
    }

    /// Bytes of an image.
    pub fn image_size(&self) -> usize {
        self.image.iter().product()
    }

    /// Numbers in all tensors together.
    pub fn parameters(&self) -> usize {
        let last = self.tensors().pop();
        last.map_or(0, |tensors| tensors.bias.end) + self.rest
    }

    /// The window of every convolution.
    pub(crate) fn windows(&self) -> Vec<Window> {
        let [planes, height, width] = self.image.map(|size| size as i32);
        let (mut planes, mut height, mut width, mut depth) = (planes, height, width, 1);
        let mut windows = Vec::new();
        for conv in &self.convs {
            let (kernel, stride) = (conv.kernel as i32, conv.stride as i32);
            let (down, across) = ((height - kernel) / stride + 1, (width - kernel) / stride + 1);
            windows.push(Window {
                planes,
                height,
                width,
                depth,
                kernel,
                stride,
                down,
                across,
            });
            (planes, height, width, depth) = (1, down, across, conv.outputs as i32);
        }
        windows
    }

    /// Convolutions, dense layer and heads, in the order in which they lie in the flat array.
    pub(crate) fn tensors(&self) -> Vec<Tensors> {
        let windows = self.windows();
        let mut sizes: Vec<(usize, usize)> = windows
            .iter()
            .zip(&self.convs)
            .map(|(window, conv)| (window.patch(), conv.outputs))
            .collect();
        let features = windows.last().map_or(0, Window::positions) * self.convs.last().map_or(0, |conv| conv.outputs);
        sizes.push((features, self.dense));
        sizes.extend(self.heads.iter().map(|&outputs| (self.dense, outputs)));
        let mut start = 0;
        let place = |(inputs, outputs): (usize, usize)| {
            let weight = start..start + inputs * outputs;
            let bias = weight.end..weight.end + outputs;
            start = bias.end;
            Tensors {
                weight,
                bias,
                inputs,
                outputs,
            }
        };
        sizes.into_iter().map(place).collect()
    }
}

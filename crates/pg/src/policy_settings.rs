//! What a user may say about the networks, and which of it fits which task.

use epgt_envs::{RowShape, TaskSpec};
use epgt_nn::{Activation, Cnn, ConvShape};

use crate::PgError;

/// The deviation that an action of one number starts with, in its unit: nothing else explores, so the noise reaches
/// beyond the bounds.
const ALONE: f32 = 1.5;

epgt_settings::choice! {
    /// The non-linearity between layers.
    pub enum HiddenActivation {
        /// Hyperbolic tangent, the usual choice for vector observations.
        Tanh = "tanh",
        /// Rectifier.
        Relu = "relu",
        /// Exponential linear unit: the rectifier with exp(x) - 1 where x is negative.
        Elu = "elu",
        /// Leaky rectifier: a hundredth of x where x is negative.
        LeakyRelu = "leaky-relu",
    }
}

epgt_settings::choice! {
    /// The unit in which continuous actions are drawn.
    pub enum ActionUnit {
        /// The task's own.
        Task = "task",
        /// Half of the task's range, so that its bounds are -1 and 1; a number without finite bounds has the task's
        /// unit.
        Range = "range",
    }
}

impl HiddenActivation {
    /// The layers' word for it.
    pub(crate) fn of_layers(self) -> Activation {
        match self {
            Self::Tanh => Activation::Tanh,
            Self::Relu => Activation::Relu,
            Self::Elu => Activation::Elu,
            Self::LeakyRelu => Activation::LeakyRelu,
        }
    }
}

epgt_settings::settings! {
    /// Shape of the policy and value networks.
    pub struct PolicySettings {
        /// Widths of the hidden layers of the policy and of the value network. Use [64, 64] for MuJoCo tasks.
        pub hidden: Vec<usize> = vec![32, 32];
        /// Widths of the value network's hidden layers; auto is the same as hidden.
        pub value_hidden: Option<Vec<usize>> = None;
        /// Whether policy and value share the hidden layers and differ only in their last. It saves time where
        /// observations are large; the weight of the value loss then decides whom the shared layers serve.
        pub shared: bool = false;
        /// The non-linearity between layers.
        pub activation: HiddenActivation = HiddenActivation::Tanh;
        /// Whether weights start orthogonal (gain 1.41, last layer of the policy 0.01 and of the value 1); otherwise
        /// they are uniform within 1 / sqrt(inputs). Biases start at 0 either way.
        pub ortho_init: bool = true;
        /// The unit in which continuous actions are drawn: the task's own, or half of its range, in which the bounds are
        /// -1 and 1.
        pub action_unit: ActionUnit = ActionUnit::Task;
        /// Initial log standard deviation of continuous actions, in their unit. 0 explores with a deviation of 1, which
        /// in the task's own unit (with squash: before it) is far too much where the actions are confined to something
        /// like [-0.4, 0.4]: lower it there, or use units of the range. With auto the noise of all numbers of an action
        /// together has a length of 1: its deviation is 1 over the root of their count. A single number has 1.5.
        pub log_std_init: Option<f32> = Some(0.0);
        /// Whether continuous actions are bent into the task's bounds by a tanh, instead of being clipped to them.
        /// Entropies are those before it.
        pub squash: bool = false;
        /// Channels of each convolution, where observations are images. Their network is always shared, with
        /// rectifiers; hidden, value_hidden, shared and activation are for tasks whose observations are numbers.
        pub conv_channels: Vec<usize> = vec![32, 64, 32];
        /// Side in pixels of each convolution's window.
        pub conv_kernels: Vec<usize> = vec![8, 4, 3];
        /// Pixels from one position of each convolution's window to the next.
        pub conv_strides: Vec<usize> = vec![4, 2, 1];
        /// Widths of the dense layers behind the convolutions.
        pub image_hidden: Vec<usize> = vec![512];
    }
}

/// The most layers of a network; nothing learns through more, and each takes memory of its own.
const MOST_LAYERS: usize = 100;

impl PolicySettings {
    /// Refuses what no network can be built from, in one sentence.
    ///
    /// ```
    /// use epgt_pg::PolicySettings;
    /// let settings = PolicySettings { hidden: vec![32, 0], ..Default::default() };
    /// assert!(settings.validate().unwrap_err().to_string().contains("hidden"));
    /// ```
    pub fn validate(&self) -> Result<(), PgError> {
        for (name, widths) in [("hidden", &self.hidden), ("value_hidden", self.value_widths())] {
            if widths.contains(&0) {
                return Err(PgError::value(name, 0, "every hidden layer needs at least one unit"));
            }
        }
        let convolutions = [
            ("conv_channels", &self.conv_channels),
            ("conv_kernels", &self.conv_kernels),
            ("conv_strides", &self.conv_strides),
        ];
        for (name, sizes) in convolutions.into_iter().chain([("image_hidden", &self.image_hidden)]) {
            if sizes.is_empty() || sizes.contains(&0) {
                return Err(PgError::unusable(
                    name,
                    ": numbers of at least 1 are wanted, such as [8, 4, 3]",
                ));
            }
        }
        let layers = [
            ("hidden", &self.hidden),
            ("value_hidden", self.value_widths()),
            ("conv_channels", &self.conv_channels),
            ("image_hidden", &self.image_hidden),
        ];
        for (name, sizes) in layers {
            if sizes.len() > MOST_LAYERS {
                return Err(PgError::TooManyLayers {
                    name,
                    layers: sizes.len(),
                    most: MOST_LAYERS,
                });
            }
        }
        if convolutions
            .iter()
            .any(|(_, sizes)| sizes.len() != self.conv_channels.len())
        {
            return Err(PgError::UnevenConvolutions);
        }
        if self.shared && self.hidden.is_empty() {
            let why = " without hidden layers: give policy.hidden some";
            return Err(PgError::unusable("shared = true", why));
        }
        if self.shared && self.value_hidden.is_some() {
            let why = " with value_hidden: leave one of them out";
            return Err(PgError::unusable("shared = true", why));
        }
        if let Some(log_std) = self.log_std_init.filter(|log_std| !log_std.is_finite()) {
            return Err(PgError::value("log_std_init", log_std, "a finite number is wanted"));
        }
        Ok(())
    }

    /// The log standard deviation that each of `count` numbers of an action starts with.
    ///
    /// ```
    /// use epgt_pg::PolicySettings;
    /// let auto = PolicySettings { log_std_init: None, ..Default::default() };
    /// assert_eq!((auto.initial_log_std(1), auto.initial_log_std(4)), (1.5f32.ln(), 0.5f32.ln()));
    /// ```
    pub fn initial_log_std(&self, count: usize) -> f32 {
        self.log_std_init.unwrap_or_else(|| match count {
            0 | 1 => ALONE.ln(),
            _ => (1.0 / (count as f32).sqrt()).ln(),
        })
    }

    /// Refuses what does not fit the task, in one sentence: only numbers between finite bounds can be squashed, and the
    /// windows of convolutions must fit into what they look at.
    ///
    /// ```
    /// use epgt_pg::PolicySettings;
    /// let settings = PolicySettings { squash: true, ..Default::default() };
    /// assert_eq!(settings.validate_for(&epgt_envs::find("Pendulum-v1").unwrap()), Ok(()));
    /// assert_eq!(
    ///     settings.validate_for(&epgt_envs::find("CartPole-v1").unwrap()).unwrap_err().to_string(),
    ///     "squash = true cannot be used: it needs continuous actions with finite bounds, which CartPole-v1 does not have; leave it out"
    /// );
    /// ```
    pub fn validate_for(&self, task: &TaskSpec) -> Result<(), PgError> {
        // The bounds of a discrete action's choice are both its index.
        let bounded = |low: f32, high: f32| low.is_finite() && high.is_finite() && low < high;
        if self.squash && !task.action.iter().all(|entry| bounded(entry.low, entry.high)) {
            let wants = format!(
                "it needs continuous actions with finite bounds, which {} does not have; leave it out",
                task.id
            );
            return Err(PgError::value("squash", true, wants));
        }
        if let RowShape::Image([_, height, width]) = task.observed()
            && Cnn::positions((height, width), &self.convs()).is_none()
        {
            let kernels = format!("{:?}", self.conv_kernels);
            let wants = format!(
                "{} shows {height} by {width} pixels, into which not all windows fit; use smaller windows or strides",
                task.id
            );
            return Err(PgError::value("conv_kernels", kernels, wants));
        }
        Ok(())
    }

    /// The convolutions of a network on images.
    pub fn convs(&self) -> Vec<ConvShape> {
        let sizes = self
            .conv_channels
            .iter()
            .zip(&self.conv_kernels)
            .zip(&self.conv_strides);
        sizes
            .map(|((&outputs, &kernel), &stride)| ConvShape {
                outputs,
                kernel,
                stride,
            })
            .collect()
    }

    /// Widths of the value network's hidden layers.
    pub fn value_widths(&self) -> &Vec<usize> {
        self.value_hidden.as_ref().unwrap_or(&self.hidden)
    }

    /// How large the networks will be, for observations of a shape and so many outputs of the policy.
    ///
    /// ```
    /// use epgt_pg::PolicySettings;
    /// let settings = PolicySettings { hidden: vec![8], ..Default::default() };
    /// let size = settings.size(4, 2);
    /// assert_eq!((size.weights, size.rows), (40.0 + 18.0 + 40.0 + 9.0, 9.0 + 3.0 + 9.0 + 2.0));
    /// let size = PolicySettings { shared: true, ..settings }.size(4, 2);
    /// assert_eq!((size.weights, size.rows), (40.0 + 18.0 + 9.0, 9.0 + 3.0 + 2.0));
    /// ```
    pub fn size(&self, observation: impl Into<RowShape>, outputs: usize) -> NetworkSize {
        let observation = observation.into();
        let mut size = NetworkSize::default();
        if let RowShape::Image([channels, height, width]) = observation {
            let (mut inputs, convs) = (channels, self.convs());
            let mut pixels = (height, width);
            for conv in &convs {
                let patch = inputs as f64 * (conv.kernel as f64).powi(2);
                pixels = Cnn::positions(pixels, std::slice::from_ref(conv)).unwrap_or((1, 1));
                size.add_layer(patch, conv.outputs, (pixels.0 * pixels.1) as f64);
                inputs = conv.outputs;
            }
            let features = (pixels.0 * pixels.1) as f64 * inputs as f64;
            let features = size.add_layers(&self.image_hidden, features);
            size.add_layers(&[outputs], features);
            size.add_layers(&[1], features);
            return size;
        }
        let observation = observation.size() as f64;
        let features = size.add_layers(&self.hidden, observation);
        size.add_layers(&[outputs], features);
        let features = match self.shared {
            true => features,
            false => size.add_layers(self.value_widths(), observation),
        };
        size.add_layers(&[1], features);
        size
    }
}

/// How large networks will be, in floating point, because it is asked of settings that may be absurd.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NetworkSize {
    /// Weights and biases.
    pub weights: f64,
    /// Rows of all tensors; a bias is one.
    pub rows: f64,
    /// Numbers that the layers put out for one observation.
    pub activations: f64,
    /// Numbers of K-FAC's factors: for each layer a square matrix of its inputs and one of its outputs.
    pub factors: f64,
}

impl NetworkSize {
    fn add_layer(&mut self, inputs: f64, outputs: usize, positions: f64) {
        let outputs = outputs as f64;
        self.weights += outputs * (inputs + 1.0);
        self.rows += outputs + 1.0;
        self.activations += outputs * positions;
        self.factors += (inputs + 1.0).powi(2) + outputs.powi(2);
    }

    /// Adds layers of these widths; returns how many numbers the last puts out.
    fn add_layers(&mut self, widths: &[usize], mut inputs: f64) -> f64 {
        for &width in widths {
            self.add_layer(inputs, width, 1.0);
            inputs = width as f64;
        }
        inputs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use epgt_envs::{Entry, find};

    #[test]
    fn impossible_networks_are_refused_by_name() {
        let refused = |settings: PolicySettings| settings.validate().unwrap_err().to_string();
        let usual = PolicySettings::default;
        let value_hidden = Some(vec![16, 0]);
        assert!(
            refused(PolicySettings {
                value_hidden,
                ..usual()
            })
            .starts_with("value_hidden = 0")
        );
        let hidden = vec![];
        assert!(
            refused(PolicySettings {
                hidden,
                shared: true,
                ..usual()
            })
            .contains("without hidden layers")
        );
        let value_hidden = Some(vec![16]);
        assert!(
            refused(PolicySettings {
                value_hidden,
                shared: true,
                ..usual()
            })
            .contains("with value_hidden")
        );
        assert_eq!(
            PolicySettings {
                shared: true,
                ..usual()
            }
            .validate(),
            Ok(())
        );
    }

    #[test]
    fn convolutions_need_a_channel_a_window_and_a_stride_each() {
        let usual = PolicySettings::default;
        let conv_strides = vec![4, 2];
        let refused = PolicySettings {
            conv_strides,
            ..usual()
        };
        assert!(
            refused
                .validate()
                .unwrap_err()
                .to_string()
                .contains("one number for each convolution")
        );
        let image_hidden = vec![];
        let refused = PolicySettings {
            image_hidden,
            ..usual()
        };
        assert!(
            refused
                .validate()
                .unwrap_err()
                .to_string()
                .starts_with("image_hidden cannot be used")
        );
    }

    #[test]
    fn only_bounded_numbers_can_be_squashed() {
        let settings = PolicySettings {
            squash: true,
            ..Default::default()
        };
        let pendulum = find("Pendulum-v1").unwrap();
        assert_eq!(settings.validate_for(&pendulum), Ok(()));
        let mut task = pendulum.clone();
        task.action = [Entry::between("torque", -2.0, f32::INFINITY)].into();
        assert!(
            settings
                .validate_for(&task)
                .unwrap_err()
                .to_string()
                .contains("finite bounds")
        );
        for discrete in ["CartPole-v1", "Acrobot-v1", "MountainCar-v0"] {
            let error = settings.validate_for(&find(discrete).unwrap()).unwrap_err().to_string();
            assert!(error.contains(discrete), "{error}");
        }
        assert_eq!(
            PolicySettings::default().validate_for(&find("CartPole-v1").unwrap()),
            Ok(())
        );
    }
}

"""What the package raises: one class for everything, and one below it for each kind of trouble."""


class EpgtError(Exception):
    """Everything that the package raises itself."""


class ConfigError(EpgtError, ValueError):
    """A setting, a task or a scheduled hyperparameter that cannot be used."""


class InputError(EpgtError, ValueError):
    """An argument that cannot be used: an array of another shape or type, or numbers that are not finite."""


class RunError(EpgtError):
    """A run's directory that cannot be made, read or gone on with."""


class TrainingError(RunError):
    """A training that failed; its last checkpoint stays."""


class PolicyError(EpgtError):
    """A file that is not a policy, or a policy that cannot be used here."""


class EnvError(EpgtError):
    """An environment that cannot be made, or did not do as it should."""


class MissingPackage(EpgtError, ImportError):
    """A package that is needed for what was asked, and is not installed."""


class InternalError(EpgtError):
    """A fault of the package itself."""


# They are told by the name under which users catch them.
for _error in (EpgtError, *EpgtError.__subclasses__(), *RunError.__subclasses__()):
    _error.__module__ = "epgt"

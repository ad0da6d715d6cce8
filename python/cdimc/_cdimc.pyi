"""Compiled engine; see crates/cdimc-python."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._estimator import Call
from ._views import View

DEFAULT_METHOD: str
__version__: str

class Method:
    def __new__(cls, name: str, settings: str) -> Method: ...
    settings: str
    described: str
    def fit(
        self,
        views: list[View],
        number_and_seed: tuple[int | tuple[int, int], int],
        tests_markers: bool,
        call: Call,
    ) -> Fit: ...

class Imputation:
    samples: list[str]
    unobserved: list[str]
    filled: list[tuple[str, str, int]]
    data_warnings: list[str]
    views: list[NDArray[np.float64]]

class Prediction:
    samples: list[str]
    unobserved: list[str]
    filled: list[tuple[str, str, int]]
    data_warnings: list[str]
    columns: dict[str, NDArray[Any]]
    probabilities: NDArray[np.float64] | None
    embedding: NDArray[np.float64] | None

class Fit(Prediction):
    features: list[list[str]]
    curves: list[tuple[str, list[float]]]
    markers: tuple[list[str], list[list[str]]]
    n_clusters: int
    n_steps: int
    cluster_number: str
    cluster_warnings: list[str]
    model: Model | None

class Model:
    @staticmethod
    def from_bytes(bytes: bytes) -> Model: ...
    @staticmethod
    def load(path: str) -> Model: ...
    def to_bytes(self) -> bytes: ...
    method: str
    settings: str
    facts: str
    n_clusters: int
    view_names: list[str]
    feature_names: list[list[str]]
    def predict(self, views: list[View], call: Call) -> Prediction: ...
    def impute(self, views: list[View], call: Call) -> Imputation: ...
    def explain(
        self, views: list[View], ids_and_seed: tuple[list[str], int], call: Call
    ) -> tuple[list[str], list[list[str]]]: ...
    def stability(
        self, views: list[View], subsamples_and_seed: tuple[int, int], call: Call
    ) -> tuple[list[str], list[str], str]: ...
    def pass_over(self, views: list[View], call: Call) -> Pass: ...
    def after(self, pass_: Pass, /) -> Model: ...
    def completed(self, views: list[View], seed: int, call: Call) -> Model: ...

class Pass:
    @staticmethod
    def from_bytes(bytes: bytes) -> Pass: ...
    @staticmethod
    def sum(passes: list[Pass]) -> Pass: ...
    n_samples: int
    mean_log_likelihood: float
    def settles(self, before: Pass) -> bool: ...

def samples_to_search(settings: str, n_samples: int, seed: int) -> list[int]: ...
def method_names() -> list[str]: ...
def command(program: list[str], arguments: list[str]) -> int: ...
def text_among_numbers(names: list[str], columns: list[list[str]]) -> str | None: ...
def compare(
    columns: list[tuple[str, list[str]]], survival: tuple[str, str] | None, samples: list[str], labels: list[int]
) -> tuple[list[str], tuple[list[str], list[list[str]]], tuple[list[str], list[list[str]]] | None, str]: ...
def mask(pattern: str, shape: tuple[int, int], seed: int) -> NDArray[np.bool_]: ...
def scores(truth: list[int], found: list[int]) -> dict[str, float]: ...
def match_labels(truth: list[int], found: list[int]) -> dict[int, int | None]: ...
def dataset_names() -> list[str]: ...
def dataset(
    name: str, folder: str | None
) -> tuple[list[str], list[NDArray[np.float64]], NDArray[np.int64] | None]: ...
def synthetic(
    description: str, seed: int
) -> tuple[list[NDArray[np.float64]], NDArray[np.int64] | None]: ...

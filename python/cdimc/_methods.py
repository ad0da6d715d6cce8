"""One estimator per method; written by generate_methods.py from the schema of its settings."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

from ._estimator import MultiViewClusterer

__all__ = [
    "BestView",
    "CDIMCNet",
    "Concat",
    "DAIMC",
    "IMCGRMF",
    "IMG",
    "MIC",
    "MKKMIK",
    "MKKMIKMKC",
    "OMVC",
    "OPIMC",
    "PMVC",
    "PMVCCGAN",
    "TMixture",
]


@dataclass(eq=False, repr=False)
class TMixture(MultiViewClusterer):
    """One mixture over all views: every cluster is a multivariate t distribution in every view, a sample
    has one cluster, and missing views drop out of the likelihood.

    Its name in the command is ``t-mixture``.

    Parameters
    ----------
    n_clusters : int or "auto"
        Number of clusters; "auto" selects one from ``n_clusters_range``.
    coordinates : {"auto", "unit", "standard", "centered", "ranks"}, default="auto"
        Coordinates of the views, one kind for all. ``auto``: The kind with the most shared information.
        ``unit``: Rows scaled to unit length, for counts, histograms, pixels and spectra; rows of zeros
        count as missing. ``standard``: Standardized columns, for columns in different units. ``centered``:
        Centered columns, for columns in one unit. ``ranks``: Normal scores of the columns, for skewed
        columns and columns with extreme values.
    dimensions : int, default=20
        Maximum number of coordinates per view, q. Small data get fewer; a view with q + 1 columns keeps
        all.
    degrees_of_freedom : float, default=5.0
        Degrees of freedom ν of the t distributions.
    pooling : float | None, default=None
        Strength κ of the pooled scatter, which counts as κ q rows in every cluster. If absent, it is chosen
        by held-out likelihood; a large κ gives all clusters nearly one shape.
    diagonal : float | None, default=None
        Share of the diagonal in the pooled scatter, in [0, 1]; 1 removes correlations. If absent, it is
        chosen by held-out likelihood.
    starts : int, default=16
        Number of random starts; the likeliest half is refined by merge-and-split and repair.
    search_samples : int, default=20000
        Maximum number of samples for the search, drawn at random; the final EM uses all samples.
    coverage : float, default=0.9
        Promised share of samples whose set of clusters contains the cluster that the model would give with
        all views.
    n_clusters_range : tuple[int, int], default=(2, 12)
        First and last number of clusters that "auto" tries.
    strict : bool, default=False
        Whether single missing cells are an error instead of being filled in.
    random_state : Any, default=None
        Seed; an int gives the same bits as ``--seed`` of the command, None draws one.
    n_jobs : int | None, default=None
        Number of threads, -1 for all cores; the result does not depend on it.

    See Also
    --------
    MultiViewClusterer : its methods and attributes.
    """

    _method = "t-mixture"
    n_clusters: int | Literal["auto"] = 8
    _: KW_ONLY
    coordinates: Literal["auto", "unit", "standard", "centered", "ranks"] = "auto"
    dimensions: int = 20
    degrees_of_freedom: float = 5.0
    pooling: float | None = None
    diagonal: float | None = None
    starts: int = 16
    search_samples: int = 20000
    coverage: float = 0.9
    n_clusters_range: tuple[int, int] = (2, 12)
    strict: bool = False
    random_state: Any = None
    n_jobs: int | None = None


@dataclass(eq=False, repr=False)
class CDIMCNet(MultiViewClusterer):
    """Cognitive deep incomplete multi-view clustering: one autoencoder per view, one latent per sample
    that is fused from its views, and clusters that are learned from easy samples to hard ones.

    Its name in the command is ``cdimc-net``.

    Parameters
    ----------
    n_clusters : int or "auto"
        Number of clusters; "auto" selects one from ``n_clusters_range``.
    input : {"coordinates", "columns"}, default="coordinates"
        Input of the network for every view. ``coordinates``: Leading directions of the coordinates with the
        most shared information, as chosen by ``t-mixture``. ``columns``: Standardized columns (paper and
        authors' code).
    directions : int, default=40
        Maximum number of coordinates per view, if ``input`` is ``coordinates``.
    neighbors : int, default=10
        Nearest neighbors of a sample in the graph of a view (eq. 6), below the number of samples.
    alpha : float | tuple[float, ...], default=(0.01, 0.1)
        Weight of the graph term in both losses (eq. 7 and 10). 0: no graph (Figure 3). Of several weights,
        one is chosen on the data.
    batch_size : int, default=128
        Number of samples per batch.
    device : {"cpu", "cuda"}, default="cpu"
        Device that computes the training steps. ``cpu``: The processor. ``cuda``: The first NVIDIA GPU;
        needs the feature ``cuda``.
    restarts : int, default=4
        Number of rounds of whole runs, each from new initial weights. After every round the better half of
        the values of ``alpha`` remains, by shared information. The defaults make five runs: two, then one
        per round. The authors' code has 1.
    choice : {"shared-information", "inertia"}, default="shared-information"
        How the first centers and the last round of fine-tuning are chosen. ``shared-information``: The
        information that views and neighbors share about the clusters, √(TM): the start of k-means and the
        round of fine-tuning with the largest are the result. ``inertia``: The k-means of least inertia, and
        the last round (authors' code).
    pretrain_epochs : int, default=400
        Number of epochs. With 0 fine-tuning starts from the initial weights (Figure 3).
    pretrain_learning_rate : float, default=0.02
        Learning rate of the first epoch. The authors' code has 0.01.
    finetune_rounds : int, default=20
        Maximum number of rounds, T. With 0 the first clusters on the pre-trained latents are the result.
    finetune_epochs_per_round : int, default=7
        Epochs of network training per round, Maxiter.
    finetune_learning_rate : float, default=0.0001
        Learning rate of Adam, which updates the encoders (paper, section 4.1).
    finetune_self_paced : bool, default=True
        Whether samples enter from easy to hard; if not, all are selected in every round (paper, Figure 3).
    finetune_age_scope : {"cluster", "all"}, default="cluster"
        Samples whose losses determine an age. ``cluster``: The samples of each cluster, which keeps its
        easiest samples even if it is wide. ``all``: All samples (paper and authors' code): a compact
        cluster is selected first and then attracts samples of others.
    advanced_order : {"shuffled", "file"}, default="shuffled"
        Order in which the samples are read before k-means arranges them. ``shuffled``: Shuffled by the seed
        before anything else. ``file``: As the caller gave them; only to compare with programs that do so.
    advanced_square_decoder_layer : bool, default=False
        Whether each decoder starts with a k-to-k layer, as in the authors' code; the paper prints none.
    advanced_decay : {"linear", "none"}, default="linear"
        Schedule of the learning rate of pre-training. ``linear``: Decreases linearly, to 0 after the last
        epoch. ``none``: Constant (authors' code).
    advanced_momentum : float, default=0.95
        Fraction of the last step of pre-training that is kept, in [0, 1).
    advanced_view_dropout : float, default=0.5
        Probability with which a view of a sample is left out of the mean of eq. 4 in an epoch of
        pre-training, in [0, 1). One view always stays. The paper and the authors' code leave none out.
    advanced_age_rule : {"code", "paper"}, default="code"
        How the age selects samples. ``code``: As in the authors' code: t = 0, ..., T - 1, the age before
        the selection, and losses below the age. ``paper``: As in the paper: t = 1, ..., T, selection by the
        age of the previous round, and losses up to the age. The first age is infinite, so that all samples
        are selected.
    advanced_normalization : {"selected", "batch"}, default="selected"
        Divisor of the clustering term of a batch. ``selected``: Number of selected samples of the batch
        (authors' code). ``batch``: Number of samples of the batch (paper, eq. 11).
    advanced_minimum_rounds : int, default=81
        Rounds of fine-tuning after which a round that moves no sample ends it. In the paper this is 1.
    advanced_engine : {"fused", "candle"} | None, default=None
        Engine that computes the training steps; by default the engine of the device.
    advanced_hidden_ratio : float | None, default=None
        Width of the hidden layers, relative to the inputs of a view; by default 0.8 for columns (paper) and
        2 for coordinates.
    advanced_wide : int | None, default=None
        Width of the layer next to the latent one; by default 1500 for columns (paper) and 200 for
        coordinates.
    n_clusters_range : tuple[int, int], default=(2, 12)
        First and last number of clusters that "auto" tries.
    strict : bool, default=False
        Whether single missing cells are an error instead of being filled in.
    random_state : Any, default=None
        Seed; an int gives the same bits as ``--seed`` of the command, None draws one.
    n_jobs : int | None, default=None
        Number of threads, -1 for all cores; the result does not depend on it.

    See Also
    --------
    MultiViewClusterer : its methods and attributes.
    """

    _method = "cdimc-net"
    n_clusters: int | Literal["auto"] = 8
    _: KW_ONLY
    input: Literal["coordinates", "columns"] = "coordinates"
    directions: int = 40
    neighbors: int = 10
    alpha: float | tuple[float, ...] = (0.01, 0.1)
    batch_size: int = 128
    device: Literal["cpu", "cuda"] = "cpu"
    restarts: int = 4
    choice: Literal["shared-information", "inertia"] = "shared-information"
    pretrain_epochs: int = 400
    pretrain_learning_rate: float = 0.02
    finetune_rounds: int = 20
    finetune_epochs_per_round: int = 7
    finetune_learning_rate: float = 0.0001
    finetune_self_paced: bool = True
    finetune_age_scope: Literal["cluster", "all"] = "cluster"
    advanced_order: Literal["shuffled", "file"] = "shuffled"
    advanced_square_decoder_layer: bool = False
    advanced_decay: Literal["linear", "none"] = "linear"
    advanced_momentum: float = 0.95
    advanced_view_dropout: float = 0.5
    advanced_age_rule: Literal["code", "paper"] = "code"
    advanced_normalization: Literal["selected", "batch"] = "selected"
    advanced_minimum_rounds: int = 81
    advanced_engine: Literal["fused", "candle"] | None = None
    advanced_hidden_ratio: float | None = None
    advanced_wide: int | None = None
    n_clusters_range: tuple[int, int] = (2, 12)
    strict: bool = False
    random_state: Any = None
    n_jobs: int | None = None


@dataclass(eq=False, repr=False)
class BestView(MultiViewClusterer):
    """Clusters the view whose clusters agree best with the other views.

    Each view is clustered as in ``BestView::each_view``. The agreement of two views is the normalized
    mutual information (arithmetic mean) of their clusters over the samples that both observe. The view
    with the largest mean agreement is chosen. Ties, as between two views, are broken by the agreement
    of a view's clusters with a second k-means from other starts, then by order. A view with all samples
    in one cluster is chosen only if all views are such. Labels are not used. Any number of views, any
    mask.

    On five folds of Handwritten this chose the most accurate view each time; the silhouette prefers an
    inaccurate view there.

    Its name in the command is ``best-view``.

    Parameters
    ----------
    n_clusters : int or "auto"
        Number of clusters; "auto" selects one from ``n_clusters_range``.
    restarts : int, default=20
        Number of k-means starts; the best is kept. The authors' code uses 1.
    n_clusters_range : tuple[int, int], default=(2, 12)
        First and last number of clusters that "auto" tries.
    strict : bool, default=False
        Whether single missing cells are an error instead of being filled in.
    random_state : Any, default=None
        Seed; an int gives the same bits as ``--seed`` of the command, None draws one.
    n_jobs : int | None, default=None
        Number of threads, -1 for all cores; the result does not depend on it.

    See Also
    --------
    MultiViewClusterer : its methods and attributes.
    """

    _method = "best-view"
    n_clusters: int | Literal["auto"] = 8
    _: KW_ONLY
    restarts: int = 20
    n_clusters_range: tuple[int, int] = (2, 12)
    strict: bool = False
    random_state: Any = None
    n_jobs: int | None = None


@dataclass(eq=False, repr=False)
class Concat(MultiViewClusterer):
    """k-means on the concatenation of the views.

    Observed rows are scaled to unit length, the mean of these rows fills the gaps, and the views are
    concatenated without weights. Any number of views, any mask.

    Its name in the command is ``concat``.

    Parameters
    ----------
    n_clusters : int or "auto"
        Number of clusters; "auto" selects one from ``n_clusters_range``.
    restarts : int, default=20
        Number of k-means starts; the best is kept. The authors' code uses 1.
    n_clusters_range : tuple[int, int], default=(2, 12)
        First and last number of clusters that "auto" tries.
    strict : bool, default=False
        Whether single missing cells are an error instead of being filled in.
    random_state : Any, default=None
        Seed; an int gives the same bits as ``--seed`` of the command, None draws one.
    n_jobs : int | None, default=None
        Number of threads, -1 for all cores; the result does not depend on it.

    See Also
    --------
    MultiViewClusterer : its methods and attributes.
    """

    _method = "concat"
    n_clusters: int | Literal["auto"] = 8
    _: KW_ONLY
    restarts: int = 20
    n_clusters_range: tuple[int, int] = (2, 12)
    strict: bool = False
    random_state: Any = None
    n_jobs: int | None = None


@dataclass(eq=False, repr=False)
class PMVC(MultiViewClusterer):
    """Partial multi-view clustering: two views, every sample in both or in one.

    min ``Σ_v`` ‖``X_v`` - ``P_v`` ``U_v``‖² + ``l_c`` ‖``P_c``‖₁ + ``Σ_v`` ``l_v`` ‖``P_v`` single‖₁,
    all factors at least 0, with shared rows ``P_c`` for the paired samples; ``l_v`` = λ ``d_v`` / k and
    ``l_c`` = ``l_1`` + ``l_2``. Rows are first scaled to unit length; negative features fit worse.

    Its name in the command is ``pmvc``.

    Parameters
    ----------
    n_clusters : int or "auto"
        Number of clusters; "auto" selects one from ``n_clusters_range``.
    lambda_ : float, default=0.01
        λ, the weight of the sparsity. Default of the authors' code; from 0.1 on, the representation of unit
        rows is all 0.
    paired_iterations : int, default=20
        Number of rounds on the paired samples only. Default of the authors' code.
    iterations : int, default=20
        Number of rounds on all samples. Default of the authors' code. The limit is part of the method: only
        P is penalized, so P shrinks and U grows without end.
    tolerance : float, default=1e-06
        Stops either phase when the relative change of the objective is smaller. Default of the authors'
        code.
    restarts : int, default=20
        Number of k-means starts; the best is kept. The authors use 1 and average 20 runs.
    n_clusters_range : tuple[int, int], default=(2, 12)
        First and last number of clusters that "auto" tries.
    strict : bool, default=False
        Whether single missing cells are an error instead of being filled in.
    random_state : Any, default=None
        Seed; an int gives the same bits as ``--seed`` of the command, None draws one.
    n_jobs : int | None, default=None
        Number of threads, -1 for all cores; the result does not depend on it.

    See Also
    --------
    MultiViewClusterer : its methods and attributes.
    """

    _method = "pmvc"
    n_clusters: int | Literal["auto"] = 8
    _: KW_ONLY
    lambda_: float = 0.01
    paired_iterations: int = 20
    iterations: int = 20
    tolerance: float = 1e-06
    restarts: int = 20
    n_clusters_range: tuple[int, int] = (2, 12)
    strict: bool = False
    random_state: Any = None
    n_jobs: int | None = None


@dataclass(eq=False, repr=False)
class IMG(MultiViewClusterer):
    """Incomplete multi-modal grouping: two views, every sample in both or in one.

    min ``Σ_v`` ‖``X_v`` - ``P_v`` ``U_v``‖² + λ ‖``U_v``‖² + β tr(Pᵀ Lap(A) P) + γ ‖A‖², A ≥ 0 with
    columns of sum 1, by an augmented Lagrangian with P = Q. Rows are first scaled to unit length.

    Holds n-by-n matrices: one in the iteration, six at the normalized cut, 48 n² bytes. An iteration
    needs n³/3 operations.

    Its name in the command is ``img``.

    Parameters
    ----------
    n_clusters : int or "auto"
        Number of clusters; "auto" selects one from ``n_clusters_range``.
    lambda_ : float, default=0.1
        λ, the weight of the bases. Default of the authors' driver.
    beta : float, default=0.3
        β, the weight of the graph. Default of the authors' driver.
    gamma : float, default=0.1
        γ; larger values make affinities more even. Default of the authors' driver.
    first_laplacian : {"zero", "random"}, default="zero"
        Graph of the first iteration. ``zero``: No graph: Q starts as P. Results differ from ``random`` no
        more than random starts differ. ``random``: A uniform random matrix, as in the authors' code; it is
        not a Laplacian.
    max_iterations : int, default=200
        Largest number of iterations. Default of the authors' code.
    tolerance : float, default=1e-08
        Stops when no entry of P - Q is larger. Default of the authors' code.
    read_out : {"normalized-cut", "representation"}, default="normalized-cut"
        Source of the labels. ``normalized-cut``: The normalized cut of the learned graph.
        ``representation``: k-means on the unit rows of P, which the authors' code also logs.
    restarts : int, default=100
        Number of k-means starts; the best is kept. Default of the authors' code.
    max_bytes : int, default=8589934592
        Largest memory of n-by-n matrices, in bytes; larger data are refused.
    n_clusters_range : tuple[int, int], default=(2, 12)
        First and last number of clusters that "auto" tries.
    strict : bool, default=False
        Whether single missing cells are an error instead of being filled in.
    random_state : Any, default=None
        Seed; an int gives the same bits as ``--seed`` of the command, None draws one.
    n_jobs : int | None, default=None
        Number of threads, -1 for all cores; the result does not depend on it.

    See Also
    --------
    MultiViewClusterer : its methods and attributes.
    """

    _method = "img"
    n_clusters: int | Literal["auto"] = 8
    _: KW_ONLY
    lambda_: float = 0.1
    beta: float = 0.3
    gamma: float = 0.1
    first_laplacian: Literal["zero", "random"] = "zero"
    max_iterations: int = 200
    tolerance: float = 1e-08
    read_out: Literal["normalized-cut", "representation"] = "normalized-cut"
    restarts: int = 100
    max_bytes: int = 8589934592
    n_clusters_range: tuple[int, int] = (2, 12)
    strict: bool = False
    random_state: Any = None
    n_jobs: int | None = None


@dataclass(eq=False, repr=False)
class IMCGRMF(MultiViewClusterer):
    """Graph regularized matrix factorization. Every sample must have all views or exactly one, and no view
    may have fewer features than clusters.

    min ``Σ_v`` ``Σ_ij`` ``W_v[i,j]`` ‖``x_i`` - Q ``p_j``‖² + ``λ_1`` ‖``P_v``[paired] - ``P_c``‖² +
    ``λ_2`` ‖``P_v``‖₁ over ``QᵀQ`` = I, with W the symmetric 0/1 graph of nearest neighbors in a view.
    Rows are first scaled to unit length.

    Memory is linear in the samples: the graph is sparse.

    Its name in the command is ``imc-grmf``.

    Parameters
    ----------
    n_clusters : int or "auto"
        Number of clusters; "auto" selects one from ``n_clusters_range``.
    lambda1 : float, default=100.0
        ``λ_1``, the weight of the agreement of views on paired samples. Default of the authors' demo.
    lambda2 : float, default=0.001
        ``λ_2``, the weight of the sparsity. Default of the authors' demo; with a tenth of the samples
        paired it uses 0.1.
    neighbors : int, default=10
        Number of nearest neighbors in the graph of a view, at most the number of other samples. Default of
        the authors' demo.
    max_iterations : int, default=100
        Largest number of iterations. Default of the authors' code.
    tolerance : float, default=1e-07
        Stops after at least three iterations when the absolute change of the objective is smaller. Default
        of the authors' code.
    restarts : int, default=20
        Number of k-means starts; the best is kept. Default of the authors' demo.
    n_clusters_range : tuple[int, int], default=(2, 12)
        First and last number of clusters that "auto" tries.
    strict : bool, default=False
        Whether single missing cells are an error instead of being filled in.
    random_state : Any, default=None
        Seed; an int gives the same bits as ``--seed`` of the command, None draws one.
    n_jobs : int | None, default=None
        Number of threads, -1 for all cores; the result does not depend on it.

    See Also
    --------
    MultiViewClusterer : its methods and attributes.
    """

    _method = "imc-grmf"
    n_clusters: int | Literal["auto"] = 8
    _: KW_ONLY
    lambda1: float = 100.0
    lambda2: float = 0.001
    neighbors: int = 10
    max_iterations: int = 100
    tolerance: float = 1e-07
    restarts: int = 20
    n_clusters_range: tuple[int, int] = (2, 12)
    strict: bool = False
    random_state: Any = None
    n_jobs: int | None = None


@dataclass(eq=False, repr=False)
class MIC(MultiViewClusterer):
    """Weighted nonnegative factorization of every view with a common consensus U*.

    Minimizes Σᵥ ‖Cᵥ (Xᵥ - Uᵥ Bᵥᵀ)‖² + α ‖Cᵥ (Uᵥ - U*)‖² + β ‖Uᵥ‖₂,₁ over nonnegative factors, then
    clusters the rows of U* by k-means. Gaps hold the mean of the observed rows, with a weight c below
    1; every view sums to 1. Any number of views, any mask; negative values are first made nonnegative.
    A sweep needs O(Σᵥ (mᵥ dᵥ + n k) k) operations for mᵥ observed rows in view v, since all gaps share
    one row. Memory is linear in n.

    Its name in the command is ``mic``.

    Parameters
    ----------
    n_clusters : int or "auto"
        Number of clusters; "auto" selects one from ``n_clusters_range``.
    alpha : float, default=0.01
        Weight α of the consensus, positive. Default of the authors' driver of OMVC.
    beta : float, default=1e-07
        Weight β of the row sparsity. Default of the authors' driver of OMVC. It depends on the scale of the
        data, which have sum 1 here.
    rounds : int, default=15
        Number of rounds: each computes a consensus, then sweeps every view. The only known driver uses 30.
    sweeps : int, default=50
        Number of sweeps per view and round. The only known driver uses 100.
    cycles : int, default=3
        Number of initial cycles over the views; each factorization starts from the coefficients of the
        previous view. Default of the authors' code.
    initial_sweeps : int, default=100
        Number of sweeps of an initial factorization.
    missing_weight : float | None, default=None
        Weight c of the gaps, in [0, 1]; by default the share of samples observed in the view.
    nonnegative : {"clip", "unit-shift", "min-max"}, default="unit-shift"
        Method that makes views nonnegative. ``clip``: Sets negative values to 0 (the OMVC authors' driver).
        ``unit-shift``: Scales rows to unit length, then subtracts the smallest value of the view if it is
        negative. ``min-max``: Scales every column to [0, 1] over the observed rows; constant columns become
        0.
    restarts : int, default=20
        Number of starts of the final k-means. Default of the authors' code.
    n_clusters_range : tuple[int, int], default=(2, 12)
        First and last number of clusters that "auto" tries.
    strict : bool, default=False
        Whether single missing cells are an error instead of being filled in.
    random_state : Any, default=None
        Seed; an int gives the same bits as ``--seed`` of the command, None draws one.
    n_jobs : int | None, default=None
        Number of threads, -1 for all cores; the result does not depend on it.

    See Also
    --------
    MultiViewClusterer : its methods and attributes.
    """

    _method = "mic"
    n_clusters: int | Literal["auto"] = 8
    _: KW_ONLY
    alpha: float = 0.01
    beta: float = 1e-07
    rounds: int = 15
    sweeps: int = 50
    cycles: int = 3
    initial_sweeps: int = 100
    missing_weight: float | None = None
    nonnegative: Literal["clip", "unit-shift", "min-max"] = "unit-shift"
    restarts: int = 20
    n_clusters_range: tuple[int, int] = (2, 12)
    strict: bool = False
    random_state: Any = None
    n_jobs: int | None = None


@dataclass(eq=False, repr=False)
class OMVC(MultiViewClusterer):
    """Nonnegative factorization of every view with a common consensus U*, chunk by chunk.

    Minimizes Σᵥ ‖Cᵥ (Xᵥ - Uᵥ Bᵥᵀ)‖² + α ‖Cᵥ (Uᵥ - U*)‖² + β ‖Uᵥ‖₁ over nonnegative factors for
    consecutive chunks of samples, then clusters the rows of U* by k-means. It keeps only Xᵀ C² U and Uᵀ
    C² U of earlier chunks. Gaps hold the mean of earlier observed rows; every view is divided by its
    sum. Any number of views, any mask; negative values are first made nonnegative, and a view that is
    then all 0 is ignored. An iteration on a chunk of s samples needs O(Σᵥ s dᵥ k + dᵥ k²) operations.

    Its name in the command is ``omvc``.

    Parameters
    ----------
    n_clusters : int or "auto"
        Number of clusters; "auto" selects one from ``n_clusters_range``.
    alpha : float, default=0.01
        Weight α of the consensus, positive. Default of the authors' driver.
    beta : float, default=1e-07
        Weight β of the sparsity, for views of sum 1. Default of the authors' driver.
    chunk_size : int, default=50
        Number of samples per chunk. Default of the authors' driver.
    passes : int, default=2
        Number of passes over the data. Default of the authors' driver.
    iterations : int, default=200
        Largest number of iterations per chunk. Default of the authors' driver.
    tolerance : float, default=0.0001
        Stops when the relative change of the loss is smaller. Default of the authors' driver.
    missing_weight : {"full", "presence"}, default="full"
        Weight c of the gaps. ``full``: The weight of observed rows, as in the authors' driver.
        ``presence``: The share of the samples so far that are observed in the view, as in the paper.
    nonnegative : {"clip", "unit-shift", "min-max"}, default="clip"
        Method that makes views nonnegative. Default of the authors' driver. ``clip``: Sets negative values
        to 0 (the OMVC authors' driver). ``unit-shift``: Scales rows to unit length, then subtracts the
        smallest value of the view if it is negative. ``min-max``: Scales every column to [0, 1] over the
        observed rows; constant columns become 0.
    order : {"shuffled", "file"}, default="shuffled"
        Order in which samples are read. Default of the authors' driver. ``shuffled``: Shuffled by the seed
        before anything else. ``file``: As the caller gave them; only to compare with programs that do so.
    restarts : int, default=20
        Number of starts of the final k-means. Default of the authors' driver.
    n_clusters_range : tuple[int, int], default=(2, 12)
        First and last number of clusters that "auto" tries.
    strict : bool, default=False
        Whether single missing cells are an error instead of being filled in.
    random_state : Any, default=None
        Seed; an int gives the same bits as ``--seed`` of the command, None draws one.
    n_jobs : int | None, default=None
        Number of threads, -1 for all cores; the result does not depend on it.

    See Also
    --------
    MultiViewClusterer : its methods and attributes.
    """

    _method = "omvc"
    n_clusters: int | Literal["auto"] = 8
    _: KW_ONLY
    alpha: float = 0.01
    beta: float = 1e-07
    chunk_size: int = 50
    passes: int = 2
    iterations: int = 200
    tolerance: float = 0.0001
    missing_weight: Literal["full", "presence"] = "full"
    nonnegative: Literal["clip", "unit-shift", "min-max"] = "clip"
    order: Literal["shuffled", "file"] = "shuffled"
    restarts: int = 20
    n_clusters_range: tuple[int, int] = (2, 12)
    strict: bool = False
    random_state: Any = None
    n_jobs: int | None = None


@dataclass(eq=False, repr=False)
class DAIMC(MultiViewClusterer):
    """Weighted semi-nonnegative factorization with a common coefficient matrix P and bases aligned by
    sparse regression.

    Minimizes Σᵥ ‖Wᵥ (Xᵥ - P Uᵥᵀ)‖² + α (‖Bᵥᵀ Uᵥ - I‖² + β ‖Bᵥ‖₂,₁) over P ≥ 0, Uᵥ and Bᵥ, then clusters
    the rows of P by k-means. Any number of views, any mask; values may be negative. An iteration needs
    O(Σᵥ mᵥ dᵥ k + sweeps n k²) operations for mᵥ observed rows in view v. Memory is linear in n, with
    two k-by-k matrices for each different set of views.

    The result depends strongly on the start: with the defaults, the accuracy of single runs on
    Handwritten is between 72 and 88 %.

    Its name in the command is ``daimc``.

    Parameters
    ----------
    n_clusters : int or "auto"
        Number of clusters; "auto" selects one from ``n_clusters_range``.
    alpha : float, default=0.0001
        Weight α of the alignment, positive. Default of the authors' script; imml uses 1.
    beta : float, default=10000.0
        Weight β of the regression's sparsity, positive. Default of the authors' script; imml uses 1.
    iterations : int, default=30
        Largest number of iterations. Default of the authors' code.
    tolerance : float, default=0.0001
        Stops when the relative change of the objective is smaller. Default of the authors' code.
    sweeps : int, default=30
        Largest number of multiplicative sweeps of P per iteration. Default of the authors' code.
    standardize : bool, default=False
        Whether to scale columns to mean 0 and variance 1 before scaling rows to unit length. The authors do
        not.
    unit_embedding : bool, default=False
        Whether to scale rows of P to unit length before k-means. The authors do not.
    initial_restarts : int, default=20
        Number of k-means starts per view for the first bases. Default of the authors' code.
    restarts : int, default=20
        Number of starts of the final k-means; the authors' script uses 1.
    n_clusters_range : tuple[int, int], default=(2, 12)
        First and last number of clusters that "auto" tries.
    strict : bool, default=False
        Whether single missing cells are an error instead of being filled in.
    random_state : Any, default=None
        Seed; an int gives the same bits as ``--seed`` of the command, None draws one.
    n_jobs : int | None, default=None
        Number of threads, -1 for all cores; the result does not depend on it.

    See Also
    --------
    MultiViewClusterer : its methods and attributes.
    """

    _method = "daimc"
    n_clusters: int | Literal["auto"] = 8
    _: KW_ONLY
    alpha: float = 0.0001
    beta: float = 10000.0
    iterations: int = 30
    tolerance: float = 0.0001
    sweeps: int = 30
    standardize: bool = False
    unit_embedding: bool = False
    initial_restarts: int = 20
    restarts: int = 20
    n_clusters_range: tuple[int, int] = (2, 12)
    strict: bool = False
    random_state: Any = None
    n_jobs: int | None = None


@dataclass(eq=False, repr=False)
class OPIMC(MultiViewClusterer):
    """Multi-view k-means with shared labels and centers shrunk by a ridge, chunk by chunk.

    Minimizes Σᵥ ‖Wᵥ (Xᵥ - P Uᵥ)‖² + α ‖Uᵥ‖² over one-hot labels P and centers Uᵥ for consecutive chunks
    of samples, keeping only sums over earlier chunks. Rows are first scaled to unit length. Any number
    of views, any mask; values may be negative. An iteration on a chunk with mᵥ observed rows needs O(Σᵥ
    mᵥ dᵥ k) operations, and memory for one chunk and the centers.

    Its name in the command is ``opimc``.

    Parameters
    ----------
    n_clusters : int or "auto"
        Number of clusters; "auto" selects one from ``n_clusters_range``.
    alpha : float, default=1.0
        Ridge α of the centers, positive. The authors' 10 collapses small chunks of unit rows into one
        cluster, because a center of c samples is shrunk by c / (c + α).
    chunk_size : int, default=250
        Number of samples per chunk. Default of imml; the authors' script for 116 samples uses 30.
    passes : int, default=1
        Number of passes over the data; later ones revise the labels chunk by chunk. The method's title
        specifies one.
    iterations : int, default=30
        Largest number of iterations per chunk. Default of the authors' script.
    tolerance : float, default=1e-06
        Stops when the relative change of the loss is smaller. Default of the authors' script.
    order : {"shuffled", "file"}, default="shuffled"
        Order in which samples are read. Default of the authors' script. ``shuffled``: Shuffled by the seed
        before anything else. ``file``: As the caller gave them; only to compare with programs that do so.
    n_clusters_range : tuple[int, int], default=(2, 12)
        First and last number of clusters that "auto" tries.
    strict : bool, default=False
        Whether single missing cells are an error instead of being filled in.
    random_state : Any, default=None
        Seed; an int gives the same bits as ``--seed`` of the command, None draws one.
    n_jobs : int | None, default=None
        Number of threads, -1 for all cores; the result does not depend on it.

    See Also
    --------
    MultiViewClusterer : its methods and attributes.
    """

    _method = "opimc"
    n_clusters: int | Literal["auto"] = 8
    _: KW_ONLY
    alpha: float = 1.0
    chunk_size: int = 250
    passes: int = 1
    iterations: int = 30
    tolerance: float = 1e-06
    order: Literal["shuffled", "file"] = "shuffled"
    n_clusters_range: tuple[int, int] = (2, 12)
    strict: bool = False
    random_state: Any = None
    n_jobs: int | None = None


@dataclass(eq=False, repr=False)
class MKKMIK(MultiViewClusterer):
    """Multiple kernel k-means with incomplete kernels; faster than ``MkkmIkMkc``.

    ``min tr(K_γ (I - HHᵀ))``, ``K_γ = Σ_p γ_p² K_p``, over ``HᵀH = I``, γ on the simplex, and ``K_p`` ⪰
    0 with its observed block given. Any number of views, any mask.

    Holds n-by-n matrices: 40 n² bytes beside the observed blocks.

    Its name in the command is ``mkkm-ik``.

    Parameters
    ----------
    n_clusters : int or "auto"
        Number of clusters; "auto" selects one from ``n_clusters_range``.
    kernel : {"linear", "gaussian", "quadratic"}, default="linear"
        Kernel of every view, centered and with unit diagonal, as in ``MkkmIkMkc``. ``linear``: xᵀx'.
        ``gaussian``: exp(-‖x - x'‖² / 2σ²), σ the mean distance between two different samples.
        ``quadratic``: (xᵀx' + 1)².
    scaling : {"unit-rows", "standard", "none"}, default="unit-rows"
        Scaling of the features before the kernel. ``unit-rows``: Scales every row to unit length.
        ``standard``: Scales every feature to mean 0 and standard deviation 1; constant features become 0.
        ``none``: No scaling.
    max_iterations : int, default=100
        Largest number of iterations. Default of the authors' code.
    tolerance : float, default=0.001
        Stops after at least three iterations when the relative change of the objective is smaller. Default
        of the authors' code.
    restarts : int, default=50
        Number of k-means starts; the best is kept. Default of the authors' code.
    max_bytes : int, default=8589934592
        Largest memory of n-by-n matrices, in bytes; larger data are refused.
    n_clusters_range : tuple[int, int], default=(2, 12)
        First and last number of clusters that "auto" tries.
    strict : bool, default=False
        Whether single missing cells are an error instead of being filled in.
    random_state : Any, default=None
        Seed; an int gives the same bits as ``--seed`` of the command, None draws one.
    n_jobs : int | None, default=None
        Number of threads, -1 for all cores; the result does not depend on it.

    See Also
    --------
    MultiViewClusterer : its methods and attributes.
    """

    _method = "mkkm-ik"
    n_clusters: int | Literal["auto"] = 8
    _: KW_ONLY
    kernel: Literal["linear", "gaussian", "quadratic"] = "linear"
    scaling: Literal["unit-rows", "standard", "none"] = "unit-rows"
    max_iterations: int = 100
    tolerance: float = 0.001
    restarts: int = 50
    max_bytes: int = 8589934592
    n_clusters_range: tuple[int, int] = (2, 12)
    strict: bool = False
    random_state: Any = None
    n_jobs: int | None = None


@dataclass(eq=False, repr=False)
class MKKMIKMKC(MultiViewClusterer):
    """Multiple kernel k-means with mutual kernel completion.

    ``min tr(K_γ (I - HHᵀ)) + λ Σ_p ‖K_p - Σ_{q≠p} γ_q K_q‖²``, ``K_γ = Σ_p γ_p² K_p``, over ``HᵀH =
    I``, γ on the simplex, and ``K_p`` ⪰ 0 with its observed block given. Any number of views up to 16,
    any mask.

    Holds n-by-n matrices, one per view and four for work: 8 (m + 4) n² bytes beside the observed
    blocks.

    Its name in the command is ``mkkm-ik-mkc``.

    Parameters
    ----------
    n_clusters : int or "auto"
        Number of clusters; "auto" selects one from ``n_clusters_range``.
    kernel : {"linear", "gaussian", "quadratic"}, default="linear"
        Kernel of every view. The CDIMC-net paper names none; the linear kernel has no width to choose.
        ``linear``: xᵀx'. ``gaussian``: exp(-‖x - x'‖² / 2σ²), σ the mean distance between two different
        samples. ``quadratic``: (xᵀx' + 1)².
    scaling : {"unit-rows", "standard", "none"}, default="unit-rows"
        Scaling of the features before the kernel; by default unit rows, as in the other methods of the
        table. ``unit-rows``: Scales every row to unit length. ``standard``: Scales every feature to mean 0
        and standard deviation 1; constant features become 0. ``none``: No scaling.
    filling : {"zero", "mean"}, default="zero"
        Initial values of unobserved entries. Default of the authors' code. ``zero``: 0, the mean of a
        centered kernel. ``mean``: The mean of the observed entries of the row or column.
    coefficients : {"exact", "authors-code"}, default="exact"
        Coefficients of the completion. ``exact``: ``γ_p + γ_q - (m - 2) γ_p γ_q``, which minimizes the
        objective for m kernels. ``authors-code``: ``γ_p + γ_q - γ_p γ_q``, as in the authors' code: exact
        for three kernels only.
    lambda_ : float | None, default=None
        λ of the objective, which is twice the λ of the article's text; by default 1/m (authors' scripts).
    max_iterations : int, default=30
        Largest number of iterations. Default of the authors' settings of MKKM-IK; their code of this method
        runs 11.
    tolerance : float, default=0.001
        Stops after at least three iterations when the relative change of the objective is smaller; 0 runs
        all ``max_iterations``. Default of the authors' code.
    restarts : int, default=50
        Number of k-means starts; the best is kept. Default of the authors' code.
    max_bytes : int, default=8589934592
        Largest memory of n-by-n matrices, in bytes; larger data are refused.
    n_clusters_range : tuple[int, int], default=(2, 12)
        First and last number of clusters that "auto" tries.
    strict : bool, default=False
        Whether single missing cells are an error instead of being filled in.
    random_state : Any, default=None
        Seed; an int gives the same bits as ``--seed`` of the command, None draws one.
    n_jobs : int | None, default=None
        Number of threads, -1 for all cores; the result does not depend on it.

    See Also
    --------
    MultiViewClusterer : its methods and attributes.
    """

    _method = "mkkm-ik-mkc"
    n_clusters: int | Literal["auto"] = 8
    _: KW_ONLY
    kernel: Literal["linear", "gaussian", "quadratic"] = "linear"
    scaling: Literal["unit-rows", "standard", "none"] = "unit-rows"
    filling: Literal["zero", "mean"] = "zero"
    coefficients: Literal["exact", "authors-code"] = "exact"
    lambda_: float | None = None
    max_iterations: int = 30
    tolerance: float = 0.001
    restarts: int = 50
    max_bytes: int = 8589934592
    n_clusters_range: tuple[int, int] = (2, 12)
    strict: bool = False
    random_state: Any = None
    n_jobs: int | None = None


@dataclass(eq=False, repr=False)
class PMVCCGAN(MultiViewClusterer):
    """Partial multi-view clustering by a consistent GAN: two views, every sample in both or in one.

    Stage 1 trains an autoencoder with shared inner layers on the paired samples; every latent is
    decoded into both views. Stage 2 trains it against one discriminator per view and completes each
    missing row. Stage 3 moves Student's t assignments of all completed samples towards their target
    distribution. k-means on the mean of both latents gives the labels. Features are first scaled to [0,
    1] over observed rows.

    Its name in the command is ``pmvc-cgan``.

    Parameters
    ----------
    n_clusters : int or "auto"
        Number of clusters; "auto" selects one from ``n_clusters_range``.
    widths : tuple[int, ...], default=(500, 300, 100)
        Widths of the layers between a view and its latent, the latent last. Default of the authors' code
        for BDGP; their code for MNIST is not public.
    batch_size : int, default=32
        Number of samples per step; larger than the authors' 1 for speed, see ``PmvcCgan::authors``.
    autoencoder_epochs : int, default=40
        Number of epochs of stage 1; ten times the authors' for batches of 32.
    adversarial_epochs : int, default=20
        Number of epochs of stage 2; five times the authors'.
    clustering_epochs : int, default=20
        Number of epochs of stage 3; two and a half times the authors'.
    learning_rate : float, default=0.0001
        Learning rate of Adam. Default of the authors' code.
    beta1 : float, default=0.5
        Decay of Adam's mean of gradients. Default of the authors' code.
    beta2 : float, default=0.999
        Decay of Adam's mean of squared gradients. Default of the authors' code.
    order : {"shuffled", "file"}, default="shuffled"
        Order of the samples in batches, the same in every epoch. ``shuffled``: Shuffled by the seed before
        anything else. ``file``: As the caller gave them; only to compare with programs that do so.
    restarts : int, default=10
        Number of k-means starts; the best is kept. Default of the authors' library.
    device : {"cpu", "cuda"}, default="cpu"
        Device that computes the steps. ``cpu``: The processor. ``cuda``: The first NVIDIA GPU; needs the
        feature ``cuda``.
    n_clusters_range : tuple[int, int], default=(2, 12)
        First and last number of clusters that "auto" tries.
    strict : bool, default=False
        Whether single missing cells are an error instead of being filled in.
    random_state : Any, default=None
        Seed; an int gives the same bits as ``--seed`` of the command, None draws one.
    n_jobs : int | None, default=None
        Number of threads, -1 for all cores; the result does not depend on it.

    See Also
    --------
    MultiViewClusterer : its methods and attributes.
    """

    _method = "pmvc-cgan"
    n_clusters: int | Literal["auto"] = 8
    _: KW_ONLY
    widths: tuple[int, ...] = (500, 300, 100)
    batch_size: int = 32
    autoencoder_epochs: int = 40
    adversarial_epochs: int = 20
    clustering_epochs: int = 20
    learning_rate: float = 0.0001
    beta1: float = 0.5
    beta2: float = 0.999
    order: Literal["shuffled", "file"] = "shuffled"
    restarts: int = 10
    device: Literal["cpu", "cuda"] = "cpu"
    n_clusters_range: tuple[int, int] = (2, 12)
    strict: bool = False
    random_state: Any = None
    n_jobs: int | None = None

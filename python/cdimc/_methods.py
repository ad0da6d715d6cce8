"""One estimator per method; written by generate_methods.py from the schema of its settings."""

from __future__ import annotations

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


class TMixture(MultiViewClusterer):
    """One mixture over all views: every cluster is a multivariate t distribution in every view, a sample
    has one cluster, and missing views drop out of the likelihood.

    Its name in the command is ``t-mixture``.

    Parameters
    ----------
    n_clusters : int or "auto"
        Number of clusters; "auto" selects one from ``n_clusters_range``.
    coordinates : {"auto", "unit", "standard", "centered", "ranks"}, default="auto"
        Coordinates of the views; ``auto`` selects the kind with the most shared information.
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
        Number of random starts.
    refined : int, default=8
        Number of starts with the highest likelihood that are refined by merge-and-split and repair.
    tries : int, default=4
        Combinations of a merge and a split tried per round.
    rule : {"likelihood", "shared-information", "likelihood-among-most-shared"}, default="likelihood-among-most-shared"
        Rule that selects the best of the refined starts.
    search_samples : int, default=20000
        Maximum number of samples for the search, drawn at random; the final EM uses all samples.
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

    def __init__(
        self,
        n_clusters: int | Literal["auto"] = 8,
        *,
        coordinates: Literal["auto", "unit", "standard", "centered", "ranks"] = "auto",
        dimensions: int = 20,
        degrees_of_freedom: float = 5.0,
        pooling: float | None = None,
        diagonal: float | None = None,
        starts: int = 16,
        refined: int = 8,
        tries: int = 4,
        rule: Literal["likelihood", "shared-information", "likelihood-among-most-shared"] = "likelihood-among-most-shared",
        search_samples: int = 20000,
        n_clusters_range: tuple[int, int] = (2, 12),
        strict: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.coordinates = coordinates
        self.dimensions = dimensions
        self.degrees_of_freedom = degrees_of_freedom
        self.pooling = pooling
        self.diagonal = diagonal
        self.starts = starts
        self.refined = refined
        self.tries = tries
        self.rule = rule
        self.search_samples = search_samples
        self.n_clusters_range = n_clusters_range
        self.strict = strict
        self.random_state = random_state
        self.n_jobs = n_jobs


class CDIMCNet(MultiViewClusterer):
    """Cognitive deep incomplete multi-view clustering: one autoencoder per view, one latent per sample
    that is fused from its views, and clusters that are learned from easy samples to hard ones.

    Its name in the command is ``cdimc-net``.

    Parameters
    ----------
    n_clusters : int or "auto"
        Number of clusters; "auto" selects one from ``n_clusters_range``.
    input : {"coordinates", "columns"}, default="coordinates"
        Input of the network for every view.
    directions : int, default=40
        Maximum number of coordinates per view, where ``input`` is ``coordinates``.
    neighbors : int, default=10
        Nearest neighbors of a sample in the graph of a view (eq. 6), below the number of samples.
    alpha : float | tuple[float, ...], default=(0.01, 0.1)
        Weight of the graph term in both losses (eq. 7 and 10). 0: no graph (Figure 3). If there are
        several, the data choose one.
    batch_size : int, default=128
        Samples in a batch.
    device : {"cpu", "cuda"}, default="cpu"
        Where the training steps are computed.
    restarts : int, default=4
        Rounds of whole runs, each from new initial weights. After every round the half of the values of
        ``alpha`` under which the views share more goes on. The authors' code has 1.
    choice : {"shared-information", "inertia"}, default="shared-information"
        How the first centers and the last round of fine-tuning are chosen.
    pretrain_epochs : int, default=400
        Number of epochs. With 0 fine-tuning starts from the initial weights (Figure 3).
    pretrain_learning_rate : float, default=0.02
        Step length of the first epoch. The authors' code has 0.01.
    finetune_rounds : int, default=20
        Maximum number of rounds, T. With 0 the first clusters on the pre-trained latents are the result.
    finetune_epochs_per_round : int, default=7
        Epochs of network training per round, Maxiter.
    finetune_learning_rate : float, default=0.0001
        Step length of Adam, which updates the encoders (paper, section 4.1).
    finetune_self_paced : bool, default=True
        Whether samples enter from easy to hard; without, all count in every round (paper, Figure 3).
    finetune_age_scope : {"cluster", "all"}, default="cluster"
        Whether each cluster has an age of its own.
    advanced_order : {"shuffled", "file"}, default="shuffled"
        Order in which the samples are read before k-means arranges them.
    advanced_square_decoder_layer : bool, default=False
        Whether each decoder starts with a k-to-k layer, as in the authors' code; the paper prints none.
    advanced_decay : {"linear", "none"}, default="linear"
        How the step length of pre-training falls from epoch to epoch.
    advanced_momentum : float, default=0.95
        Fraction of the last step of pre-training that is kept, in [0, 1).
    advanced_age_rule : {"code", "paper"}, default="code"
        How the age selects samples.
    advanced_normalization : {"selected", "batch"}, default="selected"
        Divisor of the clustering term of a batch.
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

    def __init__(
        self,
        n_clusters: int | Literal["auto"] = 8,
        *,
        input: Literal["coordinates", "columns"] = "coordinates",
        directions: int = 40,
        neighbors: int = 10,
        alpha: float | tuple[float, ...] = (0.01, 0.1),
        batch_size: int = 128,
        device: Literal["cpu", "cuda"] = "cpu",
        restarts: int = 4,
        choice: Literal["shared-information", "inertia"] = "shared-information",
        pretrain_epochs: int = 400,
        pretrain_learning_rate: float = 0.02,
        finetune_rounds: int = 20,
        finetune_epochs_per_round: int = 7,
        finetune_learning_rate: float = 0.0001,
        finetune_self_paced: bool = True,
        finetune_age_scope: Literal["cluster", "all"] = "cluster",
        advanced_order: Literal["shuffled", "file"] = "shuffled",
        advanced_square_decoder_layer: bool = False,
        advanced_decay: Literal["linear", "none"] = "linear",
        advanced_momentum: float = 0.95,
        advanced_age_rule: Literal["code", "paper"] = "code",
        advanced_normalization: Literal["selected", "batch"] = "selected",
        advanced_minimum_rounds: int = 81,
        advanced_engine: Literal["fused", "candle"] | None = None,
        advanced_hidden_ratio: float | None = None,
        advanced_wide: int | None = None,
        n_clusters_range: tuple[int, int] = (2, 12),
        strict: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.input = input
        self.directions = directions
        self.neighbors = neighbors
        self.alpha = alpha
        self.batch_size = batch_size
        self.device = device
        self.restarts = restarts
        self.choice = choice
        self.pretrain_epochs = pretrain_epochs
        self.pretrain_learning_rate = pretrain_learning_rate
        self.finetune_rounds = finetune_rounds
        self.finetune_epochs_per_round = finetune_epochs_per_round
        self.finetune_learning_rate = finetune_learning_rate
        self.finetune_self_paced = finetune_self_paced
        self.finetune_age_scope = finetune_age_scope
        self.advanced_order = advanced_order
        self.advanced_square_decoder_layer = advanced_square_decoder_layer
        self.advanced_decay = advanced_decay
        self.advanced_momentum = advanced_momentum
        self.advanced_age_rule = advanced_age_rule
        self.advanced_normalization = advanced_normalization
        self.advanced_minimum_rounds = advanced_minimum_rounds
        self.advanced_engine = advanced_engine
        self.advanced_hidden_ratio = advanced_hidden_ratio
        self.advanced_wide = advanced_wide
        self.n_clusters_range = n_clusters_range
        self.strict = strict
        self.random_state = random_state
        self.n_jobs = n_jobs


class BestView(MultiViewClusterer):
    """The view whose own clusters agree best with those of the other views.

    Each view is clustered alone as in ``BestView::each_view``. The agreement of two views is the
    normalized mutual information (arithmetic mean) of their clusters over the samples that both
    observe; the view with the greatest mean agreement with the others wins. Two views agree with each
    other alike: on ties that view wins whose clusters come back from other starts of k-means, by the
    same measure, and then the first. A view with all its samples in one cluster wins only where all
    views are so. Labels play no part, so this is what BSV would be without the truth. Any number of
    views, any mask.

    On five folds of Handwritten this chose the view of the highest accuracy each time; the silhouette
    prefers a view of low accuracy there.

    Its name in the command is ``best-view``.

    Parameters
    ----------
    n_clusters : int or "auto"
        Number of clusters; "auto" selects one from ``n_clusters_range``.
    restarts : int, default=20
        Starts of k-means, of which the best is kept: 20; the authors' code takes 1.
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

    def __init__(
        self,
        n_clusters: int | Literal["auto"] = 8,
        *,
        restarts: int = 20,
        n_clusters_range: tuple[int, int] = (2, 12),
        strict: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.restarts = restarts
        self.n_clusters_range = n_clusters_range
        self.strict = strict
        self.random_state = random_state
        self.n_jobs = n_jobs


class Concat(MultiViewClusterer):
    """k-means on the concatenation of the views.

    Every observed row of every view gets unit length, the mean of those rows fills the gaps, and the
    views stand side by side without weights. Any number of views, any mask.

    Its name in the command is ``concat``.

    Parameters
    ----------
    n_clusters : int or "auto"
        Number of clusters; "auto" selects one from ``n_clusters_range``.
    restarts : int, default=20
        Starts of k-means, of which the best is kept: 20; the authors' code takes 1.
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

    def __init__(
        self,
        n_clusters: int | Literal["auto"] = 8,
        *,
        restarts: int = 20,
        n_clusters_range: tuple[int, int] = (2, 12),
        strict: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.restarts = restarts
        self.n_clusters_range = n_clusters_range
        self.strict = strict
        self.random_state = random_state
        self.n_jobs = n_jobs


class PMVC(MultiViewClusterer):
    """Partial multi-view clustering: two views, every sample in both or in one.

    min ``Σ_v`` ‖``X_v`` - ``P_v`` ``U_v``‖² + ``l_c`` ‖``P_c``‖₁ + ``Σ_v`` ``l_v`` ‖``P_v`` single‖₁,
    all factors at least 0, with the rows ``P_c`` of the paired samples shared; ``l_v`` = λ ``d_v`` / k
    and ``l_c`` = ``l_1`` + ``l_2``. Rows are scaled to unit length first; negative features fit worse.

    Its name in the command is ``pmvc``.

    Parameters
    ----------
    n_clusters : int or "auto"
        Number of clusters; "auto" selects one from ``n_clusters_range``.
    lambda_ : float, default=0.01
        λ; 1e-2 (authors' code). From 0.1 on, unit rows give a representation that is 0 throughout.
    paired_iterations : int, default=20
        Rounds on the paired samples alone; 20 (authors' code).
    iterations : int, default=20
        Rounds on all samples; 20 (authors' code). The cap is part of the method: only P is penalized, so P
        shrinks and U grows for ever.
    tolerance : float, default=1e-06
        Stops either once the objective changes by less than this share; 1e-6 (authors' code).
    restarts : int, default=20
        Starts of k-means, of which the best is kept; the authors take 1 and average 20 runs.
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

    def __init__(
        self,
        n_clusters: int | Literal["auto"] = 8,
        *,
        lambda_: float = 0.01,
        paired_iterations: int = 20,
        iterations: int = 20,
        tolerance: float = 1e-06,
        restarts: int = 20,
        n_clusters_range: tuple[int, int] = (2, 12),
        strict: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.lambda_ = lambda_
        self.paired_iterations = paired_iterations
        self.iterations = iterations
        self.tolerance = tolerance
        self.restarts = restarts
        self.n_clusters_range = n_clusters_range
        self.strict = strict
        self.random_state = random_state
        self.n_jobs = n_jobs


class IMG(MultiViewClusterer):
    """Incomplete multi-modal grouping: two views, every sample in both or in one.

    min ``Σ_v`` ‖``X_v`` - ``P_v`` ``U_v``‖² + λ ‖``U_v``‖² + β tr(Pᵀ Lap(A) P) + γ ‖A‖², A ≥ 0 with
    columns of sum 1, by an augmented Lagrangian with P = Q. Rows are scaled to unit length first.

    Keeps n-by-n matrices: one in the iteration, six at the normalized cut, 48 n² bytes. An iteration
    costs n³/3 operations.

    Its name in the command is ``img``.

    Parameters
    ----------
    n_clusters : int or "auto"
        Number of clusters; "auto" selects one from ``n_clusters_range``.
    lambda_ : float, default=0.1
        λ, the weight of the bases; 0.1 (authors' driver).
    beta : float, default=0.3
        β, the weight of the graph; 0.3 (authors' driver).
    gamma : float, default=0.1
        γ, the evenness of the affinities; 0.1 (authors' driver).
    first_laplacian : {"zero", "random"}, default="zero"
        What stands for the graph in the first iteration.
    max_iterations : int, default=200
        Most iterations; 200 (authors' code).
    tolerance : float, default=1e-08
        Stops once no entry of P - Q is larger; 1e-8 (authors' code).
    read_out : {"normalized-cut", "representation"}, default="normalized-cut"
        What the labels are read from.
    restarts : int, default=100
        Starts of k-means, of which the best is kept; 100 (authors' code).
    max_bytes : int, default=8589934592
        Refuses data whose n-by-n matrices need more; 8 GiB.
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

    def __init__(
        self,
        n_clusters: int | Literal["auto"] = 8,
        *,
        lambda_: float = 0.1,
        beta: float = 0.3,
        gamma: float = 0.1,
        first_laplacian: Literal["zero", "random"] = "zero",
        max_iterations: int = 200,
        tolerance: float = 1e-08,
        read_out: Literal["normalized-cut", "representation"] = "normalized-cut",
        restarts: int = 100,
        max_bytes: int = 8589934592,
        n_clusters_range: tuple[int, int] = (2, 12),
        strict: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.lambda_ = lambda_
        self.beta = beta
        self.gamma = gamma
        self.first_laplacian = first_laplacian
        self.max_iterations = max_iterations
        self.tolerance = tolerance
        self.read_out = read_out
        self.restarts = restarts
        self.max_bytes = max_bytes
        self.n_clusters_range = n_clusters_range
        self.strict = strict
        self.random_state = random_state
        self.n_jobs = n_jobs


class IMCGRMF(MultiViewClusterer):
    """Graph regularized matrix factorization: every sample in all views or in exactly one, and no more
    clusters than a view has features.

    min ``Σ_v`` ``Σ_ij`` ``W_v[i,j]`` ‖``x_i`` - Q ``p_j``‖² + ``λ_1`` ‖``P_v``[paired] - ``P_c``‖² +
    ``λ_2`` ‖``P_v``‖₁ over ``QᵀQ`` = I, W the symmetric 0/1 graph of nearest neighbors in a view. Rows
    are scaled to unit length first.

    Memory is linear in the samples: the graph is sparse.

    Its name in the command is ``imc-grmf``.

    Parameters
    ----------
    n_clusters : int or "auto"
        Number of clusters; "auto" selects one from ``n_clusters_range``.
    lambda1 : float, default=100.0
        ``λ_1``, which ties the views on paired samples; 100 (authors' demo).
    lambda2 : float, default=0.001
        ``λ_2``, the sparsity; 1e-3 (authors' demo; 0.1 there where a tenth of the samples is paired).
    neighbors : int, default=10
        Nearest neighbors in the graph of a view; 10 (authors' demo). At most the other samples.
    max_iterations : int, default=100
        Most iterations; 100 (authors' code).
    tolerance : float, default=1e-07
        Stops after at least three iterations once the objective changes by less, an absolute difference;
        1e-7 (authors' code).
    restarts : int, default=20
        Starts of k-means, of which the best is kept; 20 (authors' demo).
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

    def __init__(
        self,
        n_clusters: int | Literal["auto"] = 8,
        *,
        lambda1: float = 100.0,
        lambda2: float = 0.001,
        neighbors: int = 10,
        max_iterations: int = 100,
        tolerance: float = 1e-07,
        restarts: int = 20,
        n_clusters_range: tuple[int, int] = (2, 12),
        strict: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.lambda1 = lambda1
        self.lambda2 = lambda2
        self.neighbors = neighbors
        self.max_iterations = max_iterations
        self.tolerance = tolerance
        self.restarts = restarts
        self.n_clusters_range = n_clusters_range
        self.strict = strict
        self.random_state = random_state
        self.n_jobs = n_jobs


class MIC(MultiViewClusterer):
    """Weighted nonnegative factorization of every view with a common consensus U*.

    Minimizes Σᵥ ‖Cᵥ (Xᵥ - Uᵥ Bᵥᵀ)‖² + α ‖Cᵥ (Uᵥ - U*)‖² + β ‖Uᵥ‖₂,₁ over nonnegative factors, then
    groups the rows of U* by k-means. Gaps hold the mean of the observed rows, with a weight c below 1;
    every view sums to 1. Any number of views, any mask; negative values are made nonnegative first.
    Needs O(Σᵥ (mᵥ dᵥ + n k) k) operations a sweep with mᵥ observed rows in view v: the gaps share one
    row, so they cost nothing of the width. Memory is linear in n.

    Its name in the command is ``mic``.

    Parameters
    ----------
    n_clusters : int or "auto"
        Number of clusters; "auto" selects one from ``n_clusters_range``.
    alpha : float, default=0.01
        Weight α of the consensus, positive: 1e-2 (authors' driver of OMVC).
    beta : float, default=1e-07
        Weight β of the row sparsity: 1e-7 (authors' driver of OMVC). It depends on the scale of the data,
        here of sum 1.
    rounds : int, default=15
        Rounds, each a consensus and then sweeps of every view: 15; the only driver known has 30.
    sweeps : int, default=50
        Sweeps of one view in a round: 50; the only driver known has 100.
    cycles : int, default=3
        Cycles over the views at the start, each view's factorization beginning with the coefficients of the
        view before: 3 (authors' code).
    initial_sweeps : int, default=100
        Sweeps of one factorization at the start: 100.
    missing_weight : float | None, default=None
        Weight c of the gaps in [0, 1]; by default the share of the samples that the view observes.
    nonnegative : {"clip", "unit-shift", "min-max"}, default="unit-shift"
        How views are made nonnegative: unit rows less the minimum.
    restarts : int, default=20
        Starts of the last k-means: 20 (authors' code).
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

    def __init__(
        self,
        n_clusters: int | Literal["auto"] = 8,
        *,
        alpha: float = 0.01,
        beta: float = 1e-07,
        rounds: int = 15,
        sweeps: int = 50,
        cycles: int = 3,
        initial_sweeps: int = 100,
        missing_weight: float | None = None,
        nonnegative: Literal["clip", "unit-shift", "min-max"] = "unit-shift",
        restarts: int = 20,
        n_clusters_range: tuple[int, int] = (2, 12),
        strict: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.alpha = alpha
        self.beta = beta
        self.rounds = rounds
        self.sweeps = sweeps
        self.cycles = cycles
        self.initial_sweeps = initial_sweeps
        self.missing_weight = missing_weight
        self.nonnegative = nonnegative
        self.restarts = restarts
        self.n_clusters_range = n_clusters_range
        self.strict = strict
        self.random_state = random_state
        self.n_jobs = n_jobs


class OMVC(MultiViewClusterer):
    """Nonnegative factorization of every view with a common consensus U*, chunk by chunk.

    Minimizes Σᵥ ‖Cᵥ (Xᵥ - Uᵥ Bᵥᵀ)‖² + α ‖Cᵥ (Uᵥ - U*)‖² + β ‖Uᵥ‖₁ over nonnegative factors for one
    chunk of samples after the other, keeping of those before only Xᵀ C² U and Uᵀ C² U, then groups the
    rows of U* by k-means. Gaps hold the mean of the rows observed before them; every view is divided by
    its sum. Any number of views, any mask; negative values are made nonnegative first, and a view that
    is then 0 throughout has no part. Needs O(Σᵥ s dᵥ k + dᵥ k²) operations an iteration on a chunk of s
    samples.

    Its name in the command is ``omvc``.

    Parameters
    ----------
    n_clusters : int or "auto"
        Number of clusters; "auto" selects one from ``n_clusters_range``.
    alpha : float, default=0.01
        Weight α of the consensus, positive: 1e-2 (authors' driver).
    beta : float, default=1e-07
        Weight β of the sparsity: 1e-7 (authors' driver), for views of sum 1.
    chunk_size : int, default=50
        Samples in a chunk: 50 (authors' driver).
    passes : int, default=2
        Passes over the data: 2 (authors' driver).
    iterations : int, default=200
        Most iterations on a chunk: 200 (authors' driver).
    tolerance : float, default=0.0001
        Iterations stop when the loss changes by less than this share: 1e-4 (authors' driver).
    missing_weight : {"full", "presence"}, default="full"
        Weight c of the gaps.
    nonnegative : {"clip", "unit-shift", "min-max"}, default="clip"
        How views are made nonnegative: clipped (authors' driver).
    order : {"shuffled", "file"}, default="shuffled"
        The order in which samples are read: shuffled (authors' driver).
    restarts : int, default=20
        Starts of the last k-means: 20 (authors' driver).
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

    def __init__(
        self,
        n_clusters: int | Literal["auto"] = 8,
        *,
        alpha: float = 0.01,
        beta: float = 1e-07,
        chunk_size: int = 50,
        passes: int = 2,
        iterations: int = 200,
        tolerance: float = 0.0001,
        missing_weight: Literal["full", "presence"] = "full",
        nonnegative: Literal["clip", "unit-shift", "min-max"] = "clip",
        order: Literal["shuffled", "file"] = "shuffled",
        restarts: int = 20,
        n_clusters_range: tuple[int, int] = (2, 12),
        strict: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.alpha = alpha
        self.beta = beta
        self.chunk_size = chunk_size
        self.passes = passes
        self.iterations = iterations
        self.tolerance = tolerance
        self.missing_weight = missing_weight
        self.nonnegative = nonnegative
        self.order = order
        self.restarts = restarts
        self.n_clusters_range = n_clusters_range
        self.strict = strict
        self.random_state = random_state
        self.n_jobs = n_jobs


class DAIMC(MultiViewClusterer):
    """Weighted semi-nonnegative factorization with a common coefficient matrix P and bases aligned by
    sparse regression.

    Minimizes Σᵥ ‖Wᵥ (Xᵥ - P Uᵥᵀ)‖² + α (‖Bᵥᵀ Uᵥ - I‖² + β ‖Bᵥ‖₂,₁) over P ≥ 0, Uᵥ and Bᵥ, then groups
    the rows of P by k-means. Any number of views, any mask; values may be negative. Needs O(Σᵥ mᵥ dᵥ k
    + sweeps n k²) operations an iteration, with mᵥ observed rows in view v. Memory is linear in n, with
    two k-by-k matrices for each different set of views that samples have.

    The result depends much on the start: with the defaults, single runs on Handwritten lie between 72
    and 88 % accuracy.

    Its name in the command is ``daimc``.

    Parameters
    ----------
    n_clusters : int or "auto"
        Number of clusters; "auto" selects one from ``n_clusters_range``.
    alpha : float, default=0.0001
        Weight α of the alignment, positive: 1e-4 (authors' script; imml has 1).
    beta : float, default=10000.0
        Weight β of the regression's sparsity, positive: 1e4 (authors' script; imml has 1).
    iterations : int, default=30
        Most iterations: 30 (authors' code).
    tolerance : float, default=0.0001
        Iterations stop when the objective changes by less than this share: 1e-4 (authors' code).
    sweeps : int, default=30
        Most multiplicative sweeps of P in one iteration: 30 (authors' code).
    standardize : bool, default=False
        Whether columns get mean 0 and variance 1 before rows get unit length: no, as the authors.
    unit_embedding : bool, default=False
        Whether rows of P get unit length before k-means: no, as the authors.
    initial_restarts : int, default=20
        Starts of the k-means of each view that gives the first bases: 20 (authors' code).
    restarts : int, default=20
        Starts of the last k-means: 20; the authors' script takes 1.
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

    def __init__(
        self,
        n_clusters: int | Literal["auto"] = 8,
        *,
        alpha: float = 0.0001,
        beta: float = 10000.0,
        iterations: int = 30,
        tolerance: float = 0.0001,
        sweeps: int = 30,
        standardize: bool = False,
        unit_embedding: bool = False,
        initial_restarts: int = 20,
        restarts: int = 20,
        n_clusters_range: tuple[int, int] = (2, 12),
        strict: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.alpha = alpha
        self.beta = beta
        self.iterations = iterations
        self.tolerance = tolerance
        self.sweeps = sweeps
        self.standardize = standardize
        self.unit_embedding = unit_embedding
        self.initial_restarts = initial_restarts
        self.restarts = restarts
        self.n_clusters_range = n_clusters_range
        self.strict = strict
        self.random_state = random_state
        self.n_jobs = n_jobs


class OPIMC(MultiViewClusterer):
    """Multi-view k-means with shared labels and centers shrunk by a ridge, chunk by chunk.

    Minimizes Σᵥ ‖Wᵥ (Xᵥ - P Uᵥ)‖² + α ‖Uᵥ‖² over one-hot labels P and centers Uᵥ, for one chunk of
    samples after the other, keeping only sums over the chunks before. Rows get unit length first. Any
    number of views, any mask; values may be negative. Needs O(Σᵥ mᵥ dᵥ k) operations an iteration on a
    chunk with mᵥ observed rows, and memory for one chunk and the centers.

    Its name in the command is ``opimc``.

    Parameters
    ----------
    n_clusters : int or "auto"
        Number of clusters; "auto" selects one from ``n_clusters_range``.
    alpha : float, default=1.0
        Ridge α of the centers, positive: 1. The authors' 10 collapses small chunks of unit rows into one
        cluster, because a center of c samples is shrunk by c / (c + α).
    chunk_size : int, default=250
        Samples in a chunk: 250 (imml; the authors' script for 116 samples has 30).
    passes : int, default=1
        Passes over the data: 1, as the title says; later ones revise the labels chunk by chunk.
    iterations : int, default=30
        Most iterations on a chunk: 30 (authors' script).
    tolerance : float, default=1e-06
        Iterations stop when the loss changes by less than this share: 1e-6 (authors' script).
    order : {"shuffled", "file"}, default="shuffled"
        The order in which samples are read: shuffled (authors' script).
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

    def __init__(
        self,
        n_clusters: int | Literal["auto"] = 8,
        *,
        alpha: float = 1.0,
        chunk_size: int = 250,
        passes: int = 1,
        iterations: int = 30,
        tolerance: float = 1e-06,
        order: Literal["shuffled", "file"] = "shuffled",
        n_clusters_range: tuple[int, int] = (2, 12),
        strict: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.alpha = alpha
        self.chunk_size = chunk_size
        self.passes = passes
        self.iterations = iterations
        self.tolerance = tolerance
        self.order = order
        self.n_clusters_range = n_clusters_range
        self.strict = strict
        self.random_state = random_state
        self.n_jobs = n_jobs


class MKKMIK(MultiViewClusterer):
    """Multiple kernel k-means with incomplete kernels, the cheap relative of ``MkkmIkMkc``.

    ``min tr(K_γ (I - HHᵀ))``, ``K_γ = Σ_p γ_p² K_p``, over ``HᵀH = I``, γ on the simplex, and ``K_p`` ⪰
    0 with its observed block given. Any number of views, any mask.

    Keeps n-by-n matrices: 40 n² bytes beside the observed blocks.

    Its name in the command is ``mkkm-ik``.

    Parameters
    ----------
    n_clusters : int or "auto"
        Number of clusters; "auto" selects one from ``n_clusters_range``.
    kernel : {"linear", "gaussian", "quadratic"}, default="linear"
        The kernel of every view, centered and with unit diagonal, as in ``MkkmIkMkc``.
    scaling : {"unit-rows", "standard", "none"}, default="unit-rows"
        Scaling of the features before the kernel.
    max_iterations : int, default=100
        Most iterations; 100 (authors' code).
    tolerance : float, default=0.001
        Stops after at least three iterations once the objective changes by less than this share; 1e-3
        (authors' code).
    restarts : int, default=50
        Starts of k-means, of which the best is kept; 50 (authors' code).
    max_bytes : int, default=8589934592
        Refuses data whose n-by-n matrices need more; 8 GiB.
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

    def __init__(
        self,
        n_clusters: int | Literal["auto"] = 8,
        *,
        kernel: Literal["linear", "gaussian", "quadratic"] = "linear",
        scaling: Literal["unit-rows", "standard", "none"] = "unit-rows",
        max_iterations: int = 100,
        tolerance: float = 0.001,
        restarts: int = 50,
        max_bytes: int = 8589934592,
        n_clusters_range: tuple[int, int] = (2, 12),
        strict: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.scaling = scaling
        self.max_iterations = max_iterations
        self.tolerance = tolerance
        self.restarts = restarts
        self.max_bytes = max_bytes
        self.n_clusters_range = n_clusters_range
        self.strict = strict
        self.random_state = random_state
        self.n_jobs = n_jobs


class MKKMIKMKC(MultiViewClusterer):
    """Multiple kernel k-means with mutual kernel completion.

    ``min tr(K_γ (I - HHᵀ)) + λ Σ_p ‖K_p - Σ_{q≠p} γ_q K_q‖²``, ``K_γ = Σ_p γ_p² K_p``, over ``HᵀH =
    I``, γ on the simplex, and ``K_p`` ⪰ 0 with its observed block given. Any number of views up to 16,
    any mask.

    Keeps n-by-n matrices, one a view and four of work: 8 (m + 4) n² bytes beside the observed blocks.

    Its name in the command is ``mkkm-ik-mkc``.

    Parameters
    ----------
    n_clusters : int or "auto"
        Number of clusters; "auto" selects one from ``n_clusters_range``.
    kernel : {"linear", "gaussian", "quadratic"}, default="linear"
        The kernel of every view. The CDIMC-net paper names none; linear has no width to choose.
    scaling : {"unit-rows", "standard", "none"}, default="unit-rows"
        Scaling of the features before the kernel; unit rows as in the other methods of the table.
    filling : {"zero", "mean"}, default="zero"
        What unobserved entries start from (authors' code: zero).
    coefficients : {"exact", "authors-code"}, default="exact"
        The coefficients of the completion.
    lambda_ : float | None, default=None
        λ of the objective, twice the λ of the article's text; 1/m if absent (authors' scripts).
    max_iterations : int, default=30
        Most iterations; 30 (authors' settings of MKKM-IK). Their code of this method makes 11.
    tolerance : float, default=0.001
        Stops after at least three iterations once the objective changes by less than this share; 1e-3
        (authors' code). 0 makes all ``max_iterations``.
    restarts : int, default=50
        Starts of k-means, of which the best is kept; 50 (authors' code).
    max_bytes : int, default=8589934592
        Refuses data whose n-by-n matrices need more; 8 GiB.
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

    def __init__(
        self,
        n_clusters: int | Literal["auto"] = 8,
        *,
        kernel: Literal["linear", "gaussian", "quadratic"] = "linear",
        scaling: Literal["unit-rows", "standard", "none"] = "unit-rows",
        filling: Literal["zero", "mean"] = "zero",
        coefficients: Literal["exact", "authors-code"] = "exact",
        lambda_: float | None = None,
        max_iterations: int = 30,
        tolerance: float = 0.001,
        restarts: int = 50,
        max_bytes: int = 8589934592,
        n_clusters_range: tuple[int, int] = (2, 12),
        strict: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.scaling = scaling
        self.filling = filling
        self.coefficients = coefficients
        self.lambda_ = lambda_
        self.max_iterations = max_iterations
        self.tolerance = tolerance
        self.restarts = restarts
        self.max_bytes = max_bytes
        self.n_clusters_range = n_clusters_range
        self.strict = strict
        self.random_state = random_state
        self.n_jobs = n_jobs


class PMVCCGAN(MultiViewClusterer):
    """Partial multi-view clustering by a consistent GAN: two views, every sample in both or in one.

    Stage 1 trains an autoencoder with shared inner layers on the paired samples, every latent decoded
    into both views. Stage 2 trains it against a discriminator a view and completes each absent row.
    Stage 3 pulls Student's t assignments of all samples, completed, towards their target distribution.
    k-means on the mean of both latents gives the labels. Features are scaled to [0, 1] on observed rows
    first.

    Its name in the command is ``pmvc-cgan``.

    Parameters
    ----------
    n_clusters : int or "auto"
        Number of clusters; "auto" selects one from ``n_clusters_range``.
    widths : tuple[int, ...], default=(500, 300, 100)
        Widths of the layers between a view and its latent, the latent last; 500, 300, 100 (authors' code
        for BDGP; theirs for MNIST is not public).
    batch_size : int, default=32
        Samples in one step; 32 for speed. The authors' is 1, see ``PmvcCgan::authors``.
    autoencoder_epochs : int, default=40
        Epochs of stage 1; 40, ten times the authors' for batches of 32.
    adversarial_epochs : int, default=20
        Epochs of stage 2; 20, five times the authors'.
    clustering_epochs : int, default=20
        Epochs of stage 3; 20, two and a half times the authors'.
    learning_rate : float, default=0.0001
        Step length of Adam; 1e-4 (authors' code).
    beta1 : float, default=0.5
        Decay of Adam's mean of gradients; 0.5 (authors' code).
    beta2 : float, default=0.999
        Decay of Adam's mean of squared gradients; 0.999 (authors' code).
    order : {"shuffled", "file"}, default="shuffled"
        The order of the samples in batches, the same in every epoch.
    restarts : int, default=10
        Starts of k-means, of which the best is kept; 10 (the default of the authors' library).
    device : {"cpu", "cuda"}, default="cpu"
        Where the steps are computed.
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

    def __init__(
        self,
        n_clusters: int | Literal["auto"] = 8,
        *,
        widths: tuple[int, ...] = (500, 300, 100),
        batch_size: int = 32,
        autoencoder_epochs: int = 40,
        adversarial_epochs: int = 20,
        clustering_epochs: int = 20,
        learning_rate: float = 0.0001,
        beta1: float = 0.5,
        beta2: float = 0.999,
        order: Literal["shuffled", "file"] = "shuffled",
        restarts: int = 10,
        device: Literal["cpu", "cuda"] = "cpu",
        n_clusters_range: tuple[int, int] = (2, 12),
        strict: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.widths = widths
        self.batch_size = batch_size
        self.autoencoder_epochs = autoencoder_epochs
        self.adversarial_epochs = adversarial_epochs
        self.clustering_epochs = clustering_epochs
        self.learning_rate = learning_rate
        self.beta1 = beta1
        self.beta2 = beta2
        self.order = order
        self.restarts = restarts
        self.device = device
        self.n_clusters_range = n_clusters_range
        self.strict = strict
        self.random_state = random_state
        self.n_jobs = n_jobs


def by_name(method: str) -> type[MultiViewClusterer]:
    """Returns the class of the method with this name in the command."""
    classes = {cls._method: cls for cls in MultiViewClusterer.__subclasses__()}
    if method not in classes:
        raise ValueError(f"unknown method `{method}`: must be one of {', '.join(classes)}")
    cls: type[MultiViewClusterer] = classes[method]
    return cls

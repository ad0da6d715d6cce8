#' Clusters of incomplete multi-view data
#'
#' `tmixture()` fits one mixture of multivariate t distributions over all views: a sample has one cluster in all of them,
#' and a view that it lacks drops out of its likelihood. Nothing is filled in and no network is trained. `cdimc()` runs any
#' method of the engine, CDIMC-net by default.
#'
#' @param x The views, with samples in common: a list of numeric matrices or data frames, `(n_samples, n_features)` each
#'   (samples in rows; rows of `NA`, or row names that a view lacks, are samples that were not measured there); a
#'   `MultiAssayExperiment` (samples in columns, its sample map says which patient a column is of); or a
#'   `SummarizedExperiment` (its first assay). Single missing cells hold their column's mean, with a warning of class
#'   `cdimc_filled_cells`. Values are taken as they are: counts should be on a logarithmic scale.
#' @param k The number of clusters, or `"auto"`: numbers in `range` are tried, see [choose_k()].
#' @param method The name of a method, one of [cdimc_methods()].
#' @param ... Settings of the method, with underscores for hyphens; [cdimc_settings()] has all of them.
#' @param coordinates How rows become coordinates: `"auto"`, chosen by shared information, `"unit"`, `"standard"`,
#'   `"centered"` or `"ranks"`.
#' @param dimensions Coordinates of a view at most, or one more where it has just one column more; fewer in small data.
#' @param degrees_of_freedom Those of the t distributions, at most 1e6.
#' @param starts Starts of the search.
#' @param range The first and last number of clusters that `k = "auto"` tries; 1 asks whether there is any structure.
#' @param seed The seed of all randomness, a whole number. Without it R's own generator gives one, so that
#'   [set.seed()] decides. The same seed gives the labels of the command `cdimc` and of the Python package, to the bit.
#' @param strict Whether single missing cells are refused.
#' @param threads Threads at most.
#' @param progress Whether steps are shown on the standard error.
#' @param test_markers Whether markers are tested, which takes a fit for every view.
#'
#' @return An object of class `cdimc`, a list of
#' * `cluster`: the cluster of every sample, `1..k`, named; `NA` for a sample without a value in any view.
#' * `k`, `method`, `settings`, `seed`: what was asked, defaults included.
#' * `confidence`, `losses`, `unusual`: how sure the cluster of every sample is, in \[0, 1\]; its clustering loss; whether
#'   it is unlike all others. `NULL` where the method does not say.
#' * `probabilities`: `(n_samples, k)`, rows of sum 1, or `NULL`.
#' * `embedding`: the common representation, `(n_samples, n_components)`, or `NULL`.
#' * `observed`: which sample has which view, `(n_samples, n_views)`.
#' * `contributions`: for every view what it and the others say about one another, in nats (`tmixture()` alone).
#' * `markers`: the columns that set each cluster apart, as the command's `markers.csv` has them: Hedges' g with its interval,
#'   AUC, means; and if `test_markers`, p and q against the clusters that the other views alone give.
#' * `cluster_number`: what [choose_k()] gives, if `k` was `"auto"`.
#' * `curves`, `facts`, `warnings`: what was recorded along the way.
#' * `model`: the bytes of the model file, see [write_model()]; `NULL` where a method keeps no model.
#'
#' Errors are conditions of class `cdimc_error` with `name`, `value` and `rule`. Interrupting R stops the fit.
#' @references Peel and McLachlan, Statistics and Computing 10 (2000), \doi{10.1023/A:1008981510081}. Wen et al.,
#'   CDIMC-net, IJCAI 2020, \doi{10.24963/ijcai.2020/447}.
#' @seealso [predict.cdimc()], [impute()], [stability()], [plot.cdimc()], [compare()].
#' @examples
#' made <- simulate_views(120, 3, seed = 1)
#' views <- hide_views(made$views, missing_mask("per-view:0.3", 120, 3, seed = 1))
#' fit <- tmixture(views, 3, seed = 0)
#' fit
#' scores(made$class, fit$cluster)["acc"]
#' @export
tmixture <- function(x, k, ..., coordinates = "auto", dimensions = 20, degrees_of_freedom = 5, starts = 16,
                     range = c(2, 12), seed = NULL, strict = FALSE, threads = getOption("cdimc.threads", 2),
                     progress = interactive(), test_markers = FALSE) {
  cdimc(x, k, "t-mixture",
    coordinates = coordinates, dimensions = dimensions, degrees_of_freedom = degrees_of_freedom, starts = starts, ...,
    range = range, seed = seed, strict = strict, threads = threads, progress = progress, test_markers = test_markers
  )
}

#' @rdname tmixture
#' @export
cdimc <- function(x, k, method = "cdimc-net", ..., range = c(2, 12), seed = NULL, strict = FALSE,
                  threads = getOption("cdimc.threads", 2), progress = interactive(), test_markers = FALSE) {
  number <- if (identical(k, "auto")) range_of(range) else whole(k, "k", 2)
  method <- one_of(method, "method", cdimc_methods())
  seed <- seed_of(seed)
  test_markers <- flag(test_markers, "test_markers")
  fit_views(as_views(x), number, method, settings_in(list(...)), seed, strict, threads, progress, test_markers)
}

# The fit of views; `seed` may say which stream of a root it is.
fit_views <- function(views, number, method, settings, seed, strict, threads, progress, test_markers = FALSE) {
  start <- .Call(
    wrap__fit, method, settings, views, number, seed, test_markers, flag(strict, "strict"), threads_of(threads)
  )
  found <- result_of(start, flag(progress, "progress"))
  warn(found)
  samples <- samples_of(views)
  all <- function(values) spread(values, found, samples)
  observed <- found$observed
  colnames(observed) <- found$view_names
  observed <- all(observed)
  observed[is.na(observed)] <- FALSE
  markers <- as.data.frame(found$markers, stringsAsFactors = FALSE)
  # Names stay text, be they "0001" or "NA".
  numbers <- setdiff(names(markers), c("view", "column"))
  markers[numbers] <- lapply(markers[numbers], utils::type.convert, as.is = TRUE)
  markers$cluster <- markers$cluster + 1L
  structure(
    list(
      cluster = all(found$labels + 1L), k = found$n_clusters, method = method,
      settings = value_of(.Call(wrap__settings_of, method, settings)), seed = seed[1],
      confidence = all(found$confidence), losses = all(found$losses), unusual = all(found$unusual),
      probabilities = all(with_columns(found$probabilities)), embedding = all(found$embedding),
      observed = observed, features = stats::setNames(found$features, found$view_names),
      contributions = contributions_of(found$facts, found$view_names), markers = markers,
      cluster_number = choice_of(found$cluster_number), curves = found$curves, facts = found$facts,
      warnings = found$cluster_warnings, model = found$model
    ),
    class = "cdimc"
  )
}

#' The methods there are, and their settings
#'
#' @param method The name of a method.
#' @return `cdimc_methods()`: the names of all methods, the default first. `cdimc_settings()`: the settings of one with
#'   their defaults, a list; in calls underscores stand for its hyphens.
#' @examples
#' cdimc_methods()
#' str(cdimc_settings("t-mixture"))
#' @export
cdimc_methods <- function() .Call(wrap__methods)

#' @rdname cdimc_methods
#' @export
cdimc_settings <- function(method = "t-mixture") {
  method <- one_of(method, "method", cdimc_methods())
  value_of(.Call(wrap__settings_of, method, NULL))
}

range_of <- function(range) {
  ok <- is.numeric(range) && length(range) == 2 && all(is.finite(range)) && all(range == floor(range)) &&
    range[1] >= 1 && range[2] >= max(2, range[1])
  if (!ok) refuse("range", range, "must be two whole numbers, from 1 or more to 2 or more")
  as.numeric(range)
}

# Settings as the engine spells them; NULL leaves a setting as it is.
settings_in <- function(settings) {
  unnamed <- if (is.null(names(settings))) length(settings) else sum(names(settings) == "")
  if (unnamed) refuse("settings without names", unnamed, "must be 0")
  settings <- settings[!vapply(settings, is.null, logical(1))]
  if (!length(settings)) return(NULL)
  spell <- function(settings) {
    names(settings) <- gsub("_", "-", names(settings), fixed = TRUE)
    Map(spell_one, names(settings), settings)
  }
  spell_one <- function(name, value) {
    if (is.list(value)) return(spell(value))
    # JSON has no such number: the engine would see null, which leaves a setting as it is.
    odd <- is.atomic(value) && (anyNA(value) || is.numeric(value) && any(is.infinite(value)))
    if (odd) refuse(name, value, "must be finite")
    value
  }
  spell(settings)
}

contributions_of <- function(facts, view_names) {
  found <- facts$findings$contributions
  if (is.null(found)) return(NULL)
  data.frame(
    view = view_names,
    # A single view shares nothing that could be measured.
    shared_information = vapply(found, function(of) as.double(c(of$`shared-information`, NA)[1]), 0),
    n_samples = as.integer(vapply(found, `[[`, 0, "n-samples"))
  )
}

with_columns <- function(values) {
  if (!is.null(values)) colnames(values) <- seq_len(ncol(values))
  values
}

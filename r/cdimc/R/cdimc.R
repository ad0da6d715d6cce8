#' Cluster incomplete multi-view data
#'
#' `tmixture()` fits one mixture of multivariate t distributions over all views: a sample has the same cluster in all of
#' them, and a missing view is left out of its likelihood. It imputes no views and trains no network. `cdimc()` runs any
#' method, by default the same mixture.
#'
#' @param x The views, with common samples: a list of numeric matrices or data frames, `(n_samples, n_features)` each
#'   (samples in rows; a sample is missing in a view if its row is `NA` or its row name is absent); a
#'   `MultiAssayExperiment` (samples in columns; its sample map gives the patient of each column); or a
#'   `SummarizedExperiment` (its first assay). Single missing cells are replaced by the mean of their column, with a
#'   warning of class `cdimc_filled_cells`. Values are not transformed: take logarithms of counts first.
#' @param k Number of clusters, or `"auto"` to select one from `range`, see [choose_k()].
#' @param method Name of a method, one of [cdimc_methods()].
#' @param ... Settings of the method, with underscores instead of hyphens; [cdimc_settings()] lists them.
#' @param coordinates Conversion of rows to coordinates: `"auto"` (selected by shared information), `"unit"`, `"standard"`,
#'   `"centered"` or `"ranks"`.
#' @param dimensions Largest number of coordinates per view, or one more if the view has one more column; fewer for few samples.
#' @param degrees_of_freedom Degrees of freedom of the t distributions, at most 1e6.
#' @param starts Number of random starts.
#' @param range Smallest and largest number of clusters for `k = "auto"`; 1 tests whether there is any structure.
#' @param seed Seed of all randomness, a whole number; by default drawn from R's generator, so that [set.seed()]
#'   applies. The same seed gives the same results as the command `cdimc` and the Python package, to the bit.
#' @param strict Whether single missing cells are an error.
#' @param threads Largest number of threads.
#' @param progress Whether to show steps on standard error.
#' @param test_markers Whether to test markers, which needs one more fit per view.
#'
#' @return An object of class `cdimc`, a list of
#' * `cluster`: cluster of every sample, `1..k`, named; `NA` for a sample without a value in any view. Results per
#'   sample are in the order of `colData`, or of the samples' first appearance in a list of views.
#' * `k`, `method`, `settings`, `seed`: the arguments, with defaults.
#' * `confidence`, `losses`, `unusual`: per sample, confidence of the cluster in \[0, 1\] (high is good), clustering loss
#'   (low is good), and whether it is unlike all other samples; each is `NULL` if the method does not compute it.
#' * `probabilities`: `(n_samples, k)`, rows sum to 1, or `NULL`.
#' * `embedding`: common representation, `(n_samples, n_components)`, or `NULL`.
#' * `observed`: whether each sample has each view, `(n_samples, n_views)`.
#' * `contributions`: information that each view shares with the others, in nats (only `tmixture()`).
#' * `markers`: columns that differ between each cluster and the other samples, like the command's `markers.csv`: Hedges' g
#'   with its interval, AUC, means; with `test_markers` also p and q from clusters of the other views.
#' * `table`: the results per sample, as by [as.data.frame.cdimc()].
#' * `cluster_number`: result of [choose_k()], if `k` was `"auto"`.
#' * `curves`, `facts`, `warnings`: records of the fit.
#' * `model`: bytes of the model file, see [write_model()]; `NULL` if the method has no model.
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
cdimc <- function(x, k, method = "t-mixture", ..., range = c(2, 12), seed = NULL, strict = FALSE,
                  threads = getOption("cdimc.threads", 2), progress = interactive(), test_markers = FALSE) {
  number <- if (identical(k, "auto")) range_of(range) else whole(k, "k", 2)
  method <- one_of(method, "method", cdimc_methods())
  seed <- seed_of(seed)
  test_markers <- flag(test_markers, "test_markers")
  fit_views(as_views(x), number, method, settings_in(list(...)), seed, strict, threads, progress, test_markers)
}

# Fits a method to views; `seed` may have a second number that selects a stream.
fit_views <- function(views, number, method, settings, seed, strict, threads, progress, test_markers = FALSE) {
  start <- .Call(
    wrap__fit, method, settings, views, number, seed, test_markers, flag(strict, "strict"), threads_of(threads)
  )
  fit <- result_of(start, flag(progress, "progress"))
  found <- c(fit$found, list(cluster_warnings = fit$cluster_warnings))
  warn(found)
  samples <- samples_of(views)
  table <- sample_table(found, samples)
  all <- function(values) spread(values, found, samples)
  observed <- fit$observed
  colnames(observed) <- fit$view_names
  observed <- all(observed)
  observed[is.na(observed)] <- FALSE
  markers <- as.data.frame(fit$markers, stringsAsFactors = FALSE)
  # Names stay text, even "0001" or "NA".
  numbers <- setdiff(names(markers), c("view", "column"))
  markers[numbers] <- lapply(markers[numbers], utils::type.convert, as.is = TRUE)
  markers$cluster <- markers$cluster + 1L
  structure(
    list(
      cluster = column(table, "cluster"), k = fit$n_clusters, method = method,
      settings = value_of(.Call(wrap__settings_of, method, settings)), seed = seed[1],
      confidence = column(table, "confidence"), losses = column(table, "loss"), unusual = column(table, "unusual"),
      probabilities = all(with_columns(found$probabilities)), embedding = all(found$embedding),
      observed = observed, features = stats::setNames(fit$features, fit$view_names),
      contributions = contributions_of(fit$facts, fit$view_names), markers = markers, table = table,
      cluster_number = choice_of(fit$cluster_number), curves = fit$curves, facts = fit$facts,
      warnings = fit$cluster_warnings, model = fit$model
    ),
    class = "cdimc"
  )
}

#' Methods and their settings
#'
#' @param method Name of a method.
#' @return `cdimc_methods()`: names of all methods, default first. `cdimc_settings()`: list of the settings of a method
#'   with their defaults; in calls, write underscores instead of hyphens.
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

# Returns settings with the engine's names; NULL keeps the default.
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
    # JSON has no such number; it would become null, which keeps the default.
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
    # A single view has no shared information.
    shared_information = vapply(found, function(of) as.double(c(of$`shared-information`, NA)[1]), 0),
    n_samples = as.integer(vapply(found, `[[`, 0, "n-samples"))
  )
}

with_columns <- function(values) {
  if (!is.null(values)) colnames(values) <- seq_len(ncol(values))
  values
}

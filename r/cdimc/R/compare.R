#' Compare methods
#'
#' @inheritParams tmixture
#' @param k Number of clusters.
#' @param methods Names of methods, see [cdimc_methods()].
#' @param truth Known classes, only for scores: a vector in the order of the samples, or with their names; `NA` if
#'   unknown.
#' @param repetitions Number of seeds per method.
#' @return A data frame with one row per method: `method`; `stability`, the mean adjusted Rand index between the repetitions
#'   (high is good); `seconds` per run; with `truth` the means of `acc`, `nmi`, `ari` and `purity` (see [scores()]); `note`,
#'   the reason if there are no clusters. Its attribute `clusters` has the clusters of all runs. `cdimc compare` uses the
#'   same seeds.
#' @examples
#' made <- simulate_views(90, 3, seed = 1)
#' compare(made$views, 3, c("t-mixture", "concat"), truth = made$class, repetitions = 2, seed = 0)
#' @export
compare <- function(x, k, methods = c("t-mixture", "concat"), truth = NULL, repetitions = 3, seed = NULL, strict = FALSE,
                    threads = getOption("cdimc.threads", 2), progress = interactive()) {
  views <- as_views(x)
  k <- whole(k, "k", 2)
  if (!length(methods)) refuse("methods", "none", "must be at least one")
  for (method in methods) one_of(method, "methods", cdimc_methods())
  repetitions <- whole(repetitions, "repetitions", 1)
  seed <- seed_of(seed)
  samples <- samples_of(views)
  truth <- truth_of(truth, samples)
  runs <- lapply(unique(methods), function(method) {
    began <- proc.time()[["elapsed"]]
    clusters <- tryCatch(
      lapply(seq_len(repetitions), function(r) {
        fit_views(views, k, method, NULL, c(seed, if (r > 1) r - 1), strict, threads, progress)$cluster
      }),
      cdimc_error = function(condition) conditionMessage(condition)
    )
    list(method = method, clusters = clusters, seconds = (proc.time()[["elapsed"]] - began) / repetitions)
  })
  rows <- lapply(runs, row_of, truth = truth)
  clusters <- lapply(runs, function(run) if (is.list(run$clusters)) do.call(cbind, run$clusters))
  structure(do.call(rbind, rows), clusters = stats::setNames(clusters, unique(methods)))
}

row_of <- function(run, truth) {
  failed <- !is.list(run$clusters)
  row <- data.frame(method = run$method, stability = NA_real_, seconds = run$seconds)
  if (!failed && length(run$clusters) > 1) {
    pairs <- utils::combn(length(run$clusters), 2)
    agree <- function(pair) scores(run$clusters[[pair[1]]], run$clusters[[pair[2]]])[["ari"]]
    row$stability <- mean(apply(pairs, 2, agree))
  }
  if (!is.null(truth)) {
    wanted <- c("acc", "nmi", "ari", "purity")
    row[wanted] <- NA_real_
    if (!failed) {
      row[wanted] <- as.list(rowMeans(vapply(run$clusters, function(x) scores(truth, x)[wanted], numeric(4))))
    }
  }
  row$note <- if (failed) run$clusters else ""
  row
}

truth_of <- function(truth, samples) {
  if (is.null(truth)) return(NULL)
  if (!is.null(names(truth))) {
    truth <- stats::setNames(truth[match(samples, names(truth))], samples)
  } else if (length(truth) != length(samples)) {
    refuse("length of truth", length(truth), sprintf("must be %d, the number of samples, or have their names", length(samples)))
  }
  if (all(is.na(truth))) refuse("truth", "all NA", "must be known of some sample")
  truth
}

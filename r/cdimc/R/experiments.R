#' Views with a known truth
#'
#' Gaussian clusters in a few hidden factors, seen through random maps.
#'
#' @param n The number of samples.
#' @param k The number of clusters, whose sizes differ by one at most.
#' @param widths Features of each view.
#' @param maps The kind of each view, `"linear"` or `"nonlinear"`.
#' @param factors Hidden factors that all views share.
#' @param separation Standard deviation of the cluster centers, in units of that within a cluster.
#' @param noise Standard deviation of what each feature adds of its own.
#' @param outliers Share of the samples that are outliers of each view on its own.
#' @param seed As for [tmixture()].
#' @return A list of `views`, matrices `(n, width)`, and `class`, the class of every sample, `1..k`.
#' @examples
#' str(simulate_views(60, 3, seed = 1))
#' @export
simulate_views <- function(n = 300, k = 4, widths = c(12, 7, 20), maps = c("linear", "nonlinear", "linear"), factors = 5,
                           separation = 3, noise = 0.3, outliers = 0.02, seed = NULL) {
  if (length(widths) != length(maps)) {
    refuse("widths and maps", c(length(widths), length(maps)), "must be as many")
  }
  for (map in maps) one_of(map, "maps", c("linear", "nonlinear"))
  view <- function(width, map) list(width = whole(width, "widths", 1), map = map)
  description <- list(
    `n-samples` = whole(n, "n", 1), `n-clusters` = whole(k, "k", 1), `n-factors` = whole(factors, "factors", 1),
    separation = separation, views = unname(Map(view, widths, maps)), noise = noise, outliers = outliers
  )
  made <- value_of(.Call(wrap__synthetic, description, seed_of(seed)))
  list(views = made$views, class = made$class + 1L)
}

#' Which views of which samples to hide
#'
#' @param pattern A missing pattern in the command's words: `"complete"`; `"per-view:0.3"`, a share of the samples misses
#'   from every view, or `"per-view:0.1,0.5"` one for each; `"paired:0.5"`, that share keeps every view, the others one;
#'   `"incomplete:0.4:mem"` (`mcar`, `mnar`, `pm`), that share misses something; `"cells:0.3"` of all (sample, view) cells;
#'   `"blocks:0.3"` of consecutive samples; `"random-views:2"` views that a sample keeps; `"chain"`; `"ring"`;
#'   `"given:110,011"`, a row a sample.
#' @param n,n_views The numbers of samples and of views.
#' @param seed As for [tmixture()].
#' @param views A list of matrices, `(n_samples, n_features)` each.
#' @param mask `(n_samples, n_views)`, `TRUE` where observed.
#' @return `missing_mask()`: a mask, in which every sample has a view and every view a sample. `hide_views()`: the views,
#'   rows of `NA` where the mask is `FALSE`.
#' @examples
#' mask <- missing_mask("per-view:0.3", 10, 3, seed = 0)
#' colSums(mask)
#' @export
missing_mask <- function(pattern, n, n_views, seed = NULL) {
  if (!is.character(pattern) || length(pattern) != 1) refuse("pattern", pattern, "must be one text")
  value_of(.Call(wrap__mask, pattern, whole(n, "n", 1), whole(n_views, "n_views", 1), seed_of(seed)))
}

#' @rdname missing_mask
#' @export
hide_views <- function(views, mask) {
  if (!is.list(views) || !all(vapply(views, is.matrix, logical(1)))) {
    refuse("class of views", class(views), "must be a list of matrices")
  }
  if (!is.logical(mask) || !is.matrix(mask) || anyNA(mask) || ncol(mask) != length(views)) {
    refuse("shape of mask", dim(mask), sprintf("must be TRUE and FALSE with %d columns, one a view", length(views)))
  }
  for (v in seq_along(views)) {
    if (nrow(views[[v]]) != nrow(mask)) {
      refuse("rows of mask", nrow(mask), sprintf("must be %d, the number of samples", nrow(views[[v]])))
    }
    views[[v]][!mask[, v], ] <- NA
  }
  views
}

#' Scores of a clustering against the truth
#'
#' @param truth,found Classes and clusters of the same samples, numbers or names; samples where either is `NA` do not count.
#' @return `scores()`: a named vector: `acc`, the share of samples in the class that the best naming gives their cluster;
#'   `nmi` over the arithmetic mean of the entropies and its other normalizations; `ari`; `purity`; `precision`, `recall`
#'   and `f` over pairs. `match_labels()`: the class that the best naming gives each cluster, named by cluster, `NA` for
#'   none.
#' @examples
#' scores(c(1, 1, 2, 2, 3, 3), c(5, 5, 3, 3, 3, 9))[c("acc", "purity")]
#' match_labels(c("a", "a", "b", "b"), c(2, 2, 1, 1))
#' @export
scores <- function(truth, found) {
  pair <- known_pair(truth, found)
  unlist(value_of(.Call(wrap__all_scores, pair$truth$number, pair$found$number)))
}

#' @rdname scores
#' @export
match_labels <- function(truth, found) {
  pair <- known_pair(truth, found)
  naming <- value_of(.Call(wrap__best_naming, pair$truth$number, pair$found$number))
  stats::setNames(pair$truth$levels[naming$class + 1L], pair$found$levels[naming$cluster + 1L])
}

known_pair <- function(truth, found) {
  if (length(truth) != length(found)) {
    refuse("lengths of truth and found", c(length(truth), length(found)), "must be the same")
  }
  known <- !is.na(truth) & !is.na(found)
  number <- function(labels) {
    if (!is.atomic(labels)) refuse("class of labels", class(labels), "must be a vector or a factor")
    labels <- if (is.factor(labels)) as.character(labels[known]) else labels[known]
    levels <- sort(unique(labels))
    list(number = match(labels, levels) - 1L, levels = levels)
  }
  list(truth = number(truth), found = number(found))
}

#' Simulate views with known classes
#'
#' Draws Gaussian clusters in a few hidden factors and maps them to features at random.
#'
#' @param n Number of samples.
#' @param k Number of clusters; their sizes differ by at most one.
#' @param widths Number of features of each view.
#' @param maps Kind of each view, `"linear"` or `"nonlinear"`.
#' @param factors Number of hidden factors, shared by all views.
#' @param separation Standard deviation (SD) of the cluster centers, in SD within a cluster.
#' @param noise Standard deviation of the noise of each feature.
#' @param outliers Fraction of samples that are outliers, per view.
#' @param seed Same as for [tmixture()].
#' @return A list of `views`, matrices `(n, width)`, and `class`, the class of each sample, `1..k`.
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

#' Draw a missing mask and hide views
#'
#' @param pattern A missing pattern of the command: `"complete"`; `"per-view:0.3"`, the fraction of samples missing from
#'   every view, or `"per-view:0.1,0.5"`, one fraction per view; `"paired:0.5"`, the fraction of samples with all views, the
#'   others have one; `"incomplete:0.4:mem"` (or `mcar`, `mnar`, `pm`), the fraction of incomplete samples; `"cells:0.3"`,
#'   the missing fraction of (sample, view) cells; `"blocks:0.3"`, the fraction of consecutive samples missing from every
#'   view; `"random-views:2"`, the number of views per sample; `"chain"`; `"ring"`; `"given:110,011"`, one row per sample.
#' @param n,n_views Numbers of samples and views.
#' @param seed Same as for [tmixture()].
#' @param views A list of matrices, `(n_samples, n_features)` each.
#' @param mask `(n_samples, n_views)`, `TRUE` if observed.
#' @return `missing_mask()`: a mask; every sample has a view and every view a sample. `hide_views()`: the views with rows
#'   of `NA` for all `FALSE` cells of the mask.
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

#' Score a clustering against known classes
#'
#' @param truth,found Classes and clusters of the same samples, numbers or names; samples with `NA` in either are ignored.
#'   Matched by name if both have names, else by order.
#' @return `scores()`: a named vector, high is good: `acc`, the fraction of correct samples after the best matching of
#'   clusters and classes; `nmi` (divided by the arithmetic mean of the entropies) and other normalizations; `ari`;
#'   `purity`; `precision`, `recall` and `f` over pairs of samples. `match_labels()`: the class of each cluster in the best
#'   matching, named by cluster, `NA` for a cluster without a class.
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
  # Names that have nothing in common do not name the samples of both.
  shared <- intersect(names(truth), names(found))
  if (length(shared)) {
    if (length(shared) < length(truth)) {
      refuse("names shared by truth and found", length(shared), sprintf("must be all %d", length(truth)))
    }
    found <- found[names(truth)]
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

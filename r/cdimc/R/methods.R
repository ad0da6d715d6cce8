# What a fit can say: S3 methods.

#' @export
print.cdimc <- function(x, ...) {
  sizes <- table(factor(x$cluster, seq_len(x$k)))
  cat(sprintf("%d clusters of %d samples in %d views, by %s\n", x$k, length(x$cluster), ncol(x$observed), x$method))
  cat("samples of each cluster:", paste(sizes, collapse = ", "), "\n")
  invisible(x)
}

#' What a fit found
#'
#' @param object,x A fit.
#' @param ... Not used.
#' @return A list of class `summary.cdimc` with `clusters` (number of samples and mean confidence of each), `views` (samples
#'   that have each, and its contribution), and `warnings`.
#' @export
summary.cdimc <- function(object, ...) {
  check_fit(object, "object")
  cluster <- factor(object$cluster, seq_len(object$k))
  clusters <- data.frame(cluster = seq_len(object$k), n_samples = as.integer(table(cluster)))
  if (!is.null(object$confidence)) {
    clusters$confidence <- as.numeric(tapply(object$confidence, cluster, mean))
  }
  views <- data.frame(view = colnames(object$observed), n_samples = colSums(object$observed), row.names = NULL)
  views$shared_information <- object$contributions$shared_information
  found <- list(fit = object, clusters = clusters, views = views, warnings = object$warnings)
  structure(found, class = "summary.cdimc")
}

#' @rdname summary.cdimc
#' @export
print.summary.cdimc <- function(x, ...) {
  print(x$fit)
  cat("\nclusters\n")
  print(x$clusters, row.names = FALSE, digits = 3)
  cat("\nviews (shared information in nats)\n")
  print(x$views, row.names = FALSE, digits = 3)
  for (text in x$warnings) cat("\n", paste(strwrap(text), collapse = "\n"), "\n", sep = "")
  invisible(x)
}

#' A fit as a table
#'
#' @param x A fit.
#' @param row.names,optional,... As for [as.data.frame()].
#' @return A data frame of one row a sample: `sample`, `cluster`, and where the method has them `confidence`, `loss` and
#'   `unusual`; `views`, the number of views that the sample has.
#' @export
as.data.frame.cdimc <- function(x, row.names = NULL, optional = FALSE, ...) {
  check_fit(x, "x")
  table <- data.frame(sample = names(x$cluster), cluster = unname(x$cluster), stringsAsFactors = FALSE)
  table$confidence <- unname(x$confidence)
  table$loss <- unname(x$losses)
  table$unusual <- unname(x$unusual)
  table$views <- as.integer(rowSums(x$observed))
  if (!is.null(row.names)) row.names(table) <- row.names
  table
}

#' Clusters of new samples
#'
#' @param object A fit, or a model that [read_model()] gave.
#' @param newdata New samples with any subset of the views, in the forms that [tmixture()] takes; a list without names has
#'   all views in their order, `NULL` for those not there. Columns go by name. Without it, the samples of the fit.
#' @param type What is wanted: the `"cluster"` of every sample, its `"probabilities"`, its `"embedding"`, or `"all"`.
#' @param strict,threads As for [tmixture()].
#' @param ... Not used.
#' @return A named vector of clusters, `NA` for a sample without a value in any view; a matrix `(n_samples, k)` of
#'   probabilities, or `(n_samples, n_components)`; or a data frame with `cluster`, `confidence`, `loss` and `unusual`
#'   (unlike anything in the fit).
#' @export
predict.cdimc <- function(object, newdata = NULL, type = "cluster", strict = FALSE,
                          threads = getOption("cdimc.threads", 2), ...) {
  type <- one_of(type, "type", c("cluster", "probabilities", "embedding", "all"))
  if (is.null(newdata)) {
    if (is.null(object$cluster)) refuse("newdata", "NULL", "must be given for a model from a file")
    found <- object[c("cluster", "probabilities", "embedding", "confidence", "losses", "unusual")]
    samples <- names(object$cluster)
  } else {
    views <- as_views(newdata, object$features)
    said <- said_of(views, object, function(views) {
      .Call(wrap__model_predict, model_of(object), views, flag(strict, "strict"), threads_of(threads))
    })
    samples <- samples_of(views)
    said$cluster <- said$labels + 1L
    said$probabilities <- with_columns(said$probabilities)
    wanted <- c("cluster", "probabilities", "embedding", "confidence", "losses", "unusual")
    found <- lapply(said[wanted], spread, found = said, samples = samples)
  }
  if (type == "all") {
    table <- data.frame(sample = samples, cluster = unname(found$cluster), stringsAsFactors = FALSE)
    table$confidence <- unname(found$confidence)
    table$loss <- unname(found$losses)
    table$unusual <- unname(found$unusual)
    return(table)
  }
  if (is.null(found[[type]])) refuse("method", object$method, sprintf("must be one that has %s", type))
  found[[type]]
}

#' The probability of every cluster
#'
#' @param object A fit, or a model that [read_model()] gave.
#' @param ... `newdata` and what else [predict.cdimc()] takes.
#' @return `(n_samples, k)`, rows of sum 1. They are about right where clusters are the classes, else too sure.
#' @export
probabilities <- function(object, ...) stats::predict(object, ..., type = "probabilities")

#' Missing views filled in
#'
#' @param object A fit, or a model that [read_model()] gave.
#' @param x Samples with any subset of the views, as `newdata` of [predict.cdimc()].
#' @param strict,threads As for [tmixture()].
#' @param ... Not used.
#' @return A list of all views of the fit, `(n_samples, n_features)` each with names: observed values as they are, missing
#'   ones as the model makes them out of the others.
#' @examples
#' made <- simulate_views(90, 3, seed = 1)
#' views <- hide_views(made$views, missing_mask("per-view:0.2", 90, 3, seed = 1))
#' fit <- tmixture(views, 3, seed = 0)
#' vapply(impute(fit, views), anyNA, TRUE)
#' @export
impute <- function(object, x, ...) UseMethod("impute")

#' @rdname impute
#' @export
impute.cdimc <- function(object, x, strict = FALSE, threads = getOption("cdimc.threads", 2), ...) {
  views <- as_views(x, object$features)
  done <- said_of(views, object, function(views) {
    .Call(wrap__model_impute, model_of(object), views, flag(strict, "strict"), threads_of(threads))
  })
  samples <- samples_of(views)
  filled <- lapply(done$views, spread, found = done, samples = samples)
  name <- function(values, features) {
    colnames(values) <- features
    values
  }
  stats::setNames(Map(name, filled, object$features), names(object$features))
}

#' How far clusters stay the same in subsamples
#'
#' @param object A fit of [tmixture()].
#' @param x The samples of the fit.
#' @param n Subsamples, random four fifths of the samples each.
#' @param seed,strict,threads,progress As for [tmixture()]; the seed is that of the fit if not given.
#' @param ... Not used.
#' @return A list: `clusters`, the mean Jaccard index of every cluster with the one most like it, in \[0, 1\] (below 0.6
#'   nothing should be built on it); `samples`, the mean share of its cluster's others that every sample stays with.
#' @references Hennig, Computational Statistics & Data Analysis 52 (2007), \doi{10.1016/j.csda.2006.11.025}.
#' @export
stability <- function(object, x, ...) UseMethod("stability")

#' @rdname stability
#' @export
stability.cdimc <- function(object, x, n = 50, seed = object$seed, strict = FALSE,
                            threads = getOption("cdimc.threads", 2), progress = interactive(), ...) {
  views <- as_views(x, object$features)
  start <- .Call(
    wrap__model_stability, model_of(object), views, as.integer(whole(n, "n", 1, 1e6)), seed_of(seed),
    flag(strict, "strict"), threads_of(threads)
  )
  said <- result_of(start, flag(progress, "progress"))
  list(
    clusters = stats::setNames(said$found$clusters, seq_along(said$found$clusters)),
    samples = spread(said$found$samples, said, samples_of(views))
  )
}

#' Pictures of a fit
#'
#' @param x A fit.
#' @param which What to show: the first two coordinates of the `"embedding"`, who has which view (`"observed"`), or the
#'   `"contributions"` of the views.
#' @param ... Goes to the functions of graphics.
#' @return The fit, invisibly.
#' @export
plot.cdimc <- function(x, which = "embedding", ...) {
  which <- one_of(which, "which", c("embedding", "observed", "contributions"))
  # A model from a file knows what its views contribute.
  if (which != "contributions") check_fit(x, "x")
  if (which == "contributions" && is.null(x$contributions) || which == "embedding" && is.null(x$embedding)) {
    refuse("method", x$method, sprintf("must be one that has %s", sub("s$", "", which)))
  }
  colors <- grDevices::hcl.colors(max(x$k, 2), "Dark 3")
  switch(which,
    embedding = {
      at <- x$embedding
      second <- if (ncol(at) > 1) at[, 2] else rep(0, nrow(at))
      graphics::plot(at[, 1], second, col = colors[x$cluster], pch = 19, xlab = "first", ylab = "second", ...)
      graphics::legend("topright", legend = seq_len(x$k), col = colors[seq_len(x$k)], pch = 19, title = "cluster")
    },
    observed = {
      order <- order(x$cluster)
      views <- seq_len(ncol(x$observed))
      has <- x$observed[order, , drop = FALSE] * x$cluster[order]
      has[is.na(has) | has == 0] <- NA
      graphics::image(seq_along(order), views, has,
        col = colors, zlim = c(1, max(x$k, 2)), xlab = "samples, by cluster", ylab = "", yaxt = "n", ...
      )
      graphics::axis(2, views, colnames(x$observed), las = 1, tick = FALSE)
    },
    contributions = graphics::barplot(
      stats::setNames(x$contributions$shared_information, x$contributions$view),
      ylab = "shared information, nats", ...
    )
  )
  invisible(x)
}

# What the model says of new samples; those without a value in any view are in `unobserved` alone.
said_of <- function(views, object, start) {
  there <- vapply(views, function(view) !all(is.na(view$values)), logical(1))
  if (any(there)) {
    said <- result_of(start(views[there]))
  } else {
    # What the model says of a sample made up has the shape of what it would say of these; no value is used.
    features <- object$features[[1]]
    values <- matrix(1, 1, length(features))
    made_up <- list(name = names(object$features)[1], values = values, samples = NULL, features = features)
    said <- result_of(start(list(made_up)))
    said[c("samples", "filled", "data_warnings")] <- list(character(0), NULL, NULL)
  }
  said$unobserved <- setdiff(samples_of(views), said$samples)
  warn(said)
  said
}

check_fit <- function(x, name) {
  if (is.null(x$cluster)) refuse(name, "a model from a file", "must be a fit, which has the samples")
}

model_of <- function(object) {
  if (is.null(object$model)) refuse("method", object$method, "must be t-mixture or cdimc-net: others keep no model")
  object$model
}

# S3 methods of a fit.

#' @export
print.cdimc <- function(x, ...) {
  sizes <- table(factor(x$cluster, seq_len(x$k)))
  cat(sprintf("%d clusters of %d samples in %d views, by %s\n", x$k, length(x$cluster), ncol(x$observed), x$method))
  cat("samples of each cluster:", paste(sizes, collapse = ", "), "\n")
  invisible(x)
}

#' Summarize a fit
#'
#' @param object,x A fit.
#' @param ... Ignored.
#' @return A list of class `summary.cdimc` with `clusters` (number of samples and mean confidence), `views` (number of
#'   samples and contribution), and `warnings`.
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

#' Convert a fit to a data frame
#'
#' @param x A fit.
#' @param row.names,optional,... Same as for [as.data.frame()].
#' @return A data frame with one row per sample: `sample`, then the columns of the command's `labels.csv` that the method
#'   computes, such as `cluster`, `confidence` and `views`, the number of views of the sample. Clusters are counted from 1.
#' @export
as.data.frame.cdimc <- function(x, row.names = NULL, optional = FALSE, ...) {
  check_fit(x, "x")
  table <- x$table
  if (!is.null(row.names)) row.names(table) <- row.names
  table
}

#' Predict clusters of new samples
#'
#' @param object A fit, or a model from [read_model()].
#' @param newdata New samples with any subset of the views, in any form that [tmixture()] takes; by default the samples of
#'   the fit. A list without names has all views in order, with `NULL` for a missing view. Columns are matched by name.
#' @param type Result: `"cluster"`, `"probabilities"`, `"embedding"`, or `"all"`.
#' @param strict,threads Same as for [tmixture()].
#' @param ... Ignored.
#' @return A named vector of clusters, `NA` for a sample without a value in any view; a matrix of probabilities,
#'   `(n_samples, k)`; an embedding, `(n_samples, n_components)`; or a data frame, as by [as.data.frame.cdimc()].
#' @export
predict.cdimc <- function(object, newdata = NULL, type = "cluster", strict = FALSE,
                          threads = getOption("cdimc.threads", 2), ...) {
  type <- one_of(type, "type", c("cluster", "probabilities", "embedding", "all"))
  if (is.null(newdata)) {
    if (is.null(object$cluster)) refuse("newdata", "NULL", "must be given for a model from a file")
    found <- object[c("cluster", "probabilities", "embedding", "table")]
  } else {
    views <- as_views(newdata, object$features)
    answer <- answer_of(views, object, function(views) {
      .Call(wrap__model_predict, model_of(object), views, flag(strict, "strict"), threads_of(threads))
    })
    samples <- samples_of(views)
    answer$probabilities <- with_columns(answer$probabilities)
    found <- lapply(answer[c("probabilities", "embedding")], spread, found = answer, samples = samples)
    found$table <- sample_table(answer, samples)
    found$cluster <- column(found$table, "cluster")
  }
  if (type == "all") return(found$table)
  if (is.null(found[[type]])) refuse("method", object$method, sprintf("must be one that has %s", type))
  found[[type]]
}

#' Predict the probability of every cluster
#'
#' @param object A fit, or a model from [read_model()].
#' @param ... `newdata` and other arguments of [predict.cdimc()].
#' @return `(n_samples, k)`, rows sum to 1. The probabilities are well calibrated if clusters match classes, else too high.
#' @export
probabilities <- function(object, ...) stats::predict(object, ..., type = "probabilities")

#' Explain why samples are in their clusters
#'
#' @param object A fit of [tmixture()], or a model of it from [read_model()].
#' @param x Samples with any subset of the views, like `newdata` of [predict.cdimc()].
#' @param samples Names of the samples to explain; by default all.
#' @param seed,strict,threads Same as for [tmixture()].
#' @param ... Ignored.
#' @return A data frame. For each sample: the log odds of its `cluster` against the `other_cluster`; their parts by view,
#'   which add up; the columns with the largest parts, with the value, and quartiles and means of both clusters; and the missing
#'   views with the fraction of the doubt that each would remove (`doubt_removed`).
#' @examples
#' made <- simulate_views(90, 3, seed = 1)
#' views <- hide_views(made$views, missing_mask("per-view:0.2", 90, 3, seed = 1))
#' fit <- tmixture(views, 3, seed = 0)
#' head(explain(fit, views, samples = "1"))
#' @export
explain <- function(object, x, ...) UseMethod("explain")

#' @rdname explain
#' @export
explain.cdimc <- function(object, x, samples = NULL, seed = 0, strict = FALSE,
                          threads = getOption("cdimc.threads", 2), ...) {
  views <- as_views(x, object$features)
  start <- .Call(
    wrap__model_explain, model_of(object), views, as.character(samples), seed_of(seed), flag(strict, "strict"),
    threads_of(threads)
  )
  found <- as.data.frame(result_of(start), stringsAsFactors = FALSE)
  # Names stay text, even "0001" or "NA".
  numbers <- setdiff(names(found), c("id", "kind", "view", "column", "ranges_of"))
  found[numbers] <- lapply(found[numbers], utils::type.convert, as.is = TRUE)
  clusters <- c("cluster", "other_cluster")
  found[clusters] <- lapply(found[clusters], `+`, 1L)
  found
}

#' Fill in missing views
#'
#' @param object A fit, or a model from [read_model()].
#' @param x Samples with any subset of the views, like `newdata` of [predict.cdimc()].
#' @param strict,threads Same as for [tmixture()].
#' @param ... Ignored.
#' @return A named list of all views of the fit, `(n_samples, n_features)` each: observed values are unchanged, missing
#'   values are predicted from the other views.
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
  done <- answer_of(views, object, function(views) {
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

#' Stability of clusters in subsamples
#'
#' @param object A fit of [tmixture()].
#' @param x The samples of the fit.
#' @param n Number of random subsamples with 80 % of the samples.
#' @param seed,strict,threads,progress Same as for [tmixture()]; by default the seed of the fit.
#' @param ... Ignored.
#' @return A list: `clusters`, the mean Jaccard index of every cluster with the most similar cluster of each subsample, in
#'   \[0, 1\] (0.85 and above: stable; below 0.6: do not trust it); `samples`, per sample, the mean fraction of the other
#'   samples of its cluster that stay with it.
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
  answer <- result_of(start, flag(progress, "progress"))
  n_given <- length(answer$samples)
  n_fitted <- object$facts$findings$`n-samples`
  if (n_given != n_fitted) {
    text <- "the stability may differ from the stability of the fit: %d samples are given, the fit had %.0f"
    warn(list(data_warnings = sprintf(text, n_given, n_fitted)))
  }
  list(
    clusters = stats::setNames(answer$found$clusters, seq_along(answer$found$clusters)),
    samples = spread(answer$found$samples, answer, samples_of(views))
  )
}

#' Plot a fit
#'
#' @param x A fit.
#' @param which The first two coordinates of the `"embedding"`, the observed views per sample (`"observed"`), or the
#'   `"contributions"` of the views.
#' @param ... Arguments for the graphics functions.
#' @return The fit, invisibly.
#' @export
plot.cdimc <- function(x, which = "embedding", ...) {
  which <- one_of(which, "which", c("embedding", "observed", "contributions"))
  # A model from a file has contributions too.
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

# Returns the model's answer for new samples; samples without a value in any view are only in `unobserved`.
answer_of <- function(views, object, start) {
  there <- vapply(views, function(view) !all(is.na(view$values)), logical(1))
  if (any(there)) {
    answer <- result_of(start(views[there]))
  } else {
    # A placeholder sample gives an answer of the right shape; its values are not used.
    features <- object$features[[1]]
    values <- matrix(1, 1, length(features))
    placeholder <- list(name = names(object$features)[1], values = values, samples = NULL, features = features)
    answer <- result_of(start(list(placeholder)))
    answer[c("samples", "filled", "data_warnings")] <- list(character(0), NULL, NULL)
  }
  answer$unobserved <- setdiff(samples_of(views), answer$samples)
  warn(answer)
  answer
}

check_fit <- function(x, name) {
  if (is.null(x$cluster)) refuse(name, "a model from a file", "must be a fit, which has the samples")
}

model_of <- function(object) {
  if (is.null(object$model)) refuse("method", object$method, "must be t-mixture or cdimc-net: other methods have no model")
  object$model
}

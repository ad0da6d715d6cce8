#' Choose the number of clusters
#'
#' If samples have two or more views, the choice uses the shared information of held-out samples. Otherwise it uses the
#' mean rank of three criteria: stability over seeds, silhouette of the embedding, eigengap of the common graph of all
#' views. It uses no labels.
#'
#' @inheritParams tmixture
#' @param range Smallest and largest number to try; 1 is chosen if the views share no structure.
#' @param ... Settings of the method, and other arguments of [cdimc()].
#' @return An object of class `cdimc_choice`, a list of `chosen`, `runner_up` (or `NULL`), `reason`, `candidates` (a data
#'   frame with one row per number) and `votes` (the fraction of random splits that choose each number). `plot()` shows
#'   the candidates.
#' @examples
#' made <- simulate_views(90, 3, seed = 1)
#' choose_k(made$views, range = c(2, 5), seed = 0)
#' @export
choose_k <- function(x, range = c(2, 12), method = "t-mixture", ...) {
  cdimc(x, "auto", method, ..., range = range)$cluster_number
}

# Converts the engine's choice of the number of clusters.
choice_of <- function(found) {
  if (is.null(found)) return(NULL)
  number <- function(x) if (is.null(x)) NA_real_ else x
  rows <- lapply(found$candidates, function(candidate) {
    held_out <- candidate$`held-out`
    data.frame(
      k = as.integer(candidate$`n-clusters`),
      shared_information = number(held_out$`shared-information`),
      stability = number(candidate$stability), silhouette = number(candidate$silhouette),
      eigengap = number(candidate$eigengap), mean_rank = number(candidate$`mean-rank`)
    )
  })
  candidates <- do.call(rbind, rows)
  votes <- do.call(rbind, lapply(found$votes, as.data.frame))
  structure(
    list(
      chosen = as.integer(found$chosen), runner_up = found$`runner-up`, reason = found$reason,
      candidates = candidates[, colSums(!is.na(candidates)) > 0, drop = FALSE], votes = votes
    ),
    class = "cdimc_choice"
  )
}

#' @export
print.cdimc_choice <- function(x, ...) {
  cat(sprintf("%d clusters%s\n", x$chosen, if (is.null(x$runner_up)) "" else sprintf("; runner-up: %d", x$runner_up)))
  cat(paste(strwrap(x$reason), collapse = "\n"), "\n")
  print(x$candidates, row.names = FALSE, digits = 3)
  invisible(x)
}

#' @rdname choose_k
#' @export
plot.cdimc_choice <- function(x, ...) {
  shown <- setdiff(names(x$candidates), "k")[1]
  graphics::plot(x$candidates$k, x$candidates[[shown]],
    type = "b", xlab = "number of clusters", ylab = gsub("_", " ", shown), ...
  )
  graphics::abline(v = x$chosen, lty = 2)
  invisible(x)
}

#' Model files
#'
#' The command `cdimc` and the Python package read and write the same files, to the bit.
#'
#' @param object A fit with a model: of [tmixture()] or CDIMC-net.
#' @param path Path of the file.
#' @return `write_model()`: the path, invisibly; it writes the file atomically. `read_model()`: an object of class `cdimc`
#'   without the samples of the fit, for [predict.cdimc()] and [impute()].
#' @examples
#' made <- simulate_views(90, 3, seed = 1)
#' fit <- tmixture(made$views, 3, seed = 0)
#' file <- tempfile(fileext = ".safetensors")
#' write_model(fit, file)
#' identical(predict(read_model(file), made$views), fit$cluster)
#' @export
write_model <- function(object, path) {
  if (!inherits(object, "cdimc")) refuse("class of object", class(object), "must be cdimc")
  path <- path_of(path)
  partial <- tempfile(".cdimc-", dirname(path))
  on.exit(unlink(partial))
  written <- tryCatch(
    {
      writeBin(model_of(object), partial)
      file.rename(partial, path)
    },
    warning = function(condition) FALSE,
    simpleError = function(condition) FALSE
  )
  if (!written) refuse("path", path, "must be a file that can be written")
  invisible(path)
}

#' @rdname write_model
#' @export
read_model <- function(path) {
  path <- path_of(path)
  if (!file.exists(path) || dir.exists(path)) refuse("path", path, "must be a file")
  bytes <- readBin(path, "raw", file.size(path))
  found <- value_of(.Call(wrap__model_describe, bytes))
  structure(
    list(
      k = found$n_clusters, method = found$method, settings = found$settings, facts = found$facts, seed = NULL,
      features = stats::setNames(found$features, found$view_names),
      contributions = contributions_of(found$facts, found$view_names), model = bytes
    ),
    class = c("cdimc_model", "cdimc")
  )
}

#' @export
print.cdimc_model <- function(x, ...) {
  cat(sprintf("A model of %d clusters in %d views, by %s\n", x$k, length(x$features), x$method))
  cat("views:", paste0(names(x$features), " (", lengths(x$features), " columns)", collapse = ", "), "\n")
  invisible(x)
}

path_of <- function(path) {
  if (!is.character(path) || length(path) != 1 || is.na(path) || !nzchar(path)) {
    refuse("path", path, "must be the name of a file")
  }
  path.expand(path)
}

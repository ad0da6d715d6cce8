# Views with missing samples, and the classes.
made <- function(n = 120, k = 3, rate = 0.3) {
  simulated <- simulate_views(n, k, seed = 1)
  mask <- missing_mask(paste0("per-view:", rate), n, length(simulated$views), seed = 2)
  list(views = hide_views(simulated$views, mask), class = simulated$class, mask = mask)
}

# The same views with names: a sample that a view lacks has no row there.
named <- function(data, names = paste0("patient", seq_along(data$class))) {
  views <- Map(function(view, v) {
    rownames(view) <- names
    colnames(view) <- paste0("c", seq_len(ncol(view)))
    view[data$mask[, v], , drop = FALSE]
  }, data$views, seq_along(data$views))
  stats::setNames(views, c("rna", "protein", "methylation"))
}

fit_of <- function(...) sure(tmixture(..., starts = 4, seed = 0, progress = FALSE))

# Small simulated data look doubtful in one way or the other; that is not what is tested.
sure <- function(expression) {
  withCallingHandlers(expression, cdimc_doubtful_clusters = function(condition) invokeRestart("muffleWarning"))
}

# The command, if its path is set; its output is the expectation.
command <- function(...) {
  program <- Sys.getenv("CDIMC_COMMAND")
  skip_if(program == "", "CDIMC_COMMAND names no command")
  status <- system2(program, c("--quiet", ...), stdout = FALSE)
  expect_equal(status, 0)
}

# The tables of the examples beside the checkout.
examples <- function() {
  folder <- test_path("..", "..", "..", "..", "examples")
  skip_if_not(dir.exists(folder), "the examples are not here")
  normalizePath(folder)
}

example_views <- function(folder) {
  names <- c("rna", "methylation", "protein")
  read <- function(name) utils::read.csv(file.path(folder, paste0(name, ".csv")), row.names = "patient", check.names = FALSE)
  stats::setNames(lapply(names, read), names)
}

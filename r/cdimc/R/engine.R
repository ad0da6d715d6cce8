# Calls of the engine: jobs on its own threads, errors and warnings as conditions.

#' @useDynLib cdimc, .registration = TRUE
NULL

# Returns the value of an answer of the engine, or raises its error as a condition.
value_of <- function(answer) {
  if (!is.null(answer$error)) stop(engine_error(answer$error))
  answer$value
}

# Waits for a job and returns its value. R handles interrupts between two polls; any end of this call stops the job.
result_of <- function(start, progress = FALSE) {
  job <- value_of(start)
  on.exit(.Call(wrap__job_stop, job))
  shown <- FALSE
  repeat {
    answer <- .Call(wrap__job_poll, job, 50L)
    if (!"step" %in% names(answer)) break
    if (progress && !is.null(answer$step)) shown <- show_step(answer$step)
    # R handles interrupts only while it sleeps.
    Sys.sleep(0.001)
  }
  if (shown) cat("\r", strrep(" ", 60), "\r", sep = "", file = stderr())
  value_of(answer)
}

show_step <- function(step) {
  text <- sprintf("%s %.0f of %.0f", step$stage, step$done, step$of)
  if (!is.null(step$loss)) text <- sprintf("%s, loss %.4g", text, step$loss)
  cat("\r", formatC(text, width = -60), sep = "", file = stderr())
  TRUE
}

# Returns the error `name = value: rule` for a value that breaks a rule.
broken_rule <- function(name, value, rule) {
  value <- if (is.atomic(value) && length(value)) paste(value, collapse = ", ") else paste(deparse(value), collapse = " ")
  if (nchar(value) > 60) value <- paste0(substr(value, 1, 57), "...")
  cdimc_condition(sprintf("%s = %s: %s", name, value, rule), "error", name = name, value = value, rule = rule)
}

refuse <- function(name, value, rule) stop(broken_rule(name, value, rule))

# Returns an error of the engine; its messages have the same form if a value breaks a rule.
engine_error <- function(message) {
  parts <- regmatches(message, regexec("([[:alnum:]`_ -]+) = (.+?): (must .*)$", message, perl = TRUE))[[1]]
  part <- function(i) if (length(parts)) trimws(parts[i]) else NA_character_
  cdimc_condition(message, "error", name = part(2), value = part(3), rule = part(4))
}

# Returns a condition of class `cdimc_error`, or of class `cdimc_warning` and a more specific class.
cdimc_condition <- function(message, type, class = NULL, ...) {
  structure(
    list(message = message, call = NULL, ...),
    class = c(class, paste0("cdimc_", type), type, "condition")
  )
}

# Raises the warnings of the engine.
warn <- function(found) {
  raise <- function(class, text) warning(cdimc_condition(text, "warning", paste0("cdimc_", class)))
  filled <- found$filled
  if (length(filled$view)) {
    text <- "%d single missing cells in %d columns hold the column's mean (%s)"
    first <- paste0(filled$view, ": ", filled$column)
    raise("filled_cells", sprintf(text, sum(filled$n_cells), length(filled$view), some(first)))
  }
  if (length(found$unobserved)) {
    text <- "%d samples have no value in any view and get no cluster: %s"
    raise("unobserved_samples", sprintf(text, length(found$unobserved), some(found$unobserved)))
  }
  for (text in found$data_warnings) raise("odd_data", text)
  for (text in found$cluster_warnings) raise("doubtful_clusters", text)
}

# Returns the first few names as text.
some <- function(names, most = 3) {
  more <- length(names) - most
  paste0(paste(utils::head(names, most), collapse = ", "), if (more > 0) sprintf(" and %d more", more))
}

# Checked arguments.

whole <- function(x, name, least = 0, most = Inf) {
  rule <- sprintf("must be a whole number of at least %g", least)
  if (is.finite(most)) rule <- sprintf("must be a whole number in %g..%g", least, most)
  ok <- is.numeric(x) && length(x) == 1 && is.finite(x) && x == floor(x) && x >= least && x <= most
  if (!ok) refuse(name, x, rule)
  as.numeric(x)
}

flag <- function(x, name) {
  if (!is.logical(x) || length(x) != 1 || is.na(x)) refuse(name, x, "must be TRUE or FALSE")
  x
}

one_of <- function(x, name, choices) {
  if (!is.character(x) || length(x) != 1 || !x %in% choices) {
    refuse(name, x, paste("must be one of", paste(choices, collapse = ", ")))
  }
  x
}

# Returns the seed; by default it is drawn from R's generator, so that set.seed() applies.
seed_of <- function(seed) {
  if (is.null(seed)) return(as.numeric(sample.int(.Machine$integer.max, 1)))
  whole(seed, "seed", 0, 2^53)
}

threads_of <- function(threads) as.integer(whole(threads, "threads", 1, 4096))

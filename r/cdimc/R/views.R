# Conversion of R's tables to views of the engine: lists of `name`, `values`, `samples` and `features`.

# Returns the views of `x`; with the `known` views of a model, `x` may have a subset of them.
as_views <- function(x, known = NULL) {
  views <- if (methods_of(x, "MultiAssayExperiment")) {
    views_of_experiments(x)
  } else if (methods_of(x, "SummarizedExperiment")) {
    list(view_of(t_assay(x), assay_name(x, known)))
  } else if (is.matrix(x) || is.data.frame(x) || is_sparse(x)) {
    views_of_list(list(x), known)
  } else if (is.list(x)) {
    views_of_list(x, known)
  } else {
    refuse("class of x", class(x), "must be a list of matrices, a MultiAssayExperiment or a SummarizedExperiment")
  }
  if (!length(views)) refuse("number of views", 0, "must be at least 1")
  # A view without rows is missing for all new samples.
  has_rows <- vapply(views, function(view) nrow(view$values) > 0, logical(1))
  if (!is.null(known) && any(has_rows)) views <- views[has_rows]
  lapply(views, check_size)
  check_rows(views)
  views <- lapply(views, named_features, known = known)
  if (methods_of(x, "MultiAssayExperiment")) {
    attr(views, "patients") <- enc2utf8(rownames(MultiAssayExperiment::colData(x)))
  }
  views
}

views_of_list <- function(x, known) {
  if (is.null(names(x))) {
    # Views are matched by position, so none may be left out.
    if (!is.null(known) && length(known) != length(x)) {
      rule <- sprintf("must be the model's %d, with NULL for a missing view, or have names", length(known))
      refuse("number of views", length(x), rule)
    }
    names(x) <- if (length(known) == length(x)) names(known) else paste0("view", seq_along(x) - 1)
  }
  x <- x[!vapply(x, is.null, logical(1))]
  if (anyDuplicated(names(x))) {
    refuse("names of views", names(x), "must be all different")
  }
  if (any(names(x) == "" | is.na(names(x)))) refuse("names of views", names(x), "must be given for all or for none")
  unname(Map(view_of, x, names(x)))
}

# Returns the assays of a MultiAssayExperiment, with columns named after patients by its sample map.
views_of_experiments <- function(x) {
  map <- MultiAssayExperiment::sampleMap(x)
  lapply(names(x), function(name) {
    values <- view_of(t_assay(MultiAssayExperiment::experiments(x)[[name]]), name)
    of_assay <- map[as.character(map$assay) == name, ]
    columns <- values$samples
    values$samples <- enc2utf8(as.character(of_assay$primary))[match(columns, of_assay$colname)]
    twice <- unique(values$samples[duplicated(values$samples)])
    if (length(twice)) {
      two <- columns[which(values$samples == twice[1])[1:2]]
      advice <- .Call(wrap__repeats_advice, two[1], two[2], columns)
      rule <- "must be one: `%s` and `%s` are both of `%s`%s"
      refuse(sprintf("columns of %s of one patient", name), some(twice), sprintf(rule, two[1], two[2], twice[1], advice))
    }
    values
  })
}

# Returns the first assay of an experiment with samples in rows.
t_assay <- function(x) {
  if (methods_of(x, "SummarizedExperiment")) {
    x <- SummarizedExperiment::assay(x, 1)
  } else if (!is.matrix(x) && !is.data.frame(x) && !is_sparse(x)) {
    refuse("class of an assay", class(x), "must be a matrix, a data frame or a SummarizedExperiment")
  }
  t(as.matrix(x))
}

assay_name <- function(x, known) {
  if (length(known) == 1) return(names(known))
  name <- SummarizedExperiment::assayNames(x)
  if (length(name) && nzchar(name[1])) name[1] else "assay"
}

# Returns one view from a table with samples in rows.
view_of <- function(x, name) {
  if (methods_of(x, "SummarizedExperiment")) x <- t_assay(x)
  what <- sprintf("view %s", name)
  # integer64 stores the bits of integers in doubles.
  wide <- vapply(if (is.data.frame(x)) x else list(values = x), inherits, logical(1), "integer64")
  if (any(wide)) refuse(sprintf("%s, integer64", what), some(names(wide)[wide]), "must be made numbers by as.numeric()")
  if (is.data.frame(x)) {
    bad <- names(x)[!vapply(x, function(column) is.numeric(column) || is.logical(column), logical(1))]
    rule <- "must be numbers, or row names if they name samples"
    if (length(bad)) refuse(sprintf("%s, columns that hold no numbers", what), some(bad), with_advice(rule, x[bad]))
    # Data frames always have row names; automatic ones are dropped.
    given <- .row_names_info(x) > 0
    x <- as.matrix(x)
    if (!given) rownames(x) <- NULL
  }
  if (is_sparse(x)) x <- as.matrix(x)
  if (!is.matrix(x)) refuse(what, class(x), "must be a matrix or a data frame")
  if (!is.numeric(x) && !is.logical(x)) refuse(what, typeof(x), with_advice("must hold numbers", as.data.frame(x)))
  storage.mode(x) <- "double"
  # The engine reads names as UTF-8.
  utf8 <- function(names) if (!is.null(names)) enc2utf8(names)
  samples <- utf8(rownames(x))
  # The engine rejects an empty id, but would read `NA` as text.
  if (anyNA(samples)) samples[is.na(samples)] <- ""
  list(name = enc2utf8(name), values = x, samples = samples, features = utf8(colnames(x)))
}

# Extends a rule by the engine's advice about columns of text.
with_advice <- function(rule, columns) {
  text <- lapply(columns, function(column) ifelse(is.na(column), "", enc2utf8(as.character(column))))
  paste(c(rule, .Call(wrap__text_advice, enc2utf8(names(columns)), unname(text))), collapse = "; ")
}

# Takes columns without names in the order of the model.
named_features <- function(view, known) {
  features <- known[[view$name]]
  if (is.null(view$features) && length(features) == ncol(view$values)) view$features <- features
  view
}

check_size <- function(view) {
  what <- sprintf("view %s, rows and columns", view$name)
  if (!length(view$values)) refuse(what, dim(view$values), "must be at least 1")
}

check_rows <- function(views) {
  named <- !vapply(views, function(view) is.null(view$samples), logical(1))
  if (any(named) && !all(named)) {
    without <- vapply(views[!named], `[[`, "", "name")
    refuse("views without row names", without, "must be all or none")
  }
  rows <- vapply(views, function(view) nrow(view$values), 1L)
  if (!any(named) && length(unique(rows)) > 1) {
    refuse("rows", rows, "must be the same in all views, or have names to match samples by")
  }
}

# Returns the names of all samples in the order of results: of `colData`, or else of first appearance; row numbers if there
# are no names.
samples_of <- function(views) {
  if (is.null(views[[1]]$samples)) return(as.character(seq_len(nrow(views[[1]]$values))))
  samples <- unique(unlist(lapply(views, `[[`, "samples")))
  patients <- attr(views, "patients")
  if (is.null(patients)) samples else intersect(patients, samples)
}

# Extends values of the observed samples to all samples, with NA for the others.
spread <- function(values, found, samples, missing = NA) {
  if (is.null(values)) return(NULL)
  place <- match(samples, found$samples)
  if (is.matrix(values)) {
    values <- values[place, , drop = FALSE]
    rownames(values) <- samples
    values
  } else {
    values <- values[place]
    values[is.na(place)] <- missing
    stats::setNames(values, samples)
  }
}

# Returns the results per sample as a data frame: the columns of `labels.csv` that the method computes.
sample_table <- function(found, samples) {
  columns <- Map(function(values, missing) unname(spread(values, found, samples, missing)), found$columns, found$missing)
  list2DF(c(list(sample = samples), columns))
}

# Returns a column of a sample table with the names of the samples, or NULL.
column <- function(table, name) {
  if (name %in% names(table)) stats::setNames(table[[name]], table$sample)
}

methods_of <- function(x, class) isS4(x) && inherits(x, class)

is_sparse <- function(x) isS4(x) && inherits(x, "Matrix")

data <- made()
fit <- fit_of(named(data), 3)

test_that("a fit is printed, summed up and made a table", {
  expect_output(print(fit), "3 clusters of 120 samples in 3 views, by t-mixture")
  expect_output(print(summary(fit)), "shared information")
  expect_equal(summary(fit)$views$n_samples, unname(colSums(fit$observed)))
  table <- as.data.frame(fit)
  expect_equal(table$cluster, unname(fit$cluster))
  by_view <- paste0("cluster_by_", c("rna", "protein", "methylation"))
  expect_true(all(c("sample", "cluster", "confidence", "loss", "views", "unusual", "set", by_view) %in% names(table)))
  sets <- strsplit(table$set, " or ", fixed = TRUE)
  expect_true(all(mapply(`%in%`, table$cluster, sets)))
  expect_equal(table$views, unname(as.integer(rowSums(fit$observed))))
  expect_equal(fit$contributions$view, c("rna", "protein", "methylation"))
  expect_true(all(fit$markers$view %in% fit$contributions$view))
  expect_setequal(fit$markers$cluster, 1:3)
  expect_true(all(is.na(fit$markers$q)))
  tested <- fit_of(named(data), 3, test_markers = TRUE)
  expect_false(all(is.na(tested$markers$q)))
})

test_that("names in markers are text, whatever they look like", {
  views <- named(data)
  colnames(views$rna) <- sprintf("%04d", seq_len(ncol(views$rna)))
  colnames(views$protein)[1] <- "NA"
  names(views) <- c("1", "02", "NA")
  markers <- fit_of(views, 3)$markers
  expect_type(markers$view, "character")
  expect_true(all(markers$view %in% names(views)))
  expect_true(all(markers$column %in% unlist(lapply(views, colnames))))
  expect_type(markers$difference, "double")
})

test_that("a fit is drawn", {
  pdf(NULL)
  on.exit(dev.off())
  for (which in c("embedding", "observed", "contributions")) expect_invisible(plot(fit, which))
  expect_error(plot(fit, "all"), class = "cdimc_error")
  plain <- sure(cdimc(made(rate = 0)$views, 3, "concat", seed = 0, progress = FALSE))
  expect_error(plot(plain, "contributions"), "must be one that has contribution")
})

test_that("samples of the fit keep their clusters, new ones may have one view", {
  expect_identical(predict(fit), fit$cluster)
  expect_identical(predict(fit, named(data)), fit$cluster[names(predict(fit, named(data)))])
  one <- predict(fit, named(data)["protein"], type = "all")
  expect_equal(nrow(one), sum(data$mask[, 2]))
  expect_gt(mean(one$cluster == fit$cluster[one$sample]), 0.7)
  expect_equal(dim(probabilities(fit)), c(120, 3))
  expect_equal(probabilities(fit, named(data)["rna"]), predict(fit, named(data)["rna"], type = "probabilities"))
  expect_equal(nrow(predict(fit, named(data), type = "embedding")), 120)
})

test_that("views without names are all that the model has, by their place", {
  views <- unname(named(data))
  fit <- fit_of(views, 3)
  expect_identical(predict(fit, list(views[[1]], NULL, views[[3]])), predict(fit, list(view0 = views[[1]], view2 = views[[3]])))
  rule <- "must be the model's 3, with NULL for a missing view"
  expect_error(predict(fit, views[-2]), paste("number of views = 2:", rule), class = "cdimc_error")
  expect_error(impute(fit, views[[3]]), paste("number of views = 1:", rule), class = "cdimc_error")
})

test_that("columns are matched by name", {
  rna <- named(data)$rna
  turned <- predict(fit, list(rna = rna[, rev(colnames(rna))]))
  expect_identical(turned, predict(fit, list(rna = rna)))
  expect_error(predict(fit, list(rna = rna[, -1])), "lacks 1 of the 12 columns", class = "cdimc_error")
  expect_error(predict(fit, list(dna = rna)), "no view `dna`", class = "cdimc_error")
})

test_that("reasons add up to the log odds of the probabilities", {
  views <- named(data)
  found <- explain(fit, views)
  probabilities <- predict(fit, views, type = "probabilities")
  for (rows in split(found, found$id)[1:5]) {
    parts <- rows[rows$kind %in% c("total", "cluster sizes", "view"), ]
    p <- probabilities[rows$id[1], c(parts$cluster[1], parts$other_cluster[1])]
    expect_equal(sum(parts$log_odds[-1]), parts$log_odds[1])
    expect_equal(parts$log_odds[1], log(p[[1]] / p[[2]]), tolerance = 1e-6)
  }
  expect_error(explain(fit, views, samples = "nobody"), "there is no such sample", class = "cdimc_error")
})

test_that("missing views are filled in, measured values kept", {
  views <- named(data)
  full <- impute(fit, views)
  expect_named(full, names(views))
  for (name in names(full)) {
    expect_equal(dim(full[[name]]), c(120, ncol(views[[name]])))
    expect_false(anyNA(full[[name]]))
    expect_identical(full[[name]][rownames(views[[name]]), ], views[[name]])
  }
})

test_that("stability is a share of every cluster and every sample", {
  found <- stability(fit, named(data), n = 5, progress = FALSE)
  expect_length(found$clusters, 3)
  expect_setequal(names(found$samples), names(fit$cluster))
  expect_true(all(found$clusters >= 0 & found$clusters <= 1))
  expect_error(stability(fit, named(data), n = 0), "n = 0: must be a whole number", class = "cdimc_error")
})

test_that("stability does not depend on the order of views and columns", {
  views <- named(data)
  found <- stability(fit, views, n = 5, progress = FALSE)
  turned <- stability(fit, lapply(rev(views), function(view) view[, rev(colnames(view))]), n = 5, progress = FALSE)
  expect_identical(turned$clusters, found$clusters)
  expect_identical(turned$samples[names(found$samples)], found$samples)
  expect_error(stability(fit, views[-2], n = 5), "view `protein` is not there", class = "cdimc_error")
  fewer <- lapply(views, function(view) view[rownames(view) != "patient7", ])
  expect_warning(stability(fit, fewer, n = 5), "119 samples are given, the fit had 120", class = "cdimc_odd_data")
})

test_that("new samples may all lack a view, by NA or by having no row there", {
  views <- named(data)
  rna <- views$rna[1:9, ]
  expected <- predict(fit, list(rna = rna))
  expect_identical(predict(fit, list(rna = rna, protein = views$protein[0, ])), expected)
  expect_identical(predict(fit, list(rna = rna, protein = as.data.frame(views$protein)[0, ])), expected)
  nothing <- NA * views$protein[1:2, ]
  rownames(nothing) <- c("stranger", rownames(rna)[1])
  views <- list(protein = nothing, rna = rna)
  expect_warning(found <- predict(fit, views), "stranger", class = "cdimc_unobserved_samples")
  expect_identical(found[names(expected)], expected)
  expect_identical(found[["stranger"]], NA_integer_)
  expect_error(predict(fit, list(rna = rna[0, ])), "rows and columns", class = "cdimc_error")
})

test_that("results of samples without any value are NA", {
  nothing <- list(protein = NA * named(data)$protein[1:2, ])
  samples <- rownames(nothing$protein)
  say <- function(...) suppressWarnings(predict(fit, nothing, ...), classes = "cdimc_unobserved_samples")
  expect_warning(predict(fit, nothing), "2 samples have no value", class = "cdimc_unobserved_samples")
  expect_identical(say(), stats::setNames(c(NA_integer_, NA_integer_), samples))
  expect_identical(say(type = "probabilities"), matrix(NA_real_, 2, 3, dimnames = list(samples, 1:3)))
  expect_equal(dim(say(type = "embedding")), c(2, ncol(fit$embedding)))
  table <- say(type = "all")
  expect_equal(table$views, c(0, 0))
  expect_true(all(is.na(table[setdiff(names(table), c("sample", "views"))])))
  filled <- suppressWarnings(impute(fit, nothing), classes = "cdimc_unobserved_samples")
  expect_equal(lapply(filled, ncol), lapply(fit$features, length))
  expect_true(all(is.na(unlist(filled))))
})

test_that("a model outlives its session", {
  file <- tempfile(fileext = ".safetensors")
  expect_equal(write_model(fit, file), file)
  model <- read_model(file)
  expect_output(print(model), "A model of 3 clusters in 3 views, by t-mixture")
  expect_identical(predict(model, named(data)), predict(fit, named(data)))
  expect_identical(model$model, fit$model)
  rds <- tempfile(fileext = ".rds")
  saveRDS(fit, rds)
  expect_identical(predict(readRDS(rds), named(data)), predict(fit, named(data)))
  expect_error(predict(model), "newdata = NULL: must be given", class = "cdimc_error")
  for (ask in list(summary, as.data.frame, plot, function(x) plot(x, "observed"))) {
    expect_error(ask(model), "a model from a file: must be a fit", class = "cdimc_error")
  }
})

test_that("files that are not models are refused, and nothing is left half written", {
  expect_error(read_model(tempfile()), "must be a file", class = "cdimc_error")
  file <- tempfile()
  writeLines("no model", file)
  expect_error(read_model(file), class = "cdimc_error")
  writeBin(replace(fit$model, length(fit$model), as.raw(1)), file)
  expect_error(read_model(file), "checksum", class = "cdimc_error")
  nowhere <- file.path(tempfile(), "model")
  expect_error(write_model(fit, nowhere), "must be a file that can be written", class = "cdimc_error")
  expect_error(write_model(list(), file), class = "cdimc_error")
  plain <- sure(cdimc(made(rate = 0)$views, 3, "concat", seed = 0, progress = FALSE))
  expect_error(write_model(plain, file), "other methods have no model", class = "cdimc_error")
})

test_that("methods are compared", {
  table <- sure(compare(
    data$views, 3, c("t-mixture", "concat"),
    truth = data$class, repetitions = 2, seed = 0, progress = FALSE
  ))
  expect_equal(table$method, c("t-mixture", "concat"))
  expect_true(all(table$acc >= 0 & table$acc <= 1))
  expect_equal(dim(attr(table, "clusters")[["concat"]]), c(120, 2))
  expect_error(compare(data$views, 3, "k-means"), "must be one of", class = "cdimc_error")
  expect_error(compare(data$views, 3, "concat", truth = 1:4), "length of truth = 4", class = "cdimc_error")
})

test_that("a MultiAssayExperiment uses its sample map and the order of its patients", {
  skip_if_not_installed("MultiAssayExperiment")
  suppressPackageStartupMessages(library(MultiAssayExperiment))
  data <- named(made())
  barcode <- function(patient, assay) paste0(patient, "-", assay)
  assays <- Map(function(view, name) {
    rownames(view) <- barcode(rownames(view), name)
    t(view)
  }, data, names(data))
  map <- do.call(rbind, Map(function(view, name) {
    DataFrame(assay = factor(name, names(data)), primary = rownames(view), colname = barcode(rownames(view), name))
  }, data, names(data)))
  assays$protein <- Matrix::Matrix(assays$protein, sparse = TRUE)
  patients <- DataFrame(row.names = rev(unique(unlist(lapply(data, rownames)))))
  experiment <- MultiAssayExperiment(ExperimentList(assays), patients, map)
  fit <- fit_of(experiment, 3)
  expect_identical(fit$model, fit_of(data, 3)$model)
  expect_identical(names(fit$cluster), rownames(colData(experiment)))
  expect_identical(as.data.frame(fit)$cluster, unname(fit$cluster))
  expect_identical(predict(fit, experiment), fit$cluster)
  # Two columns of one patient: a normal tissue beside a tumor is no repeat.
  map$primary[2] <- map$primary[1]
  with_two <- function(kinds) {
    colnames(assays$rna)[1:2] <- map$colname[1:2] <- paste0(map$primary[1], "-", kinds)
    MultiAssayExperiment(ExperimentList(assays), patients, map)
  }
  twice <- with_two(c("rna-01A", "rna-11A"))
  condition <- expect_error(fit_of(twice, 3), "must be one: .* differ in `01A` and `11A`: if these are kinds", class = "cdimc_error")
  expect_match(conditionMessage(condition), "x[, !grepl(r\"(-11A$)\", colnames(x))]", fixed = TRUE)
  tumors <- suppressMessages(twice[, !BiocGenerics::grepl("-11A$", colnames(twice))])
  expect_length(fit_of(tumors, 3)$cluster, 120)
  repeats <- with_two(c("01A", "01B"))
  expect_error(fit_of(repeats, 3), "differ in `01A` and `01B`: mergeReplicates\\(x\\) takes means$", class = "cdimc_error")
})

test_that("a SummarizedExperiment is one view, alone and in a list", {
  skip_if_not_installed("SummarizedExperiment")
  rna <- made(rate = 0)$views[[1]]
  dimnames(rna) <- list(paste0("p", 1:120), paste0("g", 1:12))
  experiment <- SummarizedExperiment::SummarizedExperiment(list(counts = t(rna)))
  fit <- fit_of(experiment, 3)
  expect_named(fit$features, "counts")
  expect_identical(fit$cluster, fit_of(list(counts = rna), 3)$cluster)
  expect_identical(fit_of(list(rna = experiment), 3)$model, fit_of(list(rna = rna), 3)$model)
})

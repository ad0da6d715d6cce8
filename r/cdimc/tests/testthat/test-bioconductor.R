test_that("a MultiAssayExperiment uses its sample map", {
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
  patients <- DataFrame(row.names = unique(unlist(lapply(data, rownames))))
  experiment <- MultiAssayExperiment(ExperimentList(assays), patients, map)
  fit <- fit_of(experiment, 3)
  expect_identical(fit$model, fit_of(data, 3)$model)
  expect_true(all(names(fit$cluster) %in% rownames(colData(experiment))))
  expect_identical(predict(fit, experiment), fit$cluster)
  # Two columns of one patient: a normal tissue beside a tumor is no repeat.
  map$primary[2] <- map$primary[1]
  kinds <- c("rna-01A", "rna-11A")
  colnames(assays$rna)[1:2] <- map$colname[1:2] <- paste0(map$primary[1], "-", kinds)
  twice <- MultiAssayExperiment(ExperimentList(assays), patients, map)
  condition <- expect_error(fit_of(twice, 3), "must be one: .* differ in `01A` and `11A`: if these are kinds", class = "cdimc_error")
  expect_match(conditionMessage(condition), "x[!grepl(r\"(-11A$)\", rownames(x)), ]", fixed = TRUE)
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

test_that("labels, model and filled views are the command's, to the bit", {
  folder <- examples()
  out <- tempfile()
  files <- file.path(folder, c("rna.csv", "methylation.csv", "protein.csv"))
  input <- c(rbind("--view", shQuote(files)), "--id", "patient")
  command("cluster", input, "-k", "4", "-o", shQuote(out))
  views <- example_views(folder)
  fit <- suppressWarnings(tmixture(views, 4, seed = 0, progress = FALSE))
  labels <- utils::read.csv(file.path(out, "labels.csv"), colClasses = c(id = "character"))
  expect_identical(names(fit$cluster), labels$id)
  expect_identical(unname(fit$cluster), labels$cluster + 1L)
  model <- file.path(out, "model.safetensors")
  expect_identical(fit$model, readBin(model, "raw", file.size(model)))

  # The command reads what R writes, R reads what the command writes.
  written <- tempfile(fileext = ".safetensors")
  write_model(fit, written)
  new <- file.path(folder, "new_rna.csv")
  predicted <- tempfile(fileext = ".csv")
  command("predict", "--model", written, "--view", shQuote(paste0("rna=", new)), "--id", "patient", "-o", predicted)
  labels <- utils::read.csv(predicted, colClasses = c(id = "character"))
  rna <- utils::read.csv(new, row.names = "patient", check.names = FALSE)
  found <- predict(read_model(model), list(rna = rna))
  expect_identical(names(found), labels$id)
  expect_identical(unname(found), labels$cluster + 1L)
})

test_that("masks and comparisons have the command's seeds", {
  folder <- examples()
  out <- tempfile()
  files <- file.path(folder, c("rna.csv", "methylation.csv", "protein.csv"))
  command(
    "compare", c(rbind("--view", shQuote(files))), "--id", "patient", "-k", "4", "--method", "t-mixture", "--repetitions", "2",
    "-o", shQuote(out)
  )
  theirs <- utils::read.csv(file.path(out, "labels-t-mixture.csv"))
  ours <- suppressWarnings(compare(example_views(folder), 4, "t-mixture", repetitions = 2, seed = 0, progress = FALSE))
  expect_equal(unname(attr(ours, "clusters")[[1]]), unname(as.matrix(theirs[, -1])) + 1L)
})

test_that("the patients of miniACC get the command's labels", {
  skip_if_not_installed("MultiAssayExperiment")
  suppressPackageStartupMessages(library(MultiAssayExperiment))
  data(miniACC, package = "MultiAssayExperiment", envir = environment())
  script <- file.path(examples(), "multiassayexperiment.R")
  out <- tempfile()
  system2(file.path(R.home("bin"), "Rscript"), c(shQuote(script), shQuote(out)), stdout = FALSE, stderr = FALSE)
  files <- shQuote(file.path(out, paste0(names(miniACC), ".csv")))
  result <- file.path(out, "result")
  command(
    "cluster", c(rbind("--view", files)), c(rbind("--transposed", files)), "--sample-map", shQuote(file.path(out, "sample_map.csv")), "-k", "3",
    "-o", shQuote(result)
  )
  fit <- sure(tmixture(miniACC, 3, seed = 0, progress = FALSE))
  labels <- utils::read.csv(file.path(result, "labels.csv"))
  expect_identical(fit$cluster[labels$id], stats::setNames(labels$cluster + 1L, labels$id))
  expect_length(fit$cluster, nrow(labels))
})

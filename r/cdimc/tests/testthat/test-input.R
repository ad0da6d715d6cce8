views <- made(60, 3, 0)$views
ids <- paste0("p", 1:60)

# A view with these row names.
with_ids <- function(v, names = ids) {
  view <- views[[v]]
  rownames(view) <- names
  view
}

refused <- function(expression, pattern) {
  condition <- expect_error(expression, class = "cdimc_error")
  expect_match(conditionMessage(condition), pattern)
  condition
}

test_that("errors have the rule and the value", {
  condition <- refused(fit_of(views, 0), "^k = 0: must be a whole number of at least 2$")
  expect_equal(condition[c("name", "value", "rule")], list(name = "k", value = "0", rule = "must be a whole number of at least 2"))
  condition <- refused(fit_of(views, 61), "clusters = 61: must lie in 2..=60")
  expect_equal(condition$value, "61")
  condition <- refused(tmixture(views, 3, starts = 0), "starts = 0: must")
  expect_equal(condition$name, "starts")
})

test_that("numbers of clusters, seeds and threads are whole", {
  for (k in list(1, 2.5, NA, NULL, c(2, 3), "three", Inf)) refused(fit_of(views, k), "^k = ")
  for (seed in list(-1, 0.5, "a")) refused(tmixture(views, 3, seed = seed), "^seed = ")
  refused(tmixture(views, 3, threads = 0), "^threads = 0")
  refused(tmixture(views, "auto", range = 5), "^range = 5")
  refused(tmixture(views, 3, strict = NA), "^strict = NA")
})

test_that("settings that a method does not have are named", {
  refused(tmixture(views, 3, epochs = 3), "unknown field `epochs`")
  refused(tmixture(views, 3, 7), "settings without names = 1: must be 0")
  refused(tmixture(views, 3, coordinates = "polar"), "polar")
  refused(cdimc(views, 3, "k-means"), "method = k-means: must be one of t-mixture")
  refused(cdimc_settings("k-means"), "method = k-means")
})

test_that("settings that are not numbers are refused, and NULL leaves a setting as it is", {
  for (value in list(NA, NaN, Inf, -Inf)) refused(tmixture(views, 3, pooling = value), "^pooling = .*: must be finite$")
  refused(cdimc(views, 3, pretrain = list(learning_rate = NaN)), "^learning-rate = NaN: must be finite$")
  expect_null(fit_of(views, 3, pooling = NULL)$settings$pooling)
})

test_that("data other than tables of numbers are refused", {
  refused(fit_of(1:3, 2), "class of x = integer")
  refused(fit_of(list(), 2), "number of views = 0")
  refused(fit_of(list(letters), 2), "view view0 = character")
  refused(fit_of(list(matrix(letters, 13)), 2), "view view0 = character: must hold numbers")
  refused(fit_of(list(a = data.frame(x = 1:4, y = letters[1:4])), 2), "columns that hold no numbers = y")
  refused(fit_of(list(matrix(0, 0, 3)), 2), "rows and columns")
  refused(fit_of(list(views[[1]], NA * views[[2]]), 3), "all values are missing")
  refused(fit_of(list(replace(views[[1]], 3, Inf)), 3), "values must be finite")
})

test_that("text among numbers is named as by the command", {
  limits <- data.frame(id = ids, x = c("<LOD", 2:60), y = c(1:59, "<LOD"), z = 1:60)
  refused(fit_of(list(a = limits[-1]), 3), "= x, y: .*; row 1, column `x`: `<LOD` is not a number; all else in columns `x`, `y` is numbers")
  refused(fit_of(list(a = as.matrix(limits[-1])), 3), "character: must hold numbers; .* all else in columns `x`, `y` is numbers")
  refused(fit_of(list(a = limits[c("id", "z")]), 3), "= id: must be numbers, or row names if they name samples")
  minus <- data.frame(x = c("\u22121.5", 2:60))
  refused(fit_of(list(a = minus), 3), "has a dash for a minus")
})

test_that("tables are checked as by the command", {
  data <- made(60, 3, 0)
  data$mask[] <- TRUE
  views <- named(data)
  warned <- function(rna, pattern) {
    expect_warning(fit_of(list(rna = rna, protein = views$protein), 3), pattern, class = "cdimc_odd_data")
  }
  coded <- views$rna
  coded[seq(1, 60, 7), 1:4] <- -999
  warned(coded, "-999 is clustered on as a measurement")
  warned(rbind(views$rna, Mean = colMeans(views$rna)), "count as samples: `Mean`")
  warned(cbind(views$rna, X = 1:60), "`X` numbers them")
  dates <- views$rna
  colnames(dates)[3] <- "2-Sep"
  warned(dates, "named by dates, which spreadsheets make .*: `2-Sep`")
  upper <- views$rna
  rownames(upper)[1:3] <- toupper(rownames(upper)[1:3])
  warned(upper, "3 more would agree if written alike")
  counts <- apply(views$rna, 2, rank) * 37
  warned(ifelse(counts < 1000, counts, counts / 1000), "seems to be a mark of thousands")
  numbered <- lapply(views[1:2], unname)
  numbered <- Map(function(view, first) data.frame(view, patient = first + 1:60), numbered, c(1009, 1001))
  refused(fit_of(numbered, 3), "column `patient` looks like an id and differs in the same rows")
})

test_that("views that do not go together are refused", {
  refused(fit_of(list(views[[1]], views[[2]][-1, ]), 3), "^rows = 60, 59: must be the same")
  refused(fit_of(list(with_ids(1), views[[2]]), 3), "views without row names = view1")
  refused(fit_of(list(with_ids(1), with_ids(2, paste0("q", 1:60))), 3), "no id is shared")
  refused(fit_of(list(with_ids(1, replace(ids, 2, "p1")), with_ids(2)), 3), "p1")
  refused(fit_of(list(a = views[[1]], a = views[[2]]), 3), "names of views")
  refused(fit_of(list(a = views[[1]], views[[2]]), 3), "names of views")
})

test_that("a row without a name is not a sample", {
  nameless <- function(row) with_ids(1, replace(ids, row, NA))
  refused(fit_of(list(a = nameless(3), b = nameless(7)), 3), "a: row 3 has no id")
  fit <- fit_of(list(a = with_ids(1)), 3)
  refused(predict(fit, list(a = nameless(3))), "a: row 3 has no id")
})

test_that("integers of 64 bits are refused", {
  counts <- data.frame(x = 1:60, row.names = ids)
  counts$y <- structure(as.double(1:60), class = "integer64")
  refused(fit_of(list(rna = counts), 3), "view rna, integer64 = y: must be made numbers by as.numeric\\(\\)")
  wide <- structure(views[[1]], class = "integer64")
  refused(fit_of(list(rna = wide), 3), "view rna, integer64 = values: must be made numbers")
})

test_that("names in any encoding are the same names", {
  latin1 <- function(names) iconv(names, "UTF-8", "latin1")
  ids <- paste0("p\u00e9", 1:60)
  named_by <- function(encoded) {
    view <- views[[1]]
    dimnames(view) <- list(encoded(ids), encoded(paste0("\u00fc", seq_len(ncol(view)))))
    stats::setNames(list(view), encoded("prot\u00e9ine"))
  }
  expect_equal(unique(Encoding(rownames(named_by(latin1)[[1]]))), "latin1")
  fit <- fit_of(named_by(latin1), 3)
  expect_identical(fit$model, fit_of(named_by(identity), 3)$model)
  expect_identical(names(fit$cluster), ids)
  expect_identical(predict(fit, named_by(latin1)), predict(fit, named_by(identity)))
})

test_that("masks and views with a truth obey their rules", {
  expect_equal(colSums(missing_mask("per-view:0.3", 10, 3, seed = 0)), rep(7, 3))
  expect_identical(missing_mask("cells:0.3", 20, 3, seed = 4), missing_mask("cells:0.3", 20, 3, seed = 4))
  refused(missing_mask("per-view:1.2", 10, 3), "1.2: must lie in \\[0, 1\\)")
  refused(missing_mask("now and then", 10, 3), "now and then")
  refused(missing_mask("complete", 0, 3), "^n = 0")
  refused(hide_views(views, matrix(TRUE, 60, 2)), "with 3 columns")
  refused(hide_views(views, matrix(TRUE, 59, 3)), "rows of mask = 59")
  refused(hide_views(1, matrix(TRUE, 1, 1)), "class of views")
  simulated <- simulate_views(30, 3, c(4, 5), c("linear", "nonlinear"), seed = 1)
  expect_equal(vapply(simulated$views, ncol, 1L), 4:5)
  expect_equal(as.vector(table(simulated$class)), c(10, 10, 10))
  refused(simulate_views(30, 3, 4, "round"), "maps = round")
  refused(simulate_views(30, 3, c(4, 5), "linear"), "must be as many")
  refused(simulate_views(2, 3), "cluster")
})

test_that("scores count samples whose class is known", {
  truth <- c(1, 1, 2, 2, 3, 3)
  found <- c(5, 5, 3, 3, 3, 9)
  expect_equal(scores(truth, found)[["acc"]], 5 / 6)
  expect_equal(scores(factor(letters[truth]), found), scores(truth, found))
  expect_equal(scores(c(truth, NA), c(found, 5)), scores(truth, found))
  expect_equal(match_labels(c("a", "a", "b", "b"), c(2, 2, 1, 1)), c("1" = "b", "2" = "a"))
  found <- stats::setNames(found, letters[1:6])
  expect_equal(scores(stats::setNames(truth, letters[1:6]), rev(found)), scores(truth, found))
  refused(scores(stats::setNames(truth, letters[2:7]), found), "names shared by truth and found = 5: must be all 6")
  refused(scores(1:3, 1:2), "must be the same")
  refused(match_labels(list(1), list(2)), "class of labels")
})

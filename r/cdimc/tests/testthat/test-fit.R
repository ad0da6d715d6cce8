test_that("clusters match the classes, have names and start at 1", {
  data <- made()
  fit <- fit_of(data$views, 3)
  expect_s3_class(fit, "cdimc")
  expect_gt(scores(data$class, fit$cluster)[["acc"]], 0.9)
  expect_setequal(fit$cluster, 1:3)
  expect_named(fit$cluster, as.character(1:120))
  expect_equal(rowSums(fit$probabilities), stats::setNames(rep(1, 120), 1:120))
  expect_equal(unname(fit$observed), data$mask)
})

test_that("rows of NA and absent rows mean the same", {
  data <- made()
  by_row <- fit_of(stats::setNames(data$views, c("rna", "protein", "methylation")), 3)
  by_name <- fit_of(named(data), 3)
  expect_gt(scores(by_row$cluster, by_name$cluster[paste0("patient", 1:120)])[["ari"]], 0.95)
})

test_that("set.seed() decides unless a seed is given", {
  views <- made()$views
  draw <- function(seed) {
    set.seed(seed)
    sure(tmixture(views, 3, starts = 2, progress = FALSE))
  }
  expect_equal(draw(1)$seed, draw(1)$seed)
  expect_false(draw(1)$seed == draw(2)$seed)
  set.seed(1)
  before <- .Random.seed
  expect_equal(fit_of(views, 3)$seed, 0)
  expect_identical(.Random.seed, before)
})

test_that("the number of threads changes no bit", {
  views <- made()$views
  expect_identical(fit_of(views, 3, threads = 1)$model, fit_of(views, 3, threads = 2)$model)
})

test_that("every method of the engine runs by its name", {
  expect_equal(cdimc_methods()[1:2], c("t-mixture", "cdimc-net"))
  expect_equal(cdimc_settings()$starts, 16)
  data <- made(rate = 0)
  expect_equal(sure(cdimc(data$views, 3, "concat", seed = 0, progress = FALSE))$k, 3)
  short <- list(pretrain = list(epochs = 2), finetune = list(rounds = 2), advanced = list(minimum_rounds = 1))
  net <- sure(do.call(cdimc, c(list(data$views, 3, "cdimc-net", seed = 0, progress = FALSE), short)))
  expect_equal(net$method, "cdimc-net")
  expect_equal(formals(cdimc)$method, "t-mixture")
  expect_equal(net$settings$pretrain$epochs, 2)
  expect_type(net$model, "raw")
})

test_that("a number of clusters is chosen", {
  data <- made()
  choice <- sure(choose_k(data$views, c(2, 5), starts = 4, seed = 0, progress = FALSE))
  expect_s3_class(choice, "cdimc_choice")
  expect_equal(choice$chosen, 3L)
  expect_equal(choice$candidates$k, 2:5)
  expect_output(print(choice), "3 clusters")
  fit <- fit_of(data$views, "auto", range = c(2, 5))
  expect_equal(c(fit$k, fit$cluster_number$chosen), c(3, 3))
  pdf(NULL)
  on.exit(dev.off())
  expect_invisible(plot(choice))
})

test_that("samples without any value have no cluster and cause a warning", {
  data <- made()
  data$views <- lapply(data$views, function(view) rbind(NA, view))
  expect_warning(fit <- fit_of(data$views, 3), class = "cdimc_unobserved_samples")
  expect_identical(fit$cluster[[1]], NA_integer_)
  expect_length(fit$cluster, 121)
  expect_equal(scores(c(1, data$class), fit$cluster), scores(data$class, fit$cluster[-1]))
})

test_that("single missing cells are filled with a warning, or refused", {
  data <- made(rate = 0)
  data$views[[1]][5, 2] <- NA
  expect_warning(fit_of(data$views, 3), "1 single missing cells", class = "cdimc_filled_cells")
  expect_error(fit_of(data$views, 3, strict = TRUE), "single missing cell", class = "cdimc_error")
})

test_that("an interrupt stops the fit", {
  skip_on_os("windows")
  views <- simulate_views(20000, 8, seed = 1)$views
  # The signal that Ctrl-C sends, from a shell that outlives no test; without the parentheses R would wait for the sleep, deaf
  # to signals as long as it waits for a shell.
  system(sprintf("(sleep 1; kill -INT %d)", Sys.getpid()), wait = FALSE)
  began <- proc.time()[["elapsed"]]
  ended <- tryCatch(
    {
      tmixture(views, 8, starts = 800, seed = 0, progress = FALSE)
      "finished"
    },
    interrupt = function(condition) "interrupted"
  )
  expect_equal(ended, "interrupted")
  expect_lt(proc.time()[["elapsed"]] - began, 30)
})

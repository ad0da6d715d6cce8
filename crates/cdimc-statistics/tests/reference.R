# Writes reference.json: the numbers of R (4.2, survival 3.5) on data of its own making.
#   Rscript reference.R > reference.json
suppressPackageStartupMessages(library(survival))

number <- function(x) {
    text <- sprintf("%.17g", x)
    ifelse(is.na(x), "null", ifelse(is.infinite(x), ifelse(x > 0, "1e999", "-1e999"), text))
}
list_of <- function(x) paste0("[", paste(number(x), collapse = ","), "]")
object <- function(...) {
    parts <- list(...)
    paste0("{", paste0("\"", names(parts), "\":", unlist(parts), collapse = ","), "}")
}

# Times of each group by its hazard, in whole units (ties) or not, censored at the same times or at random.
survival_data <- function(seed, sizes, hazards, whole, horizon) {
    set.seed(seed)
    group <- rep(seq_along(sizes), sizes) - 1
    time <- rexp(length(group), hazards[group + 1])
    limit <- if (is.null(horizon)) runif(length(group), 0, 3 / min(hazards)) else rep(horizon, length(group))
    event <- as.integer(time <= limit)
    time <- pmin(time, limit)
    if (whole) time <- ceiling(time)
    list(time = time, event = event, group = group)
}
survival_sets <- list(
    two = survival_data(1, c(30, 25), c(0.1, 0.3), FALSE, NULL),
    ties = survival_data(2, c(40, 30, 20), c(0.15, 0.2, 0.5), TRUE, NULL),
    together = survival_data(3, c(25, 25, 25, 17), c(0.05, 0.1, 0.2, 0.4), TRUE, 9),
    empty = survival_data(4, c(20, 0, 18, 3), c(0.1, 1, 0.4, 0.3), TRUE, 12),
    small = list(
        time = c(1, 1, 2, 2, 2, 3, 5, 5, 8, 8, 9, 10), event = c(1, 0, 1, 1, 0, 1, 1, 1, 0, 1, 0, 1),
        group = c(0, 1, 0, 1, 0, 1, 1, 0, 0, 0, 1, 1)
    ),
    half = list( # One curve ends at one half, where the other continues.
        time = c(0.15, 0.44, 1.87, 2.07, 4.61, 1, 2, 3, 4), event = c(0, 1, 1, 0, 0, 1, 1, 1, 0),
        group = c(0, 0, 0, 0, 0, 1, 1, 1, 1)
    )
)
survival_reference <- function(d) {
    present <- sort(unique(d$group))
    test <- survdiff(Surv(time, event) ~ group, d)
    largest <- present[which.max(table(d$group))]
    d$factor <- relevel(factor(d$group), ref = as.character(largest))
    control <- coxph.control(eps = 1e-14, toler.chol = 1e-15, iter.max = 200)
    cox <- summary(coxph(Surv(time, event) ~ factor, d, ties = "efron", control = control))
    horizon <- min(tapply(d$time, d$group, max))
    curves <- sapply(present, function(g) {
        fit <- survfit(Surv(time, event) ~ 1, as.data.frame(d[c("time", "event")])[d$group == g, ])
        mean <- summary(fit, rmean = horizon)$table
        object(
            group = g, time = list_of(fit$time), risk = list_of(fit$n.risk), events = list_of(fit$n.event),
            survival = list_of(fit$surv), lower = list_of(fit$lower), upper = list_of(fit$upper),
            median = number(unname(mean["median"])), mean = number(unname(mean["rmean"])),
            error = number(unname(mean["se(rmean)"]))
        )
    })
    object(
        time = list_of(d$time), event = list_of(d$event), group = list_of(d$group),
        statistic = number(test$chisq), degrees = length(test$n) - 1,
        p = number(pchisq(test$chisq, length(test$n) - 1, lower.tail = FALSE)),
        observed = list_of(test$obs), expected = list_of(test$exp), reference = largest,
        ratios = list_of(cox$conf.int[, "exp(coef)"]), lower = list_of(cox$conf.int[, "lower .95"]),
        upper = list_of(cox$conf.int[, "upper .95"]), wald = list_of(cox$coefficients[, "Pr(>|z|)"]),
        horizon = number(horizon), curves = paste0("[", paste(curves, collapse = ","), "]")
    )
}

number_data <- function(seed, sizes, shifts, digits) {
    set.seed(seed)
    group <- rep(seq_along(sizes), sizes) - 1
    list(value = round(rnorm(length(group)) + shifts[group + 1], digits), group = group)
}
number_sets <- list(
    plain = number_data(1, c(20, 25, 30), c(0, 0.5, 1), 9),
    ties = number_data(2, c(30, 30, 20, 12), c(0, 0, 1, 2), 0),
    strong = number_data(3, c(40, 50), c(0, 5), 2),
    empty = number_data(4, c(15, 0, 9), c(0, 0, 0.3), 1),
    small = list(value = c(1, 1, 1, 2, 2, 7), group = c(0, 0, 1, 1, 1, 1))
)
number_reference <- function(d) {
    test <- kruskal.test(d$value, factor(d$group))
    h <- unname(test$statistic); k <- length(unique(d$group)); n <- length(d$value)
    inside <- d$value[d$group == 0]; outside <- d$value[d$group != 0]
    two <- wilcox.test(inside, outside, exact = FALSE, correct = TRUE)
    object(
        value = list_of(d$value), group = list_of(d$group), statistic = number(h), degrees = unname(test$parameter),
        p = number(test$p.value), eta = number(max(0, (h - k + 1) / (n - k))),
        auc = number(unname(two$statistic) / length(inside) / length(outside)), wilcoxon = number(two$p.value)
    )
}

category_data <- function(seed, n, groups, categories, skew) {
    set.seed(seed)
    group <- sample(groups, n, TRUE) - 1
    category <- ifelse(runif(n) < skew, group %% categories, sample(categories, n, TRUE) - 1)
    list(category = category, group = group)
}
category_sets <- list(
    plain = category_data(1, 40, 3, 3, 0),
    strong = category_data(2, 300, 3, 2, 0.6),
    two = category_data(3, 40, 2, 2, 0.3),
    few = category_data(4, 18, 3, 3, 0.5),
    empty = list(category = c(0, 0, 5, 5, 5, 0, 5, 5, 5, 5, 0, 5), group = c(0, 0, 0, 4, 4, 4, 4, 4, 2, 2, 0, 2))
)
category_reference <- function(d) {
    counts <- table(d$category, d$group)
    test <- suppressWarnings(chisq.test(counts, correct = FALSE))
    fisher <- fisher.test(counts, workspace = 2e7)$p.value
    v <- sqrt(unname(test$statistic) / (sum(counts) * (min(dim(counts)) - 1)))
    object(
        category = list_of(d$category), group = list_of(d$group), statistic = number(unname(test$statistic)),
        degrees = unname(test$parameter), p = number(test$p.value), v = number(v), fisher = number(fisher)
    )
}

discovery_sets <- list(
    c(0.01, 0.02, 0.03, 0.04, 0.05), c(0.5, 0.5, 1e-12), c(0.9, 0.001, 0.2, 0.2, 0.04, 0.039), 1,
    { set.seed(1); runif(40)^3 }
)
discovery_reference <- function(p) object(p = list_of(p), q = list_of(p.adjust(p, "BH")))

all <- function(sets, reference) paste0("[\n", paste(sapply(sets, reference), collapse = ",\n"), "\n]")
cat(object(
    survival = all(survival_sets, survival_reference), numbers = all(number_sets, number_reference),
    categories = all(category_sets, category_reference), discoveries = all(discovery_sets, discovery_reference)
), "\n")

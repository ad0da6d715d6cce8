library(testthat)
library(cdimc)

test_check("cdimc")

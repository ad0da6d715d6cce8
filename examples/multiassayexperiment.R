# Writes a MultiAssayExperiment as the files that `cdimc cluster` reads: one table per assay (features in rows, samples
# in columns), the clinical table and the sample map. Without a file it takes miniACC, 92 patients of TCGA.
#   Rscript multiassayexperiment.R FOLDER [FILE.rds]
suppressPackageStartupMessages(library(MultiAssayExperiment))

arguments <- commandArgs(TRUE)
folder <- arguments[1]
if (length(arguments) > 1) {
    mae <- readRDS(arguments[2])
} else {
    data(miniACC)
    mae <- miniACC
}
dir.create(folder, showWarnings = FALSE, recursive = TRUE)
table_file <- function(name) file.path(folder, paste0(name, ".csv"))

for (name in names(mae)) {
    # The column without a name holds the features; names of samples are unchanged.
    write.csv(as.matrix(assay(mae[[name]])), table_file(name))
}
map <- as.data.frame(sampleMap(mae))
write.csv(map, table_file("sample_map"), row.names = FALSE)

clinical <- as.data.frame(colData(mae))
if (all(c("days_to_death", "days_to_last_followup", "vital_status") %in% colnames(clinical))) {
    # Columns of TCGA; follow-up ends at death, or at the last visit.
    dead <- clinical$vital_status == 1
    clinical$time <- ifelse(dead, clinical$days_to_death, clinical$days_to_last_followup)
    clinical$event <- as.integer(dead)
}
write.csv(clinical, table_file("clinical"))

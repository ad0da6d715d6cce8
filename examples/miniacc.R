# Writes miniACC, 92 patients of The Cancer Genome Atlas with adrenocortical carcinoma, as the tables of
# docs/tutorial/patients.md: patients in rows, counts on a logarithmic scale.
#   Rscript miniacc.R FOLDER
suppressPackageStartupMessages(library(MultiAssayExperiment))

folder <- commandArgs(TRUE)[1]
dir.create(folder, showWarnings = FALSE, recursive = TRUE)
data(miniACC)
assays <- c(rna = "RNASeq2GeneNorm", mirna = "miRNASeqGene", protein = "RPPAArray", copies = "gistict", mutations = "Mutations")

for (name in names(assays)) {
    table <- t(assay(miniACC[[assays[[name]]]]))
    if (name %in% c("rna", "mirna")) {
        table <- log2(table + 1)
    }
    # The first twelve letters of a barcode identify the patient.
    table <- data.frame(patient = substr(rownames(table), 1, 12), signif(table, 6), check.names = FALSE)
    write.csv(table, file.path(folder, paste0(name, ".csv")), row.names = FALSE)
}

patients <- as.data.frame(colData(miniACC))
# Follow-up ends at death, or at the last visit.
dead <- patients$vital_status == 1
patients$patient <- patients$patientID
patients$days <- ifelse(dead, patients$days_to_death, patients$days_to_last_followup)
patients$dead <- as.integer(dead)
columns <- c("patient", "days", "dead", "years_to_birth", "gender", "pathologic_stage", "mRNA_K4", "miRNA.cluster", "COC")
write.csv(patients[columns], file.path(folder, "clinical.csv"), row.names = FALSE)

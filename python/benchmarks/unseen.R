# Helpers for the expressions of unseen.toml, and `write_set`, which writes a set's views and classes.

# The ARFF files of the list: attribute lines, then comma-separated values.
read_arff <- function(path) {
  lines <- trimws(readLines(path))
  lines <- lines[lines != "" & !startsWith(lines, "%")]
  data <- which(tolower(lines) == "@data")
  attributes <- grep("^@attribute", lines[seq_len(data)], ignore.case = TRUE, value = TRUE)
  names <- sub("^@attribute\\s+('[^']*'|\\S+).*", "\\1", attributes, ignore.case = TRUE)
  table <- read.csv(text = lines[-seq_len(data)], header = FALSE, na.strings = c("?", "NA"), strip.white = TRUE,
                    quote = "'", stringsAsFactors = TRUE)
  setNames(table, gsub("'", "", names))
}

read_member <- function(path) {
  if (grepl("\\.arff$", path)) return(read_arff(path))
  first <- sub(".*,", "", readLines(path, 1))
  header <- is.na(suppressWarnings(as.numeric(first)))
  read.csv(path, header = header, stringsAsFactors = TRUE, na.strings = c("", "NA", "?"))
}

# The object of an .rda file.
read_object <- function(path) {
  place <- new.env()
  get(load(path, place)[1], place)
}

# The columns whose names match.
matching <- function(table, pattern) table[, grepl(pattern, colnames(table)), drop = FALSE]

# The columns between two names, both among them.
span <- function(table, from, to) table[, match(from, colnames(table)):match(to, colnames(table)), drop = FALSE]

# Numbers stay; ordered levels become ranks, two levels 0 and 1, more levels one column per level.
# Missing cells become the column's mean, and columns with one value are left out.
as_numbers <- function(view) {
  view <- as.data.frame(view)
  columns <- lapply(names(view), function(name) {
    x <- view[[name]]
    if (is.character(x)) x <- factor(x)
    if (is.factor(x)) x <- droplevels(x)
    if (!is.factor(x) || is.ordered(x) || nlevels(x) <= 2) return(setNames(data.frame(as.numeric(x)), name))
    marks <- sapply(levels(x), function(level) as.numeric(x == level))
    setNames(as.data.frame(marks), paste(name, levels(x), sep = "."))
  })
  table <- do.call(cbind, columns)
  table[] <- lapply(table, function(x) ifelse(is.na(x), mean(x, na.rm = TRUE), x))
  table[, vapply(table, function(x) length(unique(x)) > 1, logical(1)), drop = FALSE]
}

write_set <- function(folder, views, truth) {
  kept <- !is.na(truth)
  ids <- sprintf("s%05d", seq_along(truth))
  dir.create(folder, recursive = TRUE, showWarnings = FALSE)
  for (name in names(views)) {
    table <- cbind(id = ids, as_numbers(views[[name]]))[kept, ]
    write.csv(table, file.path(folder, paste0(name, ".csv")), row.names = FALSE, quote = FALSE)
  }
  truth <- data.frame(id = ids, class = gsub(",", " ", as.character(truth)))[kept, ]
  write.csv(truth, file.path(folder, "truth.csv"), row.names = FALSE, quote = FALSE)
}

# Publishes private counts of a survey from R, and asks for more answers. Needs `matmech` on the PATH
# and the package jsonlite. In the folder of the repository:
#
#     Rscript examples/private_answers.R
library(jsonlite)

matmech <- function(...) {
  output <- system2("matmech", shQuote(c(...)), stdout = TRUE)
  failed <- attr(output, "status")
  if (!is.null(failed)) stop("matmech stopped with status ", failed, "; its message is above")
  fromJSON(output)
}

folder <- tempfile("matmech-")
dir.create(folder)
ledger <- file.path(folder, "budget.jsonl")
released <- file.path(folder, "released")
created <- matmech("ledger", "create", ledger, "--epsilon", "2", "--delta", "1e-9", "--json")
release <- matmech(
  "release", "--schema", "docs/example/survey.toml", "--data", "docs/example/survey.csv",
  "--ways", "1,2", "--epsilon", "1", "--delta", "1e-9", "--out-of-domain", "drop",
  "--ledger", ledger, "--out", released, "--json"
)
cat("rho left:", created$left_rho - release$rho_reserved, "\n")

counts <- read.csv(file.path(released, "answers.csv"))
print(subset(counts, attributes == "job", c(query, estimate, standard_error)))

answers <- matmech("answer", "--measurements", file.path(released, "measurements"),
                   "--query", "mean(trips) by job", "--json")$answers$answers[[1]]
print(data.frame(job = unlist(answers$by), answers[c("estimate", "low_95", "high_95")]))

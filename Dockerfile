# The commands `matmech` and `reproduce`, built as in the README, in an image without a compiler.
# Results are written to the mounted folder:
#
#   docker build --tag matmech .
#   docker run --rm --user "$(id -u):$(id -g)" --volume "$PWD:/work" matmech reproduce all
#   apptainer build matmech.sif docker-daemon://matmech:latest
#   apptainer exec matmech.sif reproduce all
#
# `reproduce all` is the same as `make all-results`. The folder is a checkout or an unpacked archive
# with configs/, data/ and docs/; results/ and figures/ are written to it.
FROM rust:1.95-slim-bookworm AS build
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev make git && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN cargo build --release --locked --package matmech-cli --package experiments --bins

FROM debian:bookworm-slim
# Certificates for `reproduce data`; git for the commit of the mounted folder in provenance.
RUN apt-get update && apt-get install --yes --no-install-recommends ca-certificates git && rm -rf /var/lib/apt/lists/* \
    && git config --system --add safe.directory /work
COPY --from=build /source/target/release/matmech /source/target/release/reproduce /usr/local/bin/
WORKDIR /work
CMD ["reproduce", "--help"]

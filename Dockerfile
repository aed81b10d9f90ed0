# The two commands, built as the README says, in an image without the compiler. Results go to the folder that is mounted:
#
#   docker build --tag matmech .
#   docker run --rm --user "$(id -u):$(id -g)" --volume "$PWD:/work" matmech reproduce all              # as make reproduce
#   apptainer build matmech.sif docker-daemon://matmech:latest && apptainer exec matmech.sif reproduce all
#
# The folder is a checkout or an unpacked archive: configs/, data/ and docs/ are read from it, results/ and figures/ written.
FROM rust:1.95-slim-bookworm AS build
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev make git && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN cargo build --release --locked --package matmech --package experiments --bins

FROM debian:bookworm-slim
# Certificates for `reproduce data`; git so that provenance names the commit of the mounted folder.
RUN apt-get update && apt-get install --yes --no-install-recommends ca-certificates git && rm -rf /var/lib/apt/lists/* \
    && git config --system --add safe.directory /work
COPY --from=build /source/target/release/matmech /source/target/release/reproduce /usr/local/bin/
WORKDIR /work
CMD ["reproduce", "--help"]

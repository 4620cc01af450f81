# docker build -t spillway .
# docker run --rm --user "$(id -u):$(id -g)" -v "$PWD:/work" spillway plan mine.json --out out
#
# The image holds the static program and its bundled files, and nothing else: no shell, no libc.
FROM debian:bookworm-slim AS build
WORKDIR /src
COPY . .
RUN ./quickstart --static && cmake --install build/static --prefix /image/usr

FROM scratch
COPY --from=build /image /
WORKDIR /work
# Nobody in particular. --user above makes what it writes yours.
USER 65532:65532
ENTRYPOINT ["/usr/bin/spillway"]

# casegraph as an image: `docker build -t casegraph .`, then
# `docker run --rm -v "$PWD:/data" casegraph facts edges.csv`
FROM python:3.13-slim-bookworm AS build
RUN apt-get update \
    && apt-get install --yes --no-install-recommends g++ \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY CMakeLists.txt pyproject.toml README.md LICENSE ./
COPY docs/casegraph.1 docs/
COPY kernels kernels
COPY src src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.13-slim-bookworm
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir --find-links /wheels "casegraph[arrow,rdf]" \
    && rm -rf /wheels \
    && useradd --create-home casegraph \
    && mkdir /data \
    && chown casegraph /data
USER casegraph
WORKDIR /data
VOLUME /data
ENTRYPOINT ["casegraph"]
CMD ["--help"]

# `mcpist up` in a container:
#   docker build --target run --tag mcpist .
#   docker run --rm --network host --volume mcpist:/data mcpist
# It has the host's network, since the endpoint and its login are two ports of loopback that other machines must not reach.
FROM python:3.13-slim AS build
ENV UV_PROJECT_ENVIRONMENT=/opt/mcpist UV_PYTHON_DOWNLOADS=never
WORKDIR /source
COPY . .
RUN python -m venv /opt/uv && /opt/uv/bin/pip install --no-cache-dir --require-hashes --requirement infra/tools/uv.txt
RUN /opt/uv/bin/uv sync --locked --no-cache --no-default-groups --extra local --no-editable --compile-bytecode

FROM python:3.13-slim AS run
COPY --from=build /opt/mcpist /opt/mcpist
RUN useradd --uid 1000 --create-home mcpist && install --directory --owner mcpist /data
USER mcpist
WORKDIR /data
VOLUME /data
ENTRYPOINT ["/opt/mcpist/bin/mcpist"]
CMD ["up"]

# The devcontainer: what `make` does not install itself, and what some tests skip without.
FROM python:3.13 AS development
RUN apt-get update && apt-get install --yes --no-install-recommends chromium git jq make nodejs npm ripgrep \
    && rm -rf /var/lib/apt/lists/* && useradd --uid 1000 --create-home --shell /bin/bash mcpist
USER mcpist

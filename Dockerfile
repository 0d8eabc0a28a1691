# `mcpist up` in a container:
#   docker build --target run --tag mcpist .
#   docker run --rm --interactive --tty --network host --volume mcpist:/data --name mcpist mcpist
#   docker exec mcpist mcpist modules
# It has the host's network, since the endpoint and its login are two ports of loopback that other machines must not reach.
FROM python:3.13-slim AS build
ENV UV_PROJECT_ENVIRONMENT=/opt/mcpist UV_PYTHON_DOWNLOADS=never
WORKDIR /source
COPY . .
RUN python -m venv /opt/uv && /opt/uv/bin/pip install --no-cache-dir --require-hashes --requirement infra/tools/uv.txt
RUN /opt/uv/bin/uv sync --locked --no-cache --no-default-groups --extra local --no-editable --compile-bytecode

FROM python:3.13-slim AS run
COPY --from=build /opt/mcpist /opt/mcpist
ENV PATH=/opt/mcpist/bin:$PATH
RUN useradd --uid 1000 --create-home mcpist && install --directory --owner mcpist /data
USER mcpist
WORKDIR /data
VOLUME /data
# At whatever port it was started: `up` writes its address when it is ready.
HEALTHCHECK --start-period=2m CMD ["python", "-c", "import json, urllib.request as web; \
    web.urlopen(json.load(open('.mcpist/up.json'))['api_url'] + '/.well-known/oauth-protected-resource', timeout=10)"]
ENTRYPOINT ["mcpist"]
CMD ["up"]

# The devcontainer: what `make` does not install itself, and what some tests skip without.
FROM python:3.13 AS development
RUN apt-get update && apt-get install --yes --no-install-recommends chromium git jq make nodejs npm ripgrep \
    && rm -rf /var/lib/apt/lists/* && useradd --uid 1000 --create-home --shell /bin/bash mcpist
USER mcpist

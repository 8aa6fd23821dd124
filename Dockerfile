# An image with the page. Build and run it: docker build -t headlight . && docker run -p 7860:7860 headlight
FROM python:3.12-slim@sha256:78387bc3881b8273120a12ebe6c1ab22b018ccc2c9adf565ae1ac9b536e184ea

RUN useradd --create-home --uid 1000 headlight
WORKDIR /home/headlight/app

# Packages first: they rarely change, so a change of code builds in seconds.
# The lock file lists every package with its hash, so that builds are reproducible. Its torch is the registry's build for
# Linux, which contains CUDA: the image is several gigabytes large, and runs on a GPU (`docker run --gpus all`) or a CPU.
COPY requirements.lock .
RUN pip install --no-cache-dir --require-hashes -r requirements.lock

# `--build-arg CLUSTER=yes`: also the packages of a cluster (docs/scale.md). KubeRay checks a pod's health with wget.
ARG CLUSTER=""
COPY docs/cluster/requirements.lock cluster.lock
RUN if [ -n "$CLUSTER" ]; then \
      apt-get update && apt-get install -y --no-install-recommends wget && rm -rf /var/lib/apt/lists/* && \
      pip install --no-cache-dir --require-hashes -r cluster.lock; \
    fi

COPY --chown=headlight app.py headlight.py ./
COPY --chown=headlight model model
COPY --chown=headlight viz viz
COPY --chown=headlight assets assets

USER headlight
ENV HEADLIGHT_HOST=0.0.0.0 HEADLIGHT_PORT=7860 PYTHONUNBUFFERED=1
EXPOSE 7860
CMD ["python", "app.py"]

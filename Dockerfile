# The page for everybody else: docker build -t headlight . && docker run -p 7860:7860 headlight
FROM python:3.12-slim@sha256:78387bc3881b8273120a12ebe6c1ab22b018ccc2c9adf565ae1ac9b536e184ea

RUN useradd --create-home --uid 1000 headlight
WORKDIR /home/headlight/app

# Packages first: they change seldom, and a change of code then builds in seconds.
# The lock names every one of them with its hash, so that the same image comes of the same files. Its torch is the one
# build of the package registry for Linux: it holds CUDA, which makes the image some gigabytes large, and in return
# one image runs on a GPU (`docker run --gpus all`) and on any CPU.
COPY requirements.lock .
RUN pip install --no-cache-dir --require-hashes -r requirements.lock

# `--build-arg CLUSTER=yes`: also what several machines need (docs/scale.md). KubeRay asks after a pod's health with wget.
ARG CLUSTER=""
COPY docs/cluster/requirements.lock cluster.lock
RUN if [ -n "$CLUSTER" ]; then \
      apt-get update && apt-get install -y --no-install-recommends wget && rm -rf /var/lib/apt/lists/* && \
      pip install --no-cache-dir --require-hashes -r cluster.lock; \
    fi

COPY --chown=headlight app.py bertviz.py errors.py headlight.py ./
COPY --chown=headlight model model
COPY --chown=headlight viz viz
COPY --chown=headlight assets assets

USER headlight
ENV HEADLIGHT_HOST=0.0.0.0 HEADLIGHT_PORT=7860 PYTHONUNBUFFERED=1
EXPOSE 7860
CMD ["python", "app.py"]

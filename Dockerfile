# The page for everybody else: docker build -t headlight . && docker run -p 7860:7860 headlight
FROM python:3.12-slim

RUN useradd --create-home --uid 1000 headlight
WORKDIR /home/headlight/app

# Packages first: they change seldom, and a change of code then builds in seconds.
COPY requirements.txt .
RUN pip install --no-cache-dir -r requirements.txt

COPY --chown=headlight app.py ./
COPY --chown=headlight model model
COPY --chown=headlight viz viz
COPY --chown=headlight assets assets

USER headlight
ENV HEADLIGHT_HOST=0.0.0.0 HEADLIGHT_PORT=7860 PYTHONUNBUFFERED=1
EXPOSE 7860
CMD ["python", "app.py"]

# The coordinator alone: no Java, Spark is reached over Spark Connect.
FROM python:3.11-slim
RUN useradd --create-home --uid 10001 procession
WORKDIR /opt/procession
COPY constraints.txt pyproject.toml README.md LICENSE ./
COPY shared shared
COPY coordinator coordinator
COPY sidecar sidecar
COPY etc etc
RUN pip install --no-cache-dir -c constraints.txt '.[hive,glue]' && rm -r etc && mkdir -p /var/lib/procession \
    && chown procession /var/lib/procession
COPY docker/etc etc
USER procession
EXPOSE 8080
HEALTHCHECK --interval=5s --timeout=3s --retries=24 \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8080/v1/info', timeout=2)"]
ENTRYPOINT ["procession"]
CMD ["coordinator", "--etc", "/opt/procession/etc"]

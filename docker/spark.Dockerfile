# Spark Connect with Iceberg's runtime; the Python workers have the versions that the kernels were tested with.
FROM python:3.11-slim
RUN apt-get update && apt-get install --yes --no-install-recommends openjdk-17-jre-headless || \
    apt-get install --yes --no-install-recommends openjdk-21-jre-headless; rm -rf /var/lib/apt/lists/*
RUN useradd --create-home --uid 10001 procession
WORKDIR /opt/procession
COPY constraints.txt ./
RUN pip install --no-cache-dir -c constraints.txt 'pyspark[connect]==4.1.*' pyarrow numpy 'pandas<3'
COPY docker/start-spark-connect.sh ./
RUN mkdir -p /var/lib/procession && chown procession /var/lib/procession
USER procession
ENV PYSPARK_PYTHON=/usr/local/bin/python
EXPOSE 15002
HEALTHCHECK --interval=5s --timeout=3s --retries=60 \
    CMD ["python", "-c", "import socket; socket.create_connection(('127.0.0.1', 15002), 2).close()"]
ENTRYPOINT ["bash", "/opt/procession/start-spark-connect.sh"]

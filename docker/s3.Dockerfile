# A small S3 store for the demo: moto's server, which keeps everything in memory.
FROM python:3.11-slim
RUN useradd --create-home --uid 10001 procession
WORKDIR /opt/procession
COPY constraints.txt ./
RUN pip install --no-cache-dir -c constraints.txt 'moto[server]'
COPY docker/s3_store.py ./
USER procession
EXPOSE 9000
HEALTHCHECK --interval=5s --timeout=3s --retries=24 \
    CMD ["python", "-c", "import socket; socket.create_connection(('127.0.0.1', 9000), 2).close()"]
ENTRYPOINT ["python", "/opt/procession/s3_store.py"]
CMD ["--bucket", "warehouse", "--port", "9000"]

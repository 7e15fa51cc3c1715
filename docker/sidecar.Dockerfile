# The plan-validation service with the real Velox (pyvelox: CPython 3.11 or 3.12 on Linux x86-64).
FROM --platform=linux/amd64 python:3.11-slim
RUN useradd --create-home --uid 10001 procession
WORKDIR /opt/procession
COPY constraints.txt pyproject.toml README.md LICENSE ./
COPY shared shared
COPY coordinator coordinator
COPY sidecar sidecar
COPY etc etc
RUN pip install --no-cache-dir -c constraints.txt .
USER procession
EXPOSE 7778
HEALTHCHECK --interval=5s --timeout=3s --retries=24 \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:7778/v1/info', timeout=2)"]
ENTRYPOINT ["python", "-m", "sidecar"]
CMD ["--host", "0.0.0.0", "--port", "7778"]

"""The demo's S3 store: moto's server with one bucket made before the first request is answered."""

import argparse
import signal
import threading

import boto3
from moto.server import ThreadedMotoServer


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bucket", required=True)
    parser.add_argument("--host", default="0.0.0.0")  # noqa: S104 inside its container
    parser.add_argument("--port", type=int, required=True)
    options = parser.parse_args()
    server = ThreadedMotoServer(options.host, options.port)
    server.start()
    store = boto3.client(
        "s3",
        endpoint_url=f"http://127.0.0.1:{options.port}",
        region_name="us-east-1",
        aws_access_key_id="any",
        aws_secret_access_key="any",  # noqa: S106 moto checks none
    )
    store.create_bucket(Bucket=options.bucket)
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    stop.wait()
    server.stop()


if __name__ == "__main__":
    main()

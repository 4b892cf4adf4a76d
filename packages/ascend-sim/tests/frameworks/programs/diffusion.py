# SPDX-License-Identifier: Apache-2.0
"""Trains a tiny model of diffusers on the CPU and on the device, and draws images with it.

Its argument is the model: unet or dit. Prints for each device the losses, and the largest
difference of a pixel, as JSON in one line.
"""

import copy
import json
import sys
from typing import Any

import torch
import torch_npu
from diffusers import (
    AutoencoderKL,
    DDIMScheduler,
    DDPMPipeline,
    DDPMScheduler,
    DiTPipeline,
    DiTTransformer2DModel,
    UNet2DModel,
)

STEPS = 6
CLASSES = 1000
"""DiTPipeline's class of no class is the number 1000."""


def unet() -> Any:
    """Convolutions with attention, for images of 16 x 16."""
    return UNet2DModel(
        sample_size=16,
        in_channels=3,
        out_channels=3,
        layers_per_block=1,
        block_out_channels=(16, 32),
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
        norm_num_groups=8,
        attention_head_dim=8,
    )


def dit() -> Any:
    """A transformer, for the latent images of an autoencoder."""
    return DiTTransformer2DModel(
        num_attention_heads=2,
        attention_head_dim=16,
        in_channels=4,
        out_channels=8,
        num_layers=2,
        norm_num_groups=4,
        sample_size=8,
        num_embeds_ada_norm=CLASSES,
    )


def autoencoder() -> Any:
    """What turns the latent images into images of 16 x 16."""
    return AutoencoderKL(
        block_out_channels=(8, 16),
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
        latent_channels=4,
        norm_num_groups=4,
        sample_size=16,
    )


def trained(model: Any, device: str) -> "list[float]":
    """The losses of a few steps, which guess the noise of the same noisy images."""
    generator = torch.Generator().manual_seed(0)
    shape = (4, model.config.in_channels, model.config.sample_size, model.config.sample_size)
    images = torch.rand(shape, generator=generator).to(device)
    noise = torch.randn(shape, generator=generator).to(device)
    times = torch.randint(0, 1000, (4,), generator=generator).to(device)
    labels = {} if isinstance(model, UNet2DModel) else {"class_labels": times % CLASSES}
    scheduler = DDPMScheduler()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    losses = []
    model.eval()  # in training, DiT leaves out random labels, and each device draws others
    for _ in range(STEPS):
        guessed = model(scheduler.add_noise(images, noise, times), times, **labels).sample
        loss = torch.nn.functional.mse_loss(guessed[:, : shape[1]], noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def drawn(model: Any, decoder: Any, device: str) -> Any:
    """Images of the model's pipeline, from noise of the CPU."""
    generator = torch.Generator().manual_seed(1)
    if isinstance(model, UNet2DModel):
        pipeline = DDPMPipeline(model, DDPMScheduler())
        options: dict[str, Any] = {"batch_size": 2}
    else:
        pipeline = DiTPipeline(model, decoder, DDIMScheduler())
        options = {"class_labels": [1, 2]}
    pipeline.set_progress_bar_config(disable=True)
    made = pipeline.to(device)(
        generator=generator, num_inference_steps=4, output_type="np", **options
    )
    return made.images


def main() -> None:
    """Runs as a program."""
    assert torch_npu.__version__  # imported for the device that it registers
    torch.manual_seed(0)
    model, decoder = {"unet": unet, "dit": dit}[sys.argv[1]](), autoencoder().eval()
    other, other_decoder = copy.deepcopy(model).to("npu"), copy.deepcopy(decoder).to("npu")
    losses = {"cpu": trained(model, "cpu"), "npu": trained(other, "npu")}
    # The trained weights differ a little, so both draw with those of the CPU.
    other.load_state_dict(model.state_dict())
    images = [drawn(model, decoder, "cpu"), drawn(other, other_decoder, "npu")]
    assert images[0].std() > 0
    difference = float(abs(images[0] - images[1]).max())
    print(json.dumps({**losses, "difference": difference}), flush=True)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""Operators whose results were wrong once."""

from __future__ import annotations

import json
from math import exp, inf, isclose, isnan, log, nan
from typing import Any

import pytest

from .hosts import Host

SMALLEST = -3.4028234663852886e38  # of float32
TRANSPOSED = [5, 3, 1, 6, 4, 2]


def compute(host: Host, operator: str, *arguments: Any, probe: str = "compute") -> list[Any]:
    answer = host.ask(probe, operator, json.dumps(arguments))
    assert isinstance(answer, list), answer
    return answer


def zeros(dtype: str, *shape: int) -> list[Any]:
    count = 1
    for extent in shape:
        count *= extent
    return ["out", dtype, list(shape), [0] * count]


def test_a_text_is_read_when_a_call_is_planned(host: Host) -> None:
    arguments = (
        ["float", [1], [1.0]],
        ["float", [1], [0.5]],
        ["text", "tanh"],
        zeros("float", 1),
    )
    gone = compute(host, "aclnnGeluBackwardV2", *arguments, probe="compute_after_the_text_is_gone")
    assert gone == compute(host, "aclnnGeluBackwardV2", *arguments)


def test_the_sum_of_two_logarithms_of_nothing(host: Host) -> None:
    """Of two equal infinities the difference is not a number; their sum is."""
    rows = ["float", [3], [-inf, inf, -inf]], ["float", [3], [-inf, inf, 1.0]]
    assert compute(host, "aclnnLogAddExp", *rows, zeros("float", 3)) == [[-inf, inf, 1.0]]


def test_the_least_of_numbers_and_a_nan_is_the_nan(host: Host) -> None:
    rows = ["float", [3, 3], [2.0, nan, 1.0, 3.0, 1.0, 1.0, inf, 2.0, nan]]
    values, places = compute(
        host, "aclnnMinDim", rows, ["i", 1], ["b", False], zeros("float", 3), zeros("int64", 3)
    )
    assert [isnan(each) for each in values] == [True, False, True]
    assert places == [1, 1, 2]
    (places,) = compute(host, "aclnnArgMin", rows, ["i", 1], ["b", False], zeros("int64", 3))
    assert places == [1, 1, 2]


def test_the_step_of_adamw_is_the_number_of_steps_before(host: Host) -> None:
    """After the first step a parameter has moved by the learning rate, against the gradient."""
    parameter, *_ = compute(
        host,
        "aclnnApplyAdamWV2",
        ["out", "float", [1], [1.0]],
        ["out", "float", [1], [0.0]],
        ["out", "float", [1], [0.0]],
        None,
        ["float", [1], [2.0]],
        ["float", [1], [0.0]],
        *(["f", value] for value in (0.1, 0.9, 0.999, 0.0, 1e-8)),
        ["b", False],
        ["b", False],
    )
    assert isclose(parameter[0], 0.9, rel_tol=1e-5)


@pytest.mark.parametrize(
    ("operator", "expected"), [("Softmax", 0.25), ("LogSoftmax", -1.3862943611198906)]
)
def test_softmax_of_huge_numbers(host: Host, operator: str, expected: float) -> None:
    row = ["float", [4], [SMALLEST] * 4]
    (result,) = compute(host, f"aclnn{operator}", row, ["i", 0], zeros("float", 4))
    assert result == pytest.approx([expected] * 4)


@pytest.mark.parametrize("last", [-50.0, -800.0, float("-inf")])
@pytest.mark.parametrize("logarithm", [False, True])
def test_softmax_of_a_long_row(host: Host, last: float, logarithm: bool) -> None:
    row = [3 - 0.75 * i for i in range(76)] + [last]
    powers = [exp(x - 3) for x in row]
    arguments = (["float", [1, 77], row], ["i", 1], zeros("float", 1, 77))
    if logarithm:
        (found,) = compute(host, "aclnnLogSoftmax", *arguments)
        assert found == pytest.approx([x - 3 - log(sum(powers)) for x in row], rel=1e-6)
    else:
        (found,) = compute(host, "aclnnSoftmax", *arguments)
        assert found == pytest.approx(
            [power / sum(powers) for power in powers], rel=1e-6, abs=1e-44
        )


def test_softmax_of_a_row_with_nan(host: Host) -> None:
    for place in (0, 5, 76):
        row = [0.0] * 77
        row[place] = float("nan")
        arguments = (["float", [1, 77], row], ["i", 1], zeros("float", 1, 77))
        (found,) = compute(host, "aclnnSoftmax", *arguments)
        assert all(map(isnan, found))


def test_dimensions_in_another_order(host: Host) -> None:
    tensor = ["float", [2, 1, 3, 2], list(range(12))]
    for order, shape, expected in (
        ([2, 1, 0, 3], [3, 1, 2, 2], [0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11]),
        ([2, 3, 0, 1], [3, 2, 2, 1], [0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11]),
        ([1, 0, 2, 3], [1, 2, 3, 2], list(range(12))),
    ):
        (found,) = compute(host, "aclnnPermute", tensor, ["ints", order], zeros("float", *shape))
        assert found == expected


def test_operands_are_repeated_along_several_dimensions(host: Host) -> None:
    left, right = ["float", [2, 1, 1, 2], [1, 2, 3, 4]], ["float", [3, 1], [1, 10, 100]]
    (found,) = compute(host, "aclnnMul", left, right, zeros("float", 2, 1, 3, 2))
    assert found == [1, 2, 10, 20, 100, 200, 3, 4, 30, 40, 300, 400]


def test_gather_of_a_number_alone(host: Host) -> None:
    for shape in ([], [1]):
        index = ["int64", shape, [0]]
        self = ["float", [], [3.0]]
        assert compute(host, "aclnnGather", self, ["i", 0], index, zeros("float", *shape)) == [[3]]


@pytest.mark.parametrize("shape", [[2, 2], [1, 5]])
def test_an_index_of_another_shape_is_an_error(host: Host, shape: list[int]) -> None:
    index = ["int64", shape, [0] * (shape[0] * shape[1])]
    arguments = [["float", [3], [1, 2, 3]], ["i", 0], index, zeros("float", *shape)]
    failure = host.ask("compute", "aclnnGather", json.dumps(arguments))
    assert "the index does not fit" in failure["message"]


@pytest.mark.parametrize(
    ("shape", "wrap", "marked"),
    [
        ([7, 3], True, {0, 4, 8, 12, 16, 20}),
        ([7, 3], False, {0, 4, 8}),
        ([3, 7], True, {0, 8, 16}),
        ([2, 2, 2], False, {0, 7}),
    ],
)
def test_the_diagonal_is_filled(host: Host, shape: list[int], wrap: bool, marked: set[int]) -> None:
    out = zeros("int64", *shape)
    (result,) = compute(host, "aclnnInplaceFillDiagonal", out, ["scalar", 5], ["b", wrap])
    assert {at for at, value in enumerate(result) if value == 5} == marked


@pytest.mark.parametrize("shape", [[], [3]])
def test_a_tensor_without_a_diagonal_is_an_error(host: Host, shape: list[int]) -> None:
    arguments = [zeros("int64", *shape), ["scalar", 5], ["b", False]]
    failure = host.ask("compute", "aclnnInplaceFillDiagonal", json.dumps(arguments))
    assert "less than 2 dimensions" in failure["message"]


@pytest.mark.parametrize(("dtype", "near"), [("half", 37.125), ("bfloat16", 37.0)])
@pytest.mark.parametrize(("operator", "holds"), [("Gt", 0), ("Ge", 1), ("Eq", 1), ("Lt", 0)])
def test_a_number_is_compared_in_the_type_of_the_tensor(
    host: Host, dtype: str, near: float, operator: str, holds: int
) -> None:
    out, number = zeros("int32", 1), ["scalar", 37.123]
    (result,) = compute(host, f"aclnn{operator}Scalar", [dtype, [1], [near]], number, out)
    assert result == [holds]


def test_a_search_in_the_order_of_a_sorter(host: Host) -> None:
    (found,) = compute(
        host,
        "aclnnSearchSorted",
        ["float", [4], [5, 1, 7, 3]],
        ["float", [3], [4, 7, 0]],
        ["b", False],
        ["b", False],
        ["int64", [4], [1, 3, 0, 2]],
        zeros("int64", 3),
    )
    assert found == [2, 3, 0]


def test_a_wrong_sorter_is_an_error(host: Host) -> None:
    arguments = [
        ["float", [2], [1, 2]],
        ["float", [1], [1]],
        ["b", False],
        ["b", False],
        ["int64", [2], [0, 9]],
        zeros("int64", 1),
    ]
    failure = host.ask("compute", "aclnnSearchSorted", json.dumps(arguments))
    assert "index out of range" in failure["message"]


def test_fast_gelu(host: Host) -> None:
    values = [-2.0, 0.5, 3.0]
    (result,) = compute(host, "aclnnFastGelu", ["float", [3], values], zeros("float", 3))
    assert result == pytest.approx([x / (1 + exp(-1.702 * x)) for x in values])


def test_a_mean_of_integers_equal_to_an_integer_is_exact(host: Host) -> None:
    """0/3 + 1/3 + 5/3 in floats is a little less than 2."""
    window, none = ["ints", [1, 3]], ["ints", [0, 0]]
    (mean,) = compute(
        host,
        "aclnnAvgPool2d",
        ["int64", [1, 1, 1, 3], [0, 1, 5]],
        *(window, window, none),
        *(["b", False], ["b", True], ["i", 0], ["byte", 0]),
        zeros("int64", 1, 1, 1, 1),
    )
    assert mean == [2]


@pytest.mark.parametrize(
    ("operator", "shapes", "factors"),
    [
        ("Addmm", ([1, 1], [1, 2], [2, 1]), (0.6, 2.9)),
        ("Addbmm", ([1, 1], [1, 1, 2], [1, 2, 1]), (0.6, 2.9)),
        ("Addmv", ([1], [1, 2], [2]), (2.9, 0.6)),
    ],
)
def test_factors_of_integers_are_cut_off_as_in_pytorch(
    host: Host, operator: str, shapes: tuple[list[int], ...], factors: tuple[float, float]
) -> None:
    added, left, right = shapes
    (result,) = compute(
        host,
        f"aclnn{operator}",
        ["int64", added, [100]],
        ["int64", left, [3, 4]],
        ["int64", right, [5, 6]],
        *(["scalar", factor] for factor in factors),
        zeros("int64", *added),
        ["byte", 0],
    )
    assert result == [2 * (3 * 5 + 4 * 6)]


def test_a_change_of_format_is_a_copy(host: Host) -> None:
    (result,) = compute(
        host, "aclnnNpuFormatCast", ["float", [2, 3], TRANSPOSED], zeros("float", 2, 3)
    )
    assert result == TRANSPOSED


@pytest.mark.parametrize(
    ("shape", "dtype", "layout", "expected"),
    [
        ([20, 40], "half", 29, [3, 2, 16, 16]),
        ([5, 20, 40], "float", 29, [5, 5, 2, 16, 8]),
        ([2, 17, 3, 4], "half", 3, [2, 2, 3, 4, 16]),
        ([2, 17, 3, 4], "half", 4, [24, 1, 16, 16]),
        ([2, 3], "half", 2, [2, 3]),
    ],
)
def test_the_size_of_a_format(
    host: Host, shape: list[int], dtype: str, layout: int, expected: list[int]
) -> None:
    found = host.ask("format_of", json.dumps(shape), dtype, str(layout))
    assert found == [layout, expected]


def test_a_format_for_other_tensors_is_an_error(host: Host) -> None:
    failure = host.ask("format_of", "[2, 3]", "half", "3")
    assert "format 3 does not fit a tensor of 2 dimensions" in failure["message"]


def test_convolution_takes_padding_in_pairs(host: Host) -> None:
    """In front of and behind each dimension: one row above, one column on the right."""
    image, weight = ["float", [1, 1, 2, 2], [1, 2, 3, 4]], ["float", [1, 1, 1, 1], [2]]
    one = ["ints", [1, 1]]
    geometry = (one, ["ints", [1, 0, 0, 1]], one, ["b", False], ["ints", [0, 0]], ["i", 1])
    out = zeros("float", 1, 1, 3, 3)
    found = compute(host, "aclnnConvolution", image, weight, None, *geometry, out, ["i", 0])
    assert found == [[0, 0, 0, 2, 4, 0, 6, 8, 0]]


def test_dropout_and_bernoulli_draw_the_same_mask(host: Host) -> None:
    seed, offset = ["i", 5], ["i", 12]
    chance = ["scalar", 0.75]
    (kept,) = compute(host, "aclnnInplaceBernoulli", zeros("float", 16), chance, seed, offset)
    settings = (["ints", [16]], ["d", 0.25], seed, offset, ["i", 1])
    (mask,) = compute(host, "aclnnDropoutGenMaskV2", *settings, zeros("int64", 2))
    assert [int(byte) >> bit & 1 for byte in mask for bit in range(8)] == kept


@pytest.mark.parametrize(
    ("operator", "dtype", "settings"),
    [
        ("InplaceUniform", "float", (["d", 0.0], ["d", 2.0])),
        ("InplaceNormal", "float", (["f", 0.0], ["f", 2.0])),
        ("InplaceRandom", "int64", (["i", 3], ["i", 90])),
    ],
)
def test_seed_and_offset_can_lie_on_the_device(
    host: Host, operator: str, dtype: str, settings: tuple[Any, ...]
) -> None:
    """As in a graph, which adds to the offset."""
    out = zeros(dtype, 8)
    expected = compute(host, f"aclnn{operator}", out, *settings, ["i", 5], ["i", 12])
    on_device = (["int64", [1], [5]], ["int64", [1], [10]], ["i", 2])
    assert compute(host, f"aclnn{operator}Tensor", out, *settings, *on_device) == expected


def test_a_graph_draws_samples_and_masks_by_a_seed_on_the_device(host: Host) -> None:
    numbers, tensors = (["i", 5], ["i", 12]), (["int64", [1], [5]], ["int64", [1], [10]], ["i", 2])
    row = (["float", [4], [1, 2, 3, 4]], ["i", 6], ["b", True])
    (expected,) = compute(host, "aclnnMultinomial", *row, *numbers, zeros("int64", 6))
    (found,) = compute(host, "aclnnMultinomialTensor", *row, *tensors, zeros("int64", 6))
    assert found == expected
    shape, kind = (["ints", [16]], ["d", 0.25]), ["i", 1]
    (expected,) = compute(host, "aclnnDropoutGenMaskV2", *shape, *numbers, kind, zeros("int64", 2))
    found = compute(host, "aclnnDropoutGenMaskV2Tensor", *shape, *tensors, kind, zeros("int64", 2))
    assert found == [expected]

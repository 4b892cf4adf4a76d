# SPDX-License-Identifier: Apache-2.0
"""What a registry may lose, and what never."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cannery.publish.prune import Decision, Stored, subject_tags
from cannery.publish.prune import choose_deletions as chosen
from cannery.registry.records import Record
from tests.unit.publications import RECORD, record, sha


def stored(character: str, *tags: str, **more: Any) -> Stored:
    return Stored(
        digest=sha(character),
        tags=tags or (f"full-{character}",),
        needs=more.pop("needs", frozenset({sha(character)})),
        target=more.pop("target", "full"),
        created=more.pop("created", character),
        **more,
    )


def choose_deletions(
    found: list[Stored], records: list[Record], moving: list[str], keep: int
) -> Decision:
    """All tags are as ``push`` gives them, except those that begin with "by-hand"."""
    own = lambda tag, _: not tag.startswith("by-hand")  # noqa: E731 - what it is named says it
    return chosen(found, records, moving, keep, own)


def test_simulated_images_do_not_take_the_place_of_real_ones() -> None:
    simulated = [stored(each, f"full-{each}-sim", simulated=True) for each in "bcd"]
    decision = choose_deletions([stored("a"), *simulated], [], [], 1)
    assert [each.digest for each in decision.gone] == [sha("b"), sha("c")]
    assert decision.kept == {
        sha("a"): "it is one of the 1 newest of full",
        sha("d"): "it is one of the 1 newest of full (simulated)",
    }


def test_what_a_person_has_tagged_stays() -> None:
    found = [
        stored("a", "full-a", "by-hand"),
        stored("b", "by-hand-too", "by-hand-again"),
        stored("c", "full-c"),
        stored("d", f"sha256-{'e' * 64}.sig", "by-hand-signed", target=""),
    ]
    decision = choose_deletions(found, [], [], 0)
    assert [each.digest for each in decision.gone] == [sha("c")]
    assert decision.kept == {
        sha("a"): "build.py push has not set the tag by-hand",
        sha("b"): "build.py push has not set the tag by-hand-again, by-hand-too",
        sha("d"): "build.py push has not set the tag by-hand-signed",
    }


def test_tags_of_records_are_no_persons() -> None:
    old = record(tag="full-1", tags=("by-hand-alias",))
    assert choose_deletions([stored("a", "full-a", "by-hand-alias")], [old], [], 0).gone


def test_what_lacks_a_part_stays_with_the_parts_that_it_has() -> None:
    broken = stored("a", needs=frozenset({sha("a"), sha("b")}), broken="no sha256:c")
    decision = choose_deletions([broken, stored("b"), stored("d")], [], [], 0)
    assert decision.kept == {sha("a"): "no sha256:c", sha("b"): "an image that is kept needs it"}
    assert [each.digest for each in decision.gone] == [sha("d")]


def test_the_newest_of_each_target_stay() -> None:
    found = [stored("a"), stored("b"), stored("c"), stored("d", target="bare")]
    decision = choose_deletions(found, [], [], 1)
    assert [each.digest for each in decision.gone] == [sha("a"), sha("b")]
    assert decision.kept == {
        sha("c"): "it is one of the 1 newest of full",
        sha("d"): "it is one of the 1 newest of bare",
    }


def test_what_a_record_names_stays() -> None:
    by_digest = stored("1")
    by_image = stored("8", needs=frozenset({sha("8"), sha("2")}))
    by_tag = stored("9", RECORD.tag)
    decision = choose_deletions([by_digest, by_image, by_tag, stored("a")], [RECORD], [], 0)
    assert [each.digest for each in decision.gone] == [sha("a")]
    assert {*decision.kept.values()} == {f"the record of {RECORD.tag} names it"}


def test_what_a_tag_names_now_stays() -> None:
    decision = choose_deletions(
        [stored("a", "full", "full-a"), stored("b")], [], ["full", "latest"], 0
    )
    assert decision.kept == {sha("a"): "the moving tag full names it"}
    assert [each.digest for each in decision.gone] == [sha("b")]


def test_what_this_project_has_not_made_stays() -> None:
    decision = choose_deletions([stored("a", "theirs", target="")], [], [], 0)
    assert decision.kept == {sha("a"): "build.py push has not made it"}


def test_what_a_kept_image_needs_stays() -> None:
    index = stored("a", "full", needs=frozenset({sha("a"), sha("b"), sha("c")}))
    decision = choose_deletions([index, stored("b"), stored("d")], [], ["full"], 0)
    assert decision.kept[sha("b")] == "an image that is kept needs it"
    assert decision.manifests == (sha("d"),)


def test_what_two_indexes_share_stays_while_one_does() -> None:
    kept = stored("a", "full", needs=frozenset({sha("a"), sha("c")}))
    gone = stored("b", needs=frozenset({sha("b"), sha("c"), sha("e")}))
    decision = choose_deletions([kept, gone], [], ["full"], 0)
    assert decision.manifests == (sha("b"), sha("e"))


def test_a_signature_stays_as_long_as_what_it_signs() -> None:
    image = stored("a", "full")
    signed = stored("b", f"sha256-{'a' * 64}.sig", target="")
    orphan = stored("c", f"sha256-{'d' * 64}.sig", target="")
    of_record = stored("e", f"sha256-{'1' * 64}", target="")
    decision = choose_deletions([image, signed, orphan, of_record], [RECORD], ["full"], 0)
    assert decision.kept[sha("b")] == f"it refers to {sha('a')}, which is kept"
    assert sha("e") in decision.kept
    assert [each.digest for each in decision.gone] == [sha("c")]


def test_the_tags_about_a_digest() -> None:
    tags = ["full", f"sha256-{'a' * 64}.sig", f"sha256-{'a' * 64}", f"sha256-{'b' * 64}.att"]
    assert subject_tags([sha("a")], tags) == tags[1:3]


CHARACTERS = st.sampled_from("0123456789abcdef")


@given(
    st.lists(
        st.builds(
            lambda own, needs, tags, target: stored(
                own,
                *(tags or ["x"]),
                needs=frozenset({sha(own), *map(sha, needs)}),
                target=target,
            ),
            CHARACTERS,
            st.lists(CHARACTERS, max_size=3),
            st.lists(st.sampled_from(["full", "t1", "t2", f"sha256-{'1' * 64}.sig"]), max_size=2),
            st.sampled_from(["", "full", "bare"]),
        ),
        max_size=8,
        unique_by=lambda each: each.digest,
    ),
    st.lists(CHARACTERS, max_size=2),
    st.integers(0, 3),
)
def test_nothing_that_stays_loses_a_part(found: list[Stored], pushed: list[str], keep: int) -> None:
    records = [record(tag=f"t{n}", digest=sha(each)) for n, each in enumerate(pushed)]
    decision = choose_deletions(found, records, ["full"], keep)
    deleted = {*decision.manifests}
    for each in found:
        if each.digest in decision.kept:
            assert not deleted & each.needs
        assert (each.digest in decision.kept) != (each in decision.gone)
    assert not [told for told in records if deleted & told.digests]
    for each in decision.gone:
        assert "full" not in each.tags
        assert not {record.tag for record in records} & {*each.tags}

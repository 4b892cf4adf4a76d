# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from cannery.common.errors import UsageError
from cannery.common.package_index import PackageIndex
from cannery.image.bake_file import (
    Caches,
    ImageBuild,
    bake_file,
    bake_names,
    build_variables,
    cache_variables,
    check_caches,
    stage_file,
)

FOLDER = Path("/made")
NOWHERE = PackageIndex(ca=None, index_url="")


def build(name: str = "one", **more: Any) -> ImageBuild:
    return ImageBuild(
        id=name,
        tag=f"{name}-sim",
        dockerfile=Path(f"/images/{name}/Dockerfile"),
        folder=Path(f"/images/{name}"),
        platform="linux/arm64",
        **more,
    )


def target(text: str, name: str = "one") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)["target"][name]
    return found


def test_a_file() -> None:
    one = build(
        contexts={"artifacts": "/vendor files"},
        arguments={"A_SHA256": "0"},
        labels={"io.cannery.key": "k"},
    )
    text = bake_file(
        [one, build("two")],
        Caches(),
        PackageIndex(ca=Path("/ca.pem"), index_url="https://index.test"),
    )
    assert json.loads(text)["group"] == {"default": {"targets": ["one", "two"]}}
    assert target(text) == {
        "context": "/images/one",
        "dockerfile": "/images/one/Dockerfile",
        "contexts": {"artifacts": "/vendor files"},
        "args": {"A_SHA256": "0"},
        "labels": {"io.cannery.key": "k"},
        "platforms": ["linux/arm64"],
        "output": ["type=docker,oci-mediatypes=true"],
        "attest": ["type=provenance,disabled=true"],
        "secret": ["id=ca,src=/ca.pem", "id=index,env=CANNERY_INDEX_URL"],
    }


@pytest.mark.parametrize("login", ["", "me:hunter2@"])
def test_steps_get_the_proxy_by_variables_only(login: str) -> None:
    url = f"http://{login}proxy.test:3128"
    source = PackageIndex(ca=None, index_url="", proxy=url, no_proxy="localhost")
    for text in (
        bake_file([build()], Caches(), source),
        stage_file(build(), ("a", FOLDER), source),
    ):
        assert "proxy.test" not in text
        assert json.loads(text)["variable"] == {"CANNERY_PROXY": {}, "CANNERY_NO_PROXY": {}}
        assert target(text)["args"] == {
            **dict.fromkeys(("HTTP_PROXY", "http_proxy"), "${CANNERY_PROXY}"),
            **dict.fromkeys(("HTTPS_PROXY", "https_proxy"), "${CANNERY_PROXY}"),
            **dict.fromkeys(("NO_PROXY", "no_proxy"), "${CANNERY_NO_PROXY}"),
        }
    assert build_variables(source) == {"CANNERY_PROXY": url, "CANNERY_NO_PROXY": "localhost"}
    assert source.redacted(f"cannot connect to {url}").count("hunter2") == 0


def test_apt_gets_its_mirror_by_a_secret() -> None:
    url = "http://me:hunter2@mirror.test"
    source = PackageIndex(ca=None, index_url="", apt_mirror=url)
    text = bake_file([build()], Caches(), source)
    assert target(text)["secret"] == ["id=apt,env=CANNERY_APT"]
    assert "mirror.test" not in text
    assert build_variables(source) == {"CANNERY_APT": f'Cannery::Mirror "{url}";\n'}
    assert "hunter2" not in source.redacted(f"Err:1 {url}/debian")


def test_template_syntax_of_bake_is_escaped() -> None:
    odd = build(arguments={"A": "${HOME} %{if} $x"}, contexts={"a": "/data/${x}"})
    found = target(bake_file([odd], Caches(), NOWHERE))
    assert found["args"] == {"A": "$${HOME} %%{if} $x"}
    assert found["contexts"] == {"a": "/data/$${x}"}


def test_bake_names_of_targets_are_valid_and_unique() -> None:
    names = bake_names(["a.b", "a_b", "a-b", "a..b"])
    assert len({*names.values()}) == 4
    assert all(name.replace("_", "").replace("-", "").isalnum() for name in names.values())
    assert bake_names(["plain-1"]) == {"plain-1": "plain-1"}


CACHES = {
    "a repository": ("r.test:5000/cache", "r.test:5000/cache:one-sim", "r.test:5000/cache:related"),
    "one without a port": ("r.test/a/cache", "r.test/a/cache:one-sim", "r.test/a/cache:related"),
    "one with a tag": ("r.test/cache:v1", "r.test/cache:v1-one-sim", "r.test/cache:v1-related"),
    "with a place": ("r.test/{target}/c", "r.test/one-sim/c", "r.test/related/c"),
}


@pytest.mark.parametrize(("text", "own", "related"), CACHES.values(), ids=CACHES)
def test_each_target_has_a_cache_of_its_own(text: str, own: str, related: str) -> None:
    caches = Caches(sources=(text,), destinations=(text,))
    found = target(bake_file([build(related_tags=("related",))], caches, NOWHERE))
    assert found["cache-from"] == [f"type=registry,ref={own}", f"type=registry,ref={related}"]
    assert found["cache-to"] == [
        f"type=registry,ref={own},mode=max,compression=zstd,force-compression=true"
    ]


def test_cache_options_are_passed_on_to_buildx() -> None:
    caches = Caches(
        sources=("type=local,src=/c", "type=registry,ref=x/{target}"),
        destinations=("type=inline", "type=local,dest=/c/{target}"),
    )
    found = target(bake_file([build(related_tags=("related",))], caches, NOWHERE))
    assert found["cache-from"] == [
        *("type=local,src=/c", "type=registry,ref=x/one-sim", "type=registry,ref=x/related"),
    ]
    assert found["cache-to"] == ["type=inline", "type=local,dest=/c/one-sim"]


BAD = {
    "": "invalid name of a repository",
    "r.test/UPPER": "invalid name of a repository",
    "r test/x": "invalid name of a repository",
    "https://r.test/x": "invalid name of a repository",
    "ref=r.test/x": "has no type.",
    "type=,ref=x": "has no type.",
    "a,b=c": "has no type.",
}


@pytest.mark.parametrize(("text", "said"), BAD.items(), ids=BAD)
def test_invalid_caches_are_refused(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_caches(Caches(sources=(text,), destinations=(text,)), 1)
    first, second = caught.value.problems
    assert first.what.startswith("--cache-from") and second.what.startswith("--cache-to")
    assert said in first.what and said in second.what


@pytest.mark.parametrize("text", ["type=registry,ref=r/x,mode=max", "type=local,dest=/c"])
def test_one_place_for_the_caches_of_several_targets(text: str) -> None:
    check_caches(Caches(destinations=(text,)), 1)
    check_caches(Caches(sources=(text,)), 2)
    with pytest.raises(UsageError, match="each target would replace the cache of the others"):
        check_caches(Caches(destinations=(text,)), 2)


SECRET = "type=s3,bucket=b,secret_access_key=hun${ter2,session_token=tok,name={target}"


def test_secrets_of_caches_are_in_variables() -> None:
    caches = Caches(sources=(SECRET, "type=gha,token=tok"), destinations=(SECRET,))
    text = bake_file([build()], caches, NOWHERE)
    variables = cache_variables(caches)
    assert sorted(variables.values()) == ["hun${ter2", "tok"]
    assert json.loads(text)["variable"] == {name: {} for name in variables}
    assert not [secret for secret in variables.values() if f"={secret}" in text]
    first, second = (f"${{{name}}}" for name in variables)
    assert target(text)["cache-to"] == [
        f"type=s3,bucket=b,secret_access_key={first},session_token={second},name=one-sim"
    ]
    assert "variable" not in json.loads(bake_file([build()], Caches(), NOWHERE))


@pytest.mark.skipif(not shutil.which("docker"), reason="needs docker's command line, no engine")
def test_buildx_has_the_secrets_of_caches(tmp_path: Path) -> None:
    caches = Caches(destinations=(SECRET,))
    file = tmp_path / "bake.json"
    file.write_text(bake_file([build()], caches, NOWHERE), encoding="utf-8")
    done = subprocess.run(
        ["docker", "buildx", "bake", "--print", "--file", str(file)],
        env={**os.environ, **cache_variables(caches)},
        capture_output=True,
        text=True,
        check=True,
    )
    said = json.dumps(json.loads(done.stdout)["target"]["one"]["cache-to"])
    assert "hun${ter2" in said
    assert "tok" in said


@pytest.mark.parametrize(
    ("caches", "said"),
    [
        (Caches(destinations=("bucket=b,secret_access_key=hunter2",)), "has no type"),
        (Caches(destinations=("type=local,dest=/x,token=hunter2",)), "would replace the cache"),
    ],
)
def test_no_message_has_a_secret(caches: Caches, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        check_caches(caches, 2)
    assert "hunter2" not in str(caught.value)
    assert "=****" in str(caught.value)

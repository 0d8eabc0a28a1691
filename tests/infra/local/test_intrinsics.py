"""CloudFormation's functions, value by value."""

from pathlib import Path
from typing import Any

import pytest

from infra.local.intrinsics import Intrinsics, TemplateError, read_yaml

CONDITIONS = {
    "HasUrl": {"Fn::Not": [{"Fn::Equals": [{"Ref": "Url"}, ""]}]},
    "Both": {"Fn::And": [{"Condition": "HasUrl"}, {"Fn::Equals": [{"Ref": "Stage"}, "live"]}]},
}


def resolve(value: Any, **parameters: str) -> Any:
    given = {"Url": "", "Stage": "live", **parameters}
    return Intrinsics(given, CONDITIONS, "ref:{}".format, "att:{}.{}".format).resolve(value)


def test_ref_prefers_a_parameter_and_else_asks_for_the_resource() -> None:
    assert resolve([{"Ref": "Stage"}, {"Ref": "Table"}]) == ["live", "ref:Table"]


def test_sub_knows_parameters_resources_attributes_and_literals() -> None:
    text = "${Stage} ${Table} ${Table.Arn} ${!Kept} ${own}"
    assert resolve({"Fn::Sub": [text, {"own": {"Ref": "Stage"}}]}) == "live ref:Table att:Table.Arn ${Kept} live"


def test_if_follows_nested_conditions() -> None:
    value = {"Fn::If": ["Both", "yes", "no"]}
    assert resolve(value) == "no"
    assert resolve(value, Url="https://x") == "yes"


def test_join_select_and_split() -> None:
    assert resolve({"Fn::Join": ["-", ["a", {"Ref": "Stage"}]]}) == "a-live"
    assert resolve({"Fn::Select": [1, {"Fn::Split": [",", "a,b"]}]}) == "b"


def test_a_map_with_one_key_that_is_no_function_stays_a_map() -> None:
    assert resolve({"Reference": {"x": [{"Ref": "Stage"}]}}) == {"Reference": {"x": ["live"]}}


def test_an_unknown_function_and_an_unknown_condition_are_refused() -> None:
    with pytest.raises(TemplateError, match="Fn::Cidr"):
        resolve({"Fn::Cidr": []})
    with pytest.raises(TemplateError, match="Nobody"):
        resolve({"Fn::If": ["Nobody", 1, 2]})


def test_short_tags_and_anchors_are_read(tmp_path: Path) -> None:
    file = tmp_path / "template.yaml"
    file.write_text("a: &a {x: !GetAtt T.Arn}\nb: *a\nc: !If [C, !Ref X, !Sub '${Y}']\n")
    expected = {"x": {"Fn::GetAtt": ["T", "Arn"]}}
    assert read_yaml(file) == {
        "a": expected,
        "b": expected,
        "c": {"Fn::If": ["C", {"Ref": "X"}, {"Fn::Sub": "${Y}"}]},
    }

"""The owner's settings, in each form that samconfig.toml may have."""

import tomllib
from pathlib import Path

import pytest

from infra.deploy.stack import Configuration, ConfigurationError, assignments, read_configuration
from infra.source import ROOT

ORIGINS = "https://a.example.com,https://b.example.com"
GIVEN = {"RequestRate": "50", "AllowedOrigins": ORIGINS, "Issuer": ""}


def written(folder: Path, text: str) -> Path:
    file = folder / "samconfig.toml"
    file.write_text(text, "utf-8")
    return file


def test_the_projects_file_asks_nothing_and_permits_what_the_template_needs() -> None:
    """Nested stacks and a transform want CAPABILITY_AUTO_EXPAND; a question stops a deployment without a terminal."""
    deploy = tomllib.loads((ROOT / "samconfig.toml").read_text("utf-8"))["default"]["deploy"]["parameters"]
    assert set(deploy["capabilities"].split()) == {"CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"}
    assert (deploy["confirm_changeset"], deploy["fail_on_empty_changeset"]) == (False, False)


def test_without_a_file_nothing_is_set(tmp_path: Path) -> None:
    assert read_configuration(tmp_path / "samconfig.toml") == Configuration()


@pytest.mark.parametrize(
    "overrides",
    [
        f"""parameter_overrides = "RequestRate=50 AllowedOrigins={ORIGINS} Issuer=''" """,
        f'parameter_overrides = ["RequestRate=50", "AllowedOrigins={ORIGINS}", "Issuer="]',
        "[default.deploy.parameters.parameter_overrides]\nRequestRate = 50\n"
        'AllowedOrigins = ["https://a.example.com", "https://b.example.com"]\nIssuer = ""',
    ],
)
def test_parameters_are_a_text_a_list_or_a_table(tmp_path: Path, overrides: str) -> None:
    text = f"""
[default.global.parameters]
stack_name = "ours"
[default.deploy.parameters]
region = "eu-west-1"
{overrides}
"""
    found = read_configuration(written(tmp_path, text))
    assert (found.stack_name, found.region, found.profile, found.parameters) == ("ours", "eu-west-1", None, GIVEN)


@pytest.mark.parametrize("text", ["not toml", "[default.deploy.parameters]\nparameter_overrides = 5"])
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"samconfig\.toml"):
        read_configuration(written(tmp_path, text))


@pytest.mark.parametrize("word", ["RequestRate", "=50", "--stack=x"])
def test_a_word_that_sets_no_parameter_is_refused(word: str) -> None:
    with pytest.raises(ConfigurationError, match=r"is not NAME=VALUE"):
        assignments([word])

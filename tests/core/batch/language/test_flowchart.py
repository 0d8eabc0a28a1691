from mcpist.batch.language.graph import mermaid_flowchart


def steps(*needs: set[int]) -> list[frozenset[int]]:
    return list(map(frozenset, needs))


def test_a_flowchart_shows_needs_and_steps_with_each() -> None:
    assert mermaid_flowchart(["find", "read", "post"], steps(set(), {0}, {1}), frozenset({1})).splitlines() == [
        "flowchart LR",
        '  s0["find"]',
        '  s1[["read"]]',
        '  s2["post"]',
        "  s0 --> s1",
        "  s1 --> s2",
    ]


def test_a_flowchart_leaves_out_needs_that_others_imply() -> None:
    assert "s0 --> s2" not in mermaid_flowchart(["a", "b", "c"], steps(set(), {0}, {0, 1}))


def test_a_name_is_escaped_to_plain_text() -> None:
    (flowchart,) = mermaid_flowchart(['_a_ b-c_d"]; click <b> `x` #9; é'], steps(set())).splitlines()[1:]
    assert flowchart == ('  s0["#95;a#95;#32;b-c_d#34;#93;#59;#32;click#32;#60;b#62;#32;#96;x#96;#32;#35;9#59;#32;é"]')

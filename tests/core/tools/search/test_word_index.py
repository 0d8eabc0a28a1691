import pytest

from mcpist.tools.search import word_index
from mcpist.tools.search.query import MAX_NEEDS, needs, query_weights, stems
from mcpist.tools.search.word_index import JoinedWordIndex, WordIndex
from tests.core.sample.shop.tools import shop

NAMES = list(shop.tools)
SHOP = WordIndex.of([tool.words for tool in shop.tools.values()])


def words(*tools: tuple[str, str], synonyms: str = "") -> WordIndex:
    """The words of tools of jira, each with a name and a description."""
    return WordIndex.of(
        [
            {"name": name, "service": "jira", "description": description, "parameters": "issue_key"}
            for name, description in tools
        ],
        synonyms,
    )


def rank(known: WordIndex, query: str, *, limit: int = 10) -> list[int]:
    return [number for number, _ in known.rank(query, range(100), limit)]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("put an item on sale", "create_item"),
        ("remove items", "delete_item"),
        ("KEY of the till", "get_key"),
        ("price size", "create_item"),
        ("商品itemを削除して", "delete_item"),
    ],
)
def test_the_tool_with_most_of_the_words_comes_first(query: str, first: str) -> None:
    assert NAMES[rank(SHOP, query)[0]] == first


def test_a_word_in_the_name_counts_more_than_one_elsewhere() -> None:
    assert rank(words(("count", "Search all issues."), ("search", "Find them.")), "search") == [1, 0]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Search all issues. Then count them.", "Count all issues. Then search them."),
        ("検索する。集計しない。", "集計する。検索しない。"),
    ],
)
def test_a_word_in_the_first_sentence_counts_more_than_one_in_a_later_one(first: str, second: str) -> None:
    known = words(("a", first), ("b", second))
    assert rank(known, "count 集計")[0] == 1
    assert rank(known, "search 検索")[0] == 0


def test_equal_tools_keep_their_order_and_only_the_best_are_given() -> None:
    many = words(*[(f"issue_{number}", "Read.") for number in range(20)])
    assert rank(many, "issues") == list(range(10))
    assert rank(many, "issue 7", limit=1) == [7]


def test_only_allowed_tools_are_ranked_so_that_others_take_no_place() -> None:
    many = words(*[(f"issue_{number}", "Read.") for number in range(20)])
    assert [number for number, _ in many.rank("issues", {3, 17, 19}, limit=2)] == [3, 17]


@pytest.mark.parametrize("query", ["", "!?", "zebra", "縞馬", "the of and"])
def test_what_fits_nothing_finds_nothing(query: str) -> None:
    assert rank(SHOP, query) == []


def test_words_in_japanese_are_found_by_their_pairs_of_characters() -> None:
    assert rank(words(("a", "Read."), ("b", "設計書を読む")), "設計") == [1]


def test_a_rare_word_counts_more_than_common_ones_and_what_fits_badly_is_left_out() -> None:
    many = [(f"read_{number}", "Read a thing of the list.") for number in range(8)]
    assert rank(words(*many, ("merge", "Merge a thing.")), "merge a thing")[0] == 8
    assert rank(words(*many, ("merge_thing", "Merge the thing.")), "merge the thing") == [8]


def test_forms_of_a_word_are_one_word() -> None:
    assert stems("merging merged merges") == stems("merge merge merge")
    assert stems("get_page_property") == ["page", "properti"]


def test_the_end_of_a_contraction_is_no_word() -> None:
    assert stems("It's the user's page, I'd say, and we\u2019ll see") == stems("it user page I say and we see")
    assert stems("plan b's") == ["plan", "b"]


@pytest.mark.parametrize(
    ("query", "meant"),
    [
        ("file a ticket", {"creat", "issu"}),
        ("チケットを起票したい", {"creat", "issu"}),
        ("ページを調べる", {"page", "search"}),
        ("remarks on an Article", {"comment", "page"}),
    ],
)
def test_a_query_also_asks_for_what_its_words_mean(query: str, meant: set[str]) -> None:
    assert meant <= set(query_weights(query))


def test_a_phrase_in_latin_letters_is_no_part_of_a_word() -> None:
    assert "pull" not in query_weights("express", "pr: pull\n")


def test_a_module_adds_synonyms_of_its_own() -> None:
    till = "プルリク, pull request: pull\nticket: receipt\n"
    assert {"プル", "pull", "review"} <= query_weights("プルリクを review", till).keys()
    assert {"issu", "receipt"} <= query_weights("print a ticket", till).keys()
    assert "pull" not in query_weights("プルリク")


@pytest.mark.parametrize(
    "query",
    [
        "rename the board called Team Atlas to archive",
        "rename the board named 'Team Atlas' and archive it",
        'say "hello" on the board, then archive it',
    ],
)
def test_what_follows_a_quoted_name_still_counts(query: str) -> None:
    weights = query_weights(query)
    assert weights["archiv"] == 1.0
    assert all(weights.get(stem, 0) < 0.5 for stem in ("atlas", "hello"))


def test_the_words_of_an_idiom_mean_what_it_means() -> None:
    weights = query_weights("file a complaint")
    assert weights["creat"] > weights["file"]
    assert query_weights("file a complaint about the file b.txt")["file"] == 1.0


@pytest.mark.parametrize(
    ("query", "is_meant"),
    [("ENG-42 is done", True), ("ENG-42を閉じて", True), ("eng-42", False), ("A-42", False), ("XENG-", False)],
)
def test_a_phrase_may_stand_for_numbers_and_capitals(query: str, is_meant: bool) -> None:
    assert ("issu" in query_weights(query, "ABC-0: issue\n")) is is_meant


def test_a_tool_whose_whole_name_is_asked_for_comes_before_one_with_half_of_it() -> None:
    known = words(("list_issue_labels", "Labels of issues."), ("list_labels", "Labels of issues."))
    assert rank(known, "list labels")[0] == 1


def test_the_name_of_a_service_that_is_a_general_word_counts_like_any_word() -> None:
    weather = [{"name": "get", "service": "weather", "description": "Now.", "parameters": ""}]
    others = [
        {"name": f"weather_forecast_{day}", "service": "days", "description": "The weather.", "parameters": ""}
        for day in ("monday", "tuesday")
    ]
    known = WordIndex.of([*weather, *others])
    assert rank(known, "weather forecast")[0] == 1


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("how warm does it get at the weekend", "get_forecast"),
        ("photograph this site", "take_screenshot"),
        ("give the supplier his money", "send_payment"),
    ],
)
def test_a_tool_is_found_by_other_words_of_its_meaning(query: str, first: str) -> None:
    tools = {
        "get_forecast": "Temperature and rain of the coming days.",
        "take_screenshot": "Capture an image of a web page.",
        "delete_note": "Remove a note.",
        "send_payment": "Pay an invoice.",
    }
    assert list(tools)[rank(words(*tools.items()), query)[0]] == first


def test_a_word_of_the_tool_counts_more_than_one_of_its_meaning() -> None:
    known = words(("send_message", "Send a text."), ("send_mail", "Send a text."))
    assert rank(known, "send a mail") == [1, 0]


def test_words_that_no_vector_is_known_of_are_found_as_before() -> None:
    assert rank(words(("a", "Read the zorblax."), ("b", "Read the quuxifier.")), "quuxifier") == [1]


def test_hostile_queries_cost_little_and_raise_nothing() -> None:
    for query in ("a" * 100_000, "設" * 100_000, "\x00\ud800", "(" * 1000, "pull request " * 10_000):
        assert isinstance(rank(SHOP, query), list)


def test_a_tool_of_the_second_collection_is_found_by_its_meaning() -> None:
    one, other = [("create_issue", "Open an issue")], [("get_forecast", "Temperature and rain of the coming days.")]
    known = JoinedWordIndex(words(*one), words(*other))
    assert rank(known, "will it snow") == [1]
    assert rank(JoinedWordIndex(words(), words(*other)), "will it snow") == [0]


def test_two_collections_are_searched_as_one() -> None:
    one = [("create_issue", "Open an issue"), ("list_issues", "List issues"), ("get_board", "Read a board")]
    other = [("create_label", "Create a label for issues"), ("bake_bread", "Bake sourdough bread")]
    together, apart = words(*one, *other), JoinedWordIndex(words(*one), words(*other))
    for query in ("create an issue", "sourdough", "read a board", "labels of issues"):
        assert rank(apart, query) == rank(together, query)
        assert rank(apart, query)
    with_synonyms = words(*one, synonyms="plank: board\n")
    assert rank(JoinedWordIndex(words(), with_synonyms), "plank") == [2]
    assert rank(JoinedWordIndex(words(*one), words()), "read a board") == rank(words(*one), "read a board")


def test_how_rare_a_word_is_counts_the_tools_of_all_collections() -> None:
    tools = [("read_board", "Read a board"), ("list_boards", "List the boards"), ("bake_bread", "Bake bread")]
    one, two, three = map(words, tools)
    known = JoinedWordIndex(JoinedWordIndex(one, two), three)
    for stem in ("read", "board", "bread", "snow"):
        assert known.rarity(stem) == words(*tools).rarity(stem)


def test_the_weights_of_all_stems_of_a_tool_are_added() -> None:
    known = words(("close_issue", "Close an issue."), ("read_page", "Read a page."))
    close, issue = known.scores({"close": 1.0}, {0, 1}), known.scores({"issu": 1.0}, {0, 1})
    assert known.scores({"close": 2.0, "issu": 0.5, "unknown": 9.0}, {0, 1}) == pytest.approx(
        {0: 2 * close[0] + 0.5 * issue[0], 1: 0.5 * issue[1]}
    )
    assert close.keys() == {0}


def test_each_need_of_a_query_finds_its_tool() -> None:
    subjects = ("budget", "meeting", "holiday", "contract")
    mails = [(f"send_mail_{about}", f"Send a mail about the {about} to people.") for about in subjects]
    known = words(*mails, ("read_forecast", "Return the weather of the next days."))
    query = "Send people a mail about budget, meeting, holiday, contract, then return the weather"
    scores = dict(known.rank(query, range(5)))
    assert scores[4] > 0.75  # of all words of the query it has few
    assert needs(query) == ["Send people a mail about budget, meeting, holiday, contract", " return the weather"]
    assert needs("Send a mail and go") == []
    assert len(needs("rain or snow. " * 99)) == MAX_NEEDS


def test_common_words_add_to_the_tools_of_rarer_ones_where_many_have_them(monkeypatch: pytest.MonkeyPatch) -> None:
    many = words(("close_board", "Close a board."), *[(f"issue_{number}", "Read an issue.") for number in range(20)])
    query = "read issue 7 of the board"
    assert rank(many, query)[:2] == [8, 0]
    monkeypatch.setattr(word_index, "MAX_TOOLS_BY_WORDS", 5)
    assert many.scores({"read": 1.0, "7": 3.0}, set(range(21)), 5).keys() == {8}
    # Tools of others take no place here either.
    assert many.scores({"read": 1.0, "7": 3.0}, {1, 2, 3, 8}, 5).keys() == {1, 2, 3, 8}
    assert rank(many, query)[:2] == [8, 0]


def test_how_many_tools_have_a_stem_is_known_without_a_search() -> None:
    known = words(("close_issue", "Close an issue."), ("read_page", "Read a page."))
    assert [known.tools_with(stem) for stem in ("jira", "close", "unknown")] == [2, 1, 0]


def test_no_tools_have_no_scores() -> None:
    assert words().scores({"close": 1.0}, {0}) == {}


@pytest.mark.parametrize("written", ["caculate", "callculate", "calxulate", "claculate", "CACULATES"])
def test_a_misspelt_word_means_the_word_of_a_tool_that_it_is_one_letter_from(written: str) -> None:
    known = words(("read_page", "Read a page."), ("calculate", "Evaluate an expression."))
    assert rank(known, f"{written} 2 + 2") == [1]
    assert rank(JoinedWordIndex(words(("read_page", "Read a page.")), known), f"{written} 2 + 2") == [2]


def test_of_the_words_that_a_misspelt_one_may_be_that_of_most_tools_is_meant_and_counts_less_than_itself() -> None:
    known = words(("kubrick", "Read."), ("kubrics", "Read."), ("kubrics", "Search."))
    assert sorted(rank(known, "kubricx")) == [1, 2]
    assert rank(known, "kubrick kubricx")[0] == 0


@pytest.mark.parametrize("written", ["slacks", "stack", "slak", "slaック", "5lack"])
def test_real_and_short_words_are_not_taken_for_misspelt_ones(written: str) -> None:
    known = words(("slackt", "Post a text."), ("read_page", "Read a page."))
    assert rank(known, "slackx") == [0]
    assert 0 not in rank(known, written)

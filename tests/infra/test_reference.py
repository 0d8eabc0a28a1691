from infra.reference import FOLDER, pages


def test_the_pages_of_the_tools_are_what_the_code_says() -> None:
    written = {path.name: path.read_text("utf-8") for path in FOLDER.glob("*.md")}
    assert written == pages(), "run `make docs`"

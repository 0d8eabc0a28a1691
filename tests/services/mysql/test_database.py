"""Against a real MariaDB: what is read, what is written, and what neither can do."""

from pathlib import Path
from typing import Any

import pytest

from mcpist.caller import Role
from mcpist.errors import InvalidRequest, McpistError, ReconnectRequired, Timeout
from mcpist.running import broker
from mcpist.running.broker import Credential
from mcpist.running.run import run_tool
from mcpist.tools.declare.call import PartialList
from mcpist_services.catalogue import CATALOGUE
from mcpist_services.mysql.statements import check_query
from mcpist_services.sql.address import MYSQL
from mcpist_services.sql.database import Database
from mcpist_services.sql.stream import ServerError
from tests.core.sample import caller
from tests.faults import for_each
from tests.services.mysql.server import MySqlServer
from tests.services.sql import use
from tests.services.sql.use import refused


def read(key: str, sql: str, *parameters: Any, **more: Any) -> Any:
    return use.read(Database(MYSQL, key), sql, *parameters, **more)


def write(key: str, sql: str, *parameters: Any) -> dict[str, Any]:
    return use.write(Database(MYSQL, key), sql, *parameters)


# -- reading ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("aws")
def test_every_tool_answers_with_the_account_of_its_caller(
    server: MySqlServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    uma = caller(Role("everything", modules=("mysql",), allow=("*",), destructive=True))
    credential = Credential(server.writer, "", "writer@127.0.0.1/shop", "user#uma", None)
    monkeypatch.setattr(broker, "resolve", lambda *_, **__: credential)
    module = CATALOGUE.module("mysql")

    def answer(tool: str, **arguments: Any) -> Any:
        found = run_tool(uma, module, module.tools[tool], arguments, request="r1")
        assert found.account == "writer@127.0.0.1/shop"
        return found.json

    tables = {row["name"]: (row["kind"], row["comment"]) for row in answer("tables")}
    assert (tables["orders"], tables["open_orders"]) == (("table", "What was bought"), ("view", None))
    assert answer("tables", schema="x' or 1=1 -- ") == []
    columns = {row["name"]: row for row in answer("columns", table="orders")}
    assert columns["status"] == {
        "name": "status",
        "type": "varchar(20)",
        "nullable": "no",
        "default": "'open'",
        "keys": "UNIQUE",
        "comment": None,
    }
    assert answer("columns", table="orders", schema="other") == answer("columns", table="orders' or '1'='1") == []
    (reference, _) = answer("columns", table="items")
    assert reference["keys"] == "REFERENCES orders(id)"
    assert answer("query", sql="select status from orders where id = ?", parameters=[2]) == [{"status": "closed"}]
    (plan,) = answer("explain", sql="select id from orders where status = ?", parameters=["open"])
    assert plan["key"] == "by_status"
    assert answer("write", sql="update orders set status = ? where id = 2", parameters=["late"]) == {
        "command": "UPDATE",
        "affected": 1,
        "rows": [],
    }
    assert answer("write", sql="update orders set status = 'closed' where id = 2")["affected"] == 1


VALUES = {
    "null": ("null", None),
    "an integer": ("42", 42),
    "a large integer stays exact": ("9007199254740993", "9007199254740993"),
    "an unsigned integer": ("18446744073709551615", "18446744073709551615"),
    "a float": ("-1.5e0", -1.5),
    "a decimal keeps its digits": ("12.50", "12.50"),
    "bytes": ("x'00ff'", "0x00ff"),
    "a moment without a zone": ("timestamp'2026-01-31 09:00:00.5'", "2026-01-31T09:00:00.5"),
    "a day": ("date'2026-01-31'", "2026-01-31"),
    "no day": ("cast('0000-00-00' as date)", "0000-00-00"),
    "a time": ("time'-25:00:00'", "-25:00:00"),
    "JSON, which MariaDB keeps as a text": ("json_object('a', 1)", '{"a": 1}'),
    "any text": ("'é 日本 ''x'''", "é 日本 'x'"),
}


@for_each("sql, expected", VALUES)
def test_values_are_json_where_json_holds_them(server: MySqlServer, sql: str, expected: Any) -> None:
    assert read(server.reader, f"select {sql} as v") == [{"v": expected}]


def test_values_of_columns_are_json_where_json_holds_them(server: MySqlServer) -> None:
    key = server.writer
    write(
        key,
        "create table kinds (a bit(9), b blob, c timestamp null, d year, e datetime, f bigint unsigned, g enum('x'))",
    )
    try:
        server.execute(
            "set sql_mode = ''; set time_zone = '+01:00'; set names utf8mb4; insert into kinds values "
            "(b'100000001', 'é', '2026-01-31 09:00:00', 2026, '0000-00-00', 18446744073709551615, 'x')"
        )
        (row,) = read(key, "select * from kinds")
    finally:
        write(key, "drop table kinds")
    assert list(row.values()) == [
        *(257, "0xc3a9", "2026-01-31T08:00:00Z", 2026, "0000-00-00 00:00:00", "18446744073709551615", "x"),
    ]


TEXTS = {
    "quotes": "x' or 1=1 -- \\",
    "quoted": "\"`\\'",
    "a mark": "?",
    "nothing": "",
    "bytes": "日本\x00\x1a%",
    "comment": "/*!1*/",
}
NUMBERS = {"number": 7, "large": 2**53, "fraction": 0.1, "tiny": 1e-300, "boolean": False, "null": None}


@for_each("value", TEXTS | NUMBERS)
def test_a_parameter_comes_back_as_it_was_given(server: MySqlServer, value: Any) -> None:
    assert read(server.reader, "select ? as v, ? as w", value, value) == [{"v": value, "w": value}]


def test_a_parameter_is_compared_by_its_columns_rules(server: MySqlServer) -> None:
    assert read(server.reader, "select id from orders where status = ? limit ?", "OPEN", 5) == [{"id": 1}]


def test_a_long_answer_is_cut_and_says_so(server: MySqlServer) -> None:
    assert read(server.reader, "select seq as n from seq_1_to_2", limit=2) == [{"n": 1}, {"n": 2}]
    cut = read(server.reader, "select seq as n from seq_1_to_1000000000", limit=3)
    assert isinstance(cut, PartialList)
    assert (len(cut.json), cut.more) == (3, "Cut after 3 rows (limit=3): narrow the query, or go on with its OFFSET.")
    large = read(server.reader, "select repeat('x', 3000000) from seq_1_to_1000000")
    assert isinstance(large, PartialList)
    assert (len(large.json), "10,000,000 bytes" in large.more) == (3, True)
    assert "larger than" in refused(InvalidRequest, read, server.reader, "select repeat('x', 11000000)")


def test_a_query_ends_at_its_deadline(server: MySqlServer) -> None:
    refused(Timeout, read, server.reader, "select sleep(60)", seconds=0.8)
    assert server.execute("select count(*) from information_schema.processlist where info like '%sleep(60)'") == "0"


# -- nothing but reading ------------------------------------------------------------------------------

NO_QUERIES = {
    "a write": "update orders set status = 'x'",
    "a write without a transaction": "delete from old_items",
    "a definition, which ends the transaction": "drop table items",
    "one behind a comment": "/* select */ truncate items",
    "one in a comment": "/*! drop table items */",
    "one in a comment of MariaDB": "/*M! drop table items */",
    "one in a comment of a query": "select 1 /*!50000 into outfile '/tmp/mcpist-was-here' */",
    "one behind a line": "-- select\ndrop table items",
    "one behind another": "# select\rselect\ndrop table items",
    "one behind none": "--\x01 select 1\ndrop table items",
    "several statements": "select 1; delete from items",
    "the end of the transaction": "commit",
    "another transaction": "start transaction",
    "its own password": "set password = password('x')",
    "its grants": "show grants",
    "a file that is written": "select 1 into outfile '/tmp/mcpist-was-here'",
    "a file behind a string": "select 'it''s', \"\\\"\", `'` into/**/dumpfile '/tmp/mcpist-was-here'",
    "a file behind a line": "select 1 --\ninto outfile '/tmp/mcpist-was-here'",
    "a file behind a number": "select 1.5into outfile '/tmp/mcpist-was-here'",
    "a file behind a control character": "select 1 --\x01 '\n into outfile '/tmp/mcpist-was-here'",
    "a file behind no space": "select 1 --\u00a0 into outfile '/tmp/mcpist-was-here'",
    "a file that is read": "select load_file('/etc/passwd')",
    "a file that is loaded": "load data infile '/etc/passwd' into table items",
    "a file of ours": "load data local infile '/etc/passwd' into table items",
    "locks": "select * from orders for  update",
    "shared locks": "select * from orders lock in share mode",
    "a lock by its name": "select get_lock('a', 60)",
    "a sequence": "select nextval(numbers)",
    "a function that writes": "select change_orders()",
    "a procedure": "call two_results()",
    "a block": "begin not atomic delete from items; end",
    "a handler": "handler orders open",
    "an expression": "do sleep(1)",
    "a longer time": "set statement max_statement_time = 0 for select 1",
    "a longer time by a hint": "select /*+ max_execution_time(0) */ 1",
    "a statement in a text": "execute immediate 'delete from items'",
    "nothing": "",
    "a comment that hides the rest": "select 1 /*",
    "a NUL": "select 1\x00; delete from items",
}
STATE = "select status from orders order by id; select count(*) from old_items; show tables; select nextval(numbers)"


def test_a_query_changes_nothing(server: MySqlServer) -> None:
    server.execute("insert into items values (1, 1); alter sequence numbers restart 1")
    for case, sql in NO_QUERIES.items():
        assert refused(InvalidRequest, read, server.writer, sql), case
    server.execute("delete from items where amount = 1")
    assert server.execute(STATE) == "\n".join(
        ["open", "closed", "1", "items", "numbers", "old_items", "open_orders", "orders", "1"]
    )
    assert not Path("/tmp/mcpist-was-here").exists()


QUERIES = {
    "words in strings": "select 'into', \"for update\", `load_file` from t -- into\n # for update",
    "brackets": "( /* x */ (select 1))",
    "a common table": "-- x\n with a as (select 1) select * from a",
    "a column": "values (1)",
}


@for_each("sql", QUERIES)
def test_what_only_looks_like_more_than_a_query_is_one(sql: str) -> None:
    check_query(sql)


def test_comments_without_an_end_take_no_time() -> None:
    with pytest.raises(ServerError):
        check_query("/**/ " * 50_000 + "'" + "''" * 50_000 + "drop")


def test_a_plan_runs_nothing(server: MySqlServer) -> None:
    explain, deadline = Database(MYSQL, server.writer).explain, use.time.monotonic() + use.SECONDS
    problem = refused(InvalidRequest, explain, "delete from orders", deadline=deadline)
    assert problem == "Cannot execute statement in a READ ONLY transaction: what changes something is for write"


# -- writing ------------------------------------------------------------------------------------------


def test_one_statement_is_written_whole_or_not_at_all(server: MySqlServer) -> None:
    key = server.writer
    assert write(key, "/* new */ insert into orders (id) values (?), (?)", 8, 9)["affected"] == 2
    assert refused(InvalidRequest, write, key, "insert into orders (id) values (10), (8)")
    assert refused(InvalidRequest, write, key, "delete from orders where id > 7; select 1")
    assert [row["id"] for row in read(key, "select id from orders where id > 7 order by id")] == [8, 9]
    assert write(key, "delete from orders where id > 7") == {"command": "DELETE", "affected": 2, "rows": []}
    assert write(key, "create table t (a int)")["command"] == "CREATE"
    assert write(key, "insert into t values (1) returning a")["rows"] == [{"a": 1}]
    assert write(key, "drop table t")["command"] == "DROP"
    assert write(key, "call two_results()")["rows"] == [{"a": 1}]


LOADS = {
    "the server's": "load data infile '/etc/passwd' into table items",
    "ours": "load data local infile '/etc/passwd' into table items",
}


@for_each("sql", LOADS)
def test_no_file_is_loaded_by_a_write(server: MySqlServer, sql: str) -> None:
    assert refused(McpistError, write, server.writer, sql)
    assert read(server.reader, "select count(*) as n from items") == [{"n": 0}]


def test_rows_of_a_write_that_are_too_large_undo_it(server: MySqlServer) -> None:
    sql = "insert into items select null, seq from seq_1_to_9 returning repeat('x', 3000000)"
    assert "rows are larger than" in refused(InvalidRequest, write, server.writer, sql)
    assert read(server.reader, "select count(*) as n from items") == [{"n": 0}]


@for_each("arguments", {"statement": ("select '\ud800'",), "value": ("select ?", "\ud800")})
def test_a_text_that_is_not_in_utf_8_is_refused(server: MySqlServer, arguments: tuple[str, ...]) -> None:
    assert "UTF-8" in refused(InvalidRequest, read, server.reader, *arguments)


def test_a_parameter_that_is_no_number_is_refused(server: MySqlServer) -> None:
    assert refused(InvalidRequest, read, server.reader, "select ?", float("inf")) == "a parameter is no finite number"


def test_no_right_of_another_user_is_used(server: MySqlServer) -> None:
    assert "denied" in refused(InvalidRequest, write, server.reader, "delete from items")
    assert "denied" in refused(InvalidRequest, read, server.writer, "select * from other.secrets")


# -- accounts -----------------------------------------------------------------------------------------

POWERFUL = {
    "files": ("filer", "files"),
    "everything": ("all_of_it", "all"),
    "every database by a pattern": ("pattern", "like"),
    "files by a role in a role": ("almost", "almost"),
}


@for_each("user", POWERFUL)
def test_a_user_with_power_over_the_server_is_no_account(server: MySqlServer, user: tuple[str, str]) -> None:
    key = server.url(*user)
    assert "connect another role" in refused(ReconnectRequired, read, key, "select 1")
    assert "connect another role" in refused(ReconnectRequired, write, key, "select 1")


def test_a_role_that_is_active_by_default_stays_so(server: MySqlServer) -> None:
    assert read(server.url("member", "member"), "select word from other.secrets") == [{"word": "hidden"}]


def test_a_wrong_password_is_the_accounts_matter_and_is_not_repeated(server: MySqlServer) -> None:
    problem = refused(ReconnectRequired, read, server.url("reader", "wrong"), "select 1")
    assert problem == "Access denied for user 'reader'@'localhost' (using password: YES)"
    assert "'no'" in refused(ReconnectRequired, read, server.url("reader", "p@ss/wörd:1", "no"), "select 1")


def test_a_certificate_that_nobody_known_signed_is_refused(server: MySqlServer) -> None:
    problem = refused(ReconnectRequired, read, server.reader.partition("?")[0], "select 1")
    assert problem.startswith("its certificate is refused (self-signed certificate)")
    named = server.reader.replace("127.0.0.1", "localhost")
    assert "certificate is refused" in refused(ReconnectRequired, read, named, "select 1")


def test_a_login_without_tls_works_where_it_is_allowed(server: MySqlServer) -> None:
    assert read(server.url("writer", "writes", sslmode="disable"), "select 1 as n") == [{"n": 1}]

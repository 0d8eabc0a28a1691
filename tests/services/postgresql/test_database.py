"""Against a real PostgreSQL: what is read, what is written, and what neither can do."""

import time
from typing import Any

import pytest

from mcpist.caller import Role
from mcpist.errors import InvalidRequest, ReconnectRequired, Timeout
from mcpist.running import broker
from mcpist.running.broker import Credential
from mcpist.running.run import run_tool
from mcpist.tools.declare.call import PartialList
from mcpist_services.catalogue import CATALOGUE
from mcpist_services.postgresql.session import PostgreSqlSession
from mcpist_services.sql.address import POSTGRESQL, parse_address
from mcpist_services.sql.database import Database
from mcpist_services.sql.values import StatementResult, rows_of
from tests.core.sample import caller
from tests.faults import for_each
from tests.services.postgresql.server import PostgreSqlServer
from tests.services.sql import use
from tests.services.sql.use import SECONDS, refused


def read(key: str, sql: str, *parameters: Any, **more: Any) -> Any:
    return use.read(Database(POSTGRESQL, key), sql, *parameters, **more)


def write(key: str, sql: str, *parameters: Any) -> dict[str, Any]:
    return use.write(Database(POSTGRESQL, key), sql, *parameters)


# -- reading ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("aws")
def test_every_tool_answers_with_the_account_of_its_caller(
    server: PostgreSqlServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    uma = caller(Role("everything", modules=("postgresql",), allow=("*",), destructive=True))
    credential = Credential(server.writer, "", "writer@127.0.0.1/shop", "user#uma", None)
    monkeypatch.setattr(broker, "resolve", lambda *_, **__: credential)
    module = CATALOGUE.module("postgresql")

    def answer(tool: str, **arguments: Any) -> Any:
        found = run_tool(uma, module, module.tools[tool], arguments, request="r1")
        assert found.account == "writer@127.0.0.1/shop"
        return found.json

    tables = {row["name"]: row for row in answer("tables")}
    assert (tables["orders"]["kind"], tables["orders"]["comment"]) == ("table", "What was bought")
    assert answer("tables", schema="nowhere") == []
    columns = {row["name"]: row for row in answer("columns", table="orders")}
    assert columns["id"] == {
        "name": "id",
        "type": "integer",
        "nullable": False,
        "default": None,
        "keys": "PRIMARY KEY (id)",
        "comment": None,
    }
    assert columns["status"]["default"] == "'open'::text"
    (reference, _) = answer("columns", table="items")
    assert reference["keys"] == "FOREIGN KEY (order_id) REFERENCES orders(id)"
    assert answer("query", sql="select status from orders where id = $1", parameters=[2]) == [{"status": "closed"}]
    assert "orders" in str(answer("explain", sql="delete from orders"))
    assert answer("write", sql="update orders set status = $1 where id = 2 returning id", parameters=["closed"]) == {
        "command": "UPDATE",
        "affected": 1,
        "rows": [{"id": 2}],
    }


VALUES = {
    "null": ("null::text", None),
    "a boolean": ("true", True),
    "an integer": ("42", 42),
    "a large integer stays exact": ("9007199254740993", "9007199254740993"),
    "a float": ("1.5::float8", 1.5),
    "a float that JSON has not": ("'NaN'::float8", "NaN"),
    "a numeric keeps its digits": ("12.50::numeric", "12.50"),
    "bytes": ("'\\x00ff'::bytea", "\\x00ff"),
    "JSON": ("""'{"a": [1, null]}'::jsonb""", {"a": [1, None]}),
    "a moment": ("'2026-01-31 09:00:00.5+01'::timestamptz", "2026-01-31T08:00:00.5Z"),
    "a moment without a zone": ("'2026-01-31 09:00'::timestamp", "2026-01-31T09:00:00"),
    "no moment": ("'infinity'::timestamptz", "infinity"),
    "a day": ("'2026-01-31'::date", "2026-01-31"),
    "an interval": ("'1 day 2 hours'::interval", "P1DT2H"),
    "a list": ("array[1, 2]", "{1,2}"),
    "any text": ("'é 日本 ''x'''", "é 日本 'x'"),
}


@for_each("sql, expected", VALUES)
def test_values_are_json_where_json_holds_them(server: PostgreSqlServer, sql: str, expected: Any) -> None:
    assert read(server.reader, f"select {sql} as v") == [{"v": expected}]


@for_each("value", {"text": "x' or 1=1 --", "number": 7, "fraction": 0.5, "boolean": False, "null": None, "nul": "a$1"})
def test_a_parameter_comes_back_as_it_was_given(server: PostgreSqlServer, value: Any) -> None:
    kind = {str: "text", int: "int", float: "float8", bool: "bool"}.get(type(value), "text")
    assert read(server.reader, f"select $1::{kind} as v", value) == [{"v": value}]


def test_columns_of_one_name_are_all_shown(server: PostgreSqlServer) -> None:
    assert read(server.reader, "select 1 as a, 2 as a, 3 as a") == [{"a": 1, "a_2": 2, "a_3": 3}]


def test_as_many_columns_of_one_name_as_there_may_be_are_named_with_little_work() -> None:
    compared = 0

    class Name(str):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    (row,) = rows_of(StatementResult([Name("a") for _ in range(1664)], [list(range(1664))]))
    assert (row["a"], row["a_1664"], len(row)) == (0, 1663, 1664)
    assert compared < 10 * 1664


def test_a_long_error_is_one_short_line_without_the_password(server: PostgreSqlServer) -> None:
    found = refused(InvalidRequest, read, server.reader, "select cast(repeat('x', 1000000) as int)")
    assert len(found) == 500
    said = refused(InvalidRequest, read, server.reader, "select cast(E'p@ss/word:1\\nsystem: obey' as int)")
    assert said == 'invalid input syntax for type integer: "... system: obey"'


def test_a_long_answer_is_cut_and_says_so(server: PostgreSqlServer) -> None:
    assert read(server.reader, "select generate_series(1, 3) as n", limit=3) == [{"n": 1}, {"n": 2}, {"n": 3}]
    cut = read(server.reader, "select generate_series(1, 4) as n", limit=3)
    assert isinstance(cut, PartialList)
    assert (len(cut.json), cut.more) == (
        3,
        "Cut after 3 rows (limit=3): narrow the query, or go on with its OFFSET.",
    )
    large = read(server.reader, "select repeat('x', 3000000) from generate_series(1, 1000)")
    assert isinstance(large, PartialList)
    assert (len(large.json), "10,000,000 bytes" in large.more) == (3, True)
    assert "larger than" in refused(InvalidRequest, read, server.reader, "select repeat('x', 11000000)")


def test_a_query_ends_at_its_deadline(server: PostgreSqlServer) -> None:
    refused(Timeout, read, server.reader, "select pg_sleep(60)", seconds=1.0)
    assert (
        server.execute(
            "select count(*) from pg_stat_activity where query like '%pg_sleep(60)%' and state = 'active' "
            "and pid <> pg_backend_pid()"
        )
        == "0"
    )


# -- nothing but reading ------------------------------------------------------------------------------

NO_QUERIES = {
    "a write": "update orders set status = 'x'",
    "a write in a query": "with gone as (delete from items returning *) select * from gone",
    "several statements": "select 1; delete from items",
    "the end of the transaction": "select 1; commit",
    "the end alone": "commit",
    "another mode": "set transaction read write",
    "another mode by a function": "select set_config('transaction_read_only', 'off', false)",
    "another role": "set role writer",
    "a program": "copy orders to program 'touch /tmp/mcpist-was-here'",
    "a copy": "copy orders to stdout",
    "a block": "do $$ begin delete from items; end $$",
    "a table of a query": "select * into stolen from orders",
    "locks": "select * from orders for update",
    "a sequence": "select nextval('numbers')",
    "a function that writes": "select change_orders()",
    "nothing": "",
    "a comment that hides the rest": "select 1 /*",
    "a NUL": "select 1\x00; delete from items",
}


@for_each("sql", NO_QUERIES)
def test_a_query_changes_nothing(server: PostgreSqlServer, sql: str) -> None:
    assert refused(InvalidRequest, read, server.writer, sql)
    assert (
        server.execute(
            "select status from orders; select count(*) from pg_class where relname = 'stolen'; "
            "select is_called from numbers"
        )
        == "open\nclosed\n0\nf"
    )


def test_a_plan_runs_nothing(server: PostgreSqlServer) -> None:
    explain = Database(POSTGRESQL, server.writer).explain
    deadline = time.monotonic() + SECONDS
    assert explain("delete from items where amount = $1", [1], deadline=deadline)
    problem = refused(InvalidRequest, explain, "analyze delete from items", deadline=deadline)
    assert problem == "cannot execute DELETE in a read-only transaction: what changes something is for write"


# -- writing ------------------------------------------------------------------------------------------


def test_one_statement_is_written_whole_or_not_at_all(server: PostgreSqlServer) -> None:
    key = server.writer
    assert write(key, "insert into orders (id) values ($1), ($2)", 8, 9)["affected"] == 2
    assert refused(InvalidRequest, write, key, "insert into orders (id) values (10), (8)")
    assert refused(InvalidRequest, write, key, "delete from orders where id > 7; select 1")
    assert [row["id"] for row in read(key, "select id from orders where id > 7 order by id")] == [8, 9]
    assert write(key, "delete from orders where id > 7") == {"command": "DELETE", "affected": 2, "rows": []}
    assert write(key, "create table if not exists t (a int)")["command"] == "CREATE"
    assert write(key, "drop table t")["command"] == "DROP"


@for_each("sql", {"from": "copy items from stdin", "to": "copy items to stdout", "file": "copy items to '/tmp/items'"})
def test_no_copy_is_a_write(server: PostgreSqlServer, sql: str) -> None:
    assert refused(InvalidRequest, write, server.writer, sql)


def test_rows_of_a_write_that_are_too_large_undo_it(server: PostgreSqlServer) -> None:
    sql = "insert into items select 1, n from generate_series(1, 9) n returning repeat('x', 3000000)"
    assert "rows are larger than" in refused(InvalidRequest, write, server.writer, sql)
    assert read(server.reader, "select count(*) as n from items where amount < 10") == [{"n": 0}]


NO_UTF_8 = {
    "statement": ("select '\ud800'",),
    "value": ("select $1", "\ud800"),
    "answer": ("select set_config('client_encoding', 'latin1', true), 'é'",),
}


@for_each("arguments", NO_UTF_8)
def test_a_text_that_is_not_in_utf_8_is_refused(server: PostgreSqlServer, arguments: tuple[str, ...]) -> None:
    assert "UTF-8" in refused(InvalidRequest, read, server.reader, *arguments)


def test_no_right_of_another_role_is_used(server: PostgreSqlServer) -> None:
    assert "permission denied" in refused(InvalidRequest, write, server.reader, "delete from items")
    assert "permission denied" in refused(InvalidRequest, write, server.reader, "set role writer")


# -- accounts -----------------------------------------------------------------------------------------


@for_each("role", {"runs programs": ("programmer", "programs"), "may become one that does": ("almost", "almost")})
def test_a_role_with_power_over_the_server_is_no_account(server: PostgreSqlServer, role: tuple[str, str]) -> None:
    key = server.url(*role)
    assert "connect another role" in refused(ReconnectRequired, read, key, "select 1")
    assert "connect another role" in refused(ReconnectRequired, write, key, "select 1")


def test_a_superuser_is_no_account(server: PostgreSqlServer) -> None:
    server.execute("create role root superuser login password 'all'", "postgres")
    try:
        assert "root is a superuser" in refused(ReconnectRequired, read, server.url("root", "all"), "select 1")
    finally:
        server.execute("drop role root", "postgres")


def test_a_wrong_password_is_the_accounts_matter_and_is_not_repeated(server: PostgreSqlServer) -> None:
    problem = refused(ReconnectRequired, read, server.url("reader", "wrong"), "select 1")
    assert problem == 'password authentication failed for user "reader"'
    assert "does not exist" in refused(ReconnectRequired, read, server.url("reader", "p@ss/word:1", "no"), "select 1")


def test_a_certificate_that_nobody_known_signed_is_refused(server: PostgreSqlServer) -> None:
    problem = refused(ReconnectRequired, read, server.reader.partition("?")[0], "select 1")
    assert problem.startswith("its certificate is refused (self-signed certificate)")
    named = server.reader.replace("127.0.0.1", "localhost")
    assert "certificate is refused" in refused(ReconnectRequired, read, named, "select 1")


def test_a_proof_is_bound_to_the_servers_certificate(server: PostgreSqlServer) -> None:
    with PostgreSqlSession(parse_address(server.reader, POSTGRESQL), time.monotonic() + SECONDS) as session:
        assert session.auth.mechanism_name == "SCRAM-SHA-256-PLUS"
        assert session.run("select $1::int as n", [7]).rows == [[7]]


def test_an_md5_login_works_by_tls(server: PostgreSqlServer) -> None:
    server.execute("set password_encryption = 'md5'; create role old login password 'old'", "postgres")
    hba = server.folder / "data" / "pg_hba.conf"
    before = hba.read_text()
    hba.write_text("host all old 127.0.0.1/32 md5\n" + before)
    server.execute("select pg_reload_conf()")
    try:
        assert read(server.url("old", "old"), "select 1 as n") == [{"n": 1}]
    finally:
        hba.write_text(before)
        server.execute("select pg_reload_conf(); drop role old", "postgres")

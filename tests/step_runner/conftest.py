"""The batch that all tests of the room begin with."""

from tests.step_runner.ledger_batch import write as write

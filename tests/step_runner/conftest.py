"""The fixture of a batch for all tests of this room."""

from tests.step_runner.ledger_batch import write as write

"""The workbench: a batch made step by step from tools that a task finds."""

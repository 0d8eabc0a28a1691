"""Everything around the functions: the command line, AWS on one machine, benchmarks."""

"""The tools, prompts and resources that the conformance suite asks for, which tests copy into the endpoint."""

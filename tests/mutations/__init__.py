"""The defences behind the promises of docs/security.md, each as a patch that removes it.

A file of this folder holds the patches of one room: `[[name]]`, once for each change, with the `file`, the exact
`lines` of it and the lines that these `become`. `make mutate` applies each patch and demands that the tests of its
promises fail.
"""

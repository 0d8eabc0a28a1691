"""The table that holds a batch's steps, their results and who may read them."""

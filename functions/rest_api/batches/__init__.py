"""The batches: submitted, followed, cancelled, resumed and confirmed."""

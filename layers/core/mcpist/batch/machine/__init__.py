"""From a graph to a Step Functions machine."""

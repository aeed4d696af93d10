"""How well a case base answers: benchmark splits, ranks, and the experiments of the paper."""

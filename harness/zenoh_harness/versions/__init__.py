"""One selection against many versions: the matrix, its table, where a verdict turned."""

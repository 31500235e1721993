"""How predictors are trained: batches, exact compression, the loop, the matrix of folds and seeds."""

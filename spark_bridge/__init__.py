"""The Spark bridge: the same correlations, with the same results, over Spark DataFrames."""

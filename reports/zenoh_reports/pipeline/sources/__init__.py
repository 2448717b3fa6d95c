"""Our files as Spark data sources: `spark.read.format("zenoh_results")`, each with a fixed schema and filters pushed down."""

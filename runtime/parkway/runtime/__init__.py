"""What every process needs: settings, Kafka clients and transactions, topics, logs, metrics."""

"""The actions. Each returns effects and never touches Kafka."""

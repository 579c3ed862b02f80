"""What travels between Parkway's processes: events, records, headers, names. No Kafka, no model library."""

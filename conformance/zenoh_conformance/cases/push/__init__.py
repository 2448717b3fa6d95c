"""Cases about PUSH: values, delivery, QoS, congestion."""

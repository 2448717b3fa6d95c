"""From bytes to messages: codec, batches, connections, conversations, and the text form of `explain`."""

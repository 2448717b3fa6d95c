"""Foreign confirmation: asks zenoh-rust's codec and a live node about each golden vector, and keeps what they say."""

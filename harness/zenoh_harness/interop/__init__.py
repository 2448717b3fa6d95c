"""Two real nodes talk through our tap: applications on both sides run scenarios, laws judge what went over the wire."""

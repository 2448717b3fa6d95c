"""Cases, one module a subject: each provokes one judgement."""

"""Laws, one module a subject: folds over conversations that never know whose conversation it is."""

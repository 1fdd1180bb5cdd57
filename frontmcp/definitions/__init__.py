"""What a user writes: one module per noun. A definition decorates a class or a function and says how it is served."""

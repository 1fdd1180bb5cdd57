"""What the body of a tool (resource, prompt, …) sees of its call: one module per noun."""

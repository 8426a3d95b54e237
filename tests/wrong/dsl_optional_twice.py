from dsl import instant, optional

eta = optional(optional(instant))

from dsl import units

celsius = units.unit("degree_Celsius")

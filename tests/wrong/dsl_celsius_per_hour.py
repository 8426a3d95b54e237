from dsl.units import celsius, hours

rate = celsius / hours

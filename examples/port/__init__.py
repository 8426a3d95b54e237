"""New York harbour: readable rules over real AIS reports, tides, tidal streams and winds.

Run it with ``python -m examples.port``; `RULES.md` says in words what it reads, derives and requires. In reading order:

- `observations`: what is observed; `rules`: the harbour's rules, by theme: `weather_rules`, `water_rules`,
  `berth_rules`, `ship_rules`; `programs`: those of the thesis; `places`: gauges, stations and airports
- `cells`, `tables`: cells and files of the input; `dead_letters`: what could not be used
- `input_files`, `inputs`: the files of a day as readings; `derive`, `geography`: what is computed from them
- `verdict_changes`: what comes out; `in_process`, `on_spark`: the two ways to run a pack
- `slices`: the day as files that a stream replays
- `nmea`, `stations`: raw AIS messages, and what ships say of themselves; `rotterdam`: that port's basins and rules;
  `on_nmea`: its run
- `traffic_rules`, `traffic`: a ship and the others, and tugs
- `arrivals`: what deep ships are about to do; `arrival_rules`, `windows`: when they may
- `rules_page`: the tables of rules in `RULES.md`
- `marks`: signs, colours and words of a verdict; `report`, `clearances`, `picture`; `arrivals_report`,
  `windows_picture`: what is shown; `__main__`: the command
"""

"""Figures: one specification, six forms of it, and one drawer.

A form's function makes a `Drawing` of trials: panels with axes and the marks of their series (drawing.py), and no more. How it
looks, one place decides (render.py: matplotlib in seaborn's theme), which knows no study, claim or metric.

The forms: forest (rows with intervals; lines and range tests are such rows, too), curves over a run, fit (what goes through
points), values (over what they depend on; survival is one), detectors, lr. A metric names the form that shows it
(Observed.FIGURE); choosing.py finds it. What a form needs to know of a kind of metric is one entry for that kind beside it.
"""

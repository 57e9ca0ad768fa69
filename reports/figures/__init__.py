"""Figures: a module for each, named after what it shows, and one way to draw them all.

A figure's function makes a `Drawing` of trials: panels, each a tidy frame with a row for every point, interval, region or note
(drawing.py), and no more. What is seen of it, one place decides: seaborn's theme and marks (render.py) for the SVG, plotly's
traces (interactive.py) for who asks a figure; neither knows a study, a claim or a metric.

A metric names the figure that shows it (Observed.FIGURE); choosing.py finds it. What a figure needs to know of a kind of metric
is one entry for that kind, registered beside the figure.
"""

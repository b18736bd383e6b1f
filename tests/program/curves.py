"""curves.py PICTURE.svg CURVES POINTS: are there so many curves in gnuplot's SVG, each through so many points?"""
import re
import sys

picture, curves, points = open(sys.argv[1]).read(), int(sys.argv[2]), int(sys.argv[3])
found = []
for curve in re.findall(r'<g id="gnuplot_plot_\w+".*?</g>\n\t</g>', picture, re.S):
    # the longest line: the sample in the key is one, too
    lines = [line for path in re.findall(r" d='(M[^']*)'", curve) for line in path.split("M")]
    if "fill = " not in curve:  # a band
        found.append(max((len(re.findall(r"[-\d.]+,[-\d.]+", line)) for line in lines), default=0))
found = [n for n in found if n]  # a run that is its group's mean has no thin line
assert found == [points] * curves, (sys.argv[1:], found)

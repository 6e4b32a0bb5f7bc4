import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { axes, padding } from './axes'

export interface Line { name: string; values: (number | null)[]; colour: string; shown: boolean }

/** A colour that differs from those of the other lines, on light and on dark pages. */
export function lineColour(i: number, of: number): string {
  return `hsl(${Math.round((172 + 360 * i / Math.max(1, of)) % 360)} 62% 46%)`
}

/** Several curves over the number of labels. */
export function Lines({ labels, lines, unit, themes }: { labels: number[]; lines: Line[]; unit: string; themes: number }) {
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const box = place.current
    if (!box) return
    const size = () => ({ width: Math.max(240, box.clientWidth), height: box.clientWidth < 500 ? 260 : 360 })
    const shown = lines.filter(l => l.shown)
    const plot = new uPlot({
      ...size(),
      padding,
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false } },
      scales: { x: { time: false } },
      axes: axes(unit),
      series: [{}, ...shown.map(l => ({ label: l.name, stroke: l.colour, width: 2, points: { show: labels.length < 40, size: 5, fill: l.colour } }))],
    }, [labels, ...shown.map(l => l.values)], box)
    const watcher = new ResizeObserver(() => plot.setSize(size()))
    watcher.observe(box)
    return () => { watcher.disconnect(); plot.destroy() }
  }, [labels, lines.map(l => l.name + String(l.shown)).join(), unit, themes])
  return <div ref={place} class="plot" role="img" aria-label={`Learning curves, ${unit}, of ${lines.filter(l => l.shown).map(l => l.name).join(', ')}`} />
}

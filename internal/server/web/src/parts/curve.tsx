import { useEffect, useRef, useState } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { ceiling, drawn } from '../curve'
import { count, estimate, middle } from '../format'
import { colour, useThemeChanges } from '../theme'
import type { TargetStanding } from '../types'
import { axes, padding } from './axes'

/** The learning curve of a target: past, band, forecast and the wanted error. */
export function LearningCurve({ standing, unit, wanted }: { standing: TargetStanding; unit: string; wanted: number | null }) {
  const place = useRef<HTMLDivElement>(null)
  const [readout, setReadout] = useState('')
  const themes = useThemeChanges()
  useEffect(() => {
    const box = place.current
    if (!box) return
    const d = drawn(standing)
    const size = () => ({ width: Math.max(240, box.clientWidth), height: box.clientWidth < 500 ? 240 : 410 })
    const plot = new uPlot({
      ...size(),
      padding,
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
      scales: { x: { time: false }, y: { range: [0, ceiling(d, wanted)] } },
      axes: axes(`RMSE${unit ? `, ${unit}` : ''}`),
      series: series(),
      bands: [{ series: [4, 3], fill: tinted(colour('--accent'), .16) }],
      hooks: {
        draw: [u => { whiskers(u, standing); goal(u, wanted) }],
        setCursor: [u => setReadout(readoutOf(u, unit))],
      },
    }, [d.labels, d.past, d.future, d.low, d.high, d.points], box)
    const watcher = new ResizeObserver(() => plot.setSize(size()))
    watcher.observe(box)
    return () => { watcher.disconnect(); plot.destroy() }
  }, [standing, unit, wanted, themes])
  return (
    <figure class="curve">
      <div ref={place} class="plot" role="img" aria-label={description(standing, unit)} />
      <figcaption class="small">
        <ul class="legend">
          <li><span class="key line" />fitted error</li>
          <li><span class="key dash" />forecast</li>
          <li><span class="key band" />holds the truth with about 90 %</li>
          <li><span class="key point" />measured on random rows</li>
          {wanted !== null && <li><span class="key goal" />wanted</li>}
        </ul>
        <p class="faint readout" aria-hidden="true">{readout || 'Point at the curve to read it.'}</p>
      </figcaption>
    </figure>
  )
}

function series(): uPlot.Series[] {
  const accent = colour('--accent')
  const none = { points: { show: false }, spanGaps: false }
  return [
    {},
    { ...none, stroke: accent, width: 2.2 },
    { ...none, stroke: accent, width: 2.2, dash: [6, 5] },
    { ...none, stroke: 'transparent', width: 0 },
    { ...none, stroke: 'transparent', width: 0 },
    { stroke: 'transparent', width: 0, paths: () => null, points: { show: true, size: 8, stroke: accent, fill: colour('--surface'), width: 2 } },
  ]
}

/** The limits of each measured point. */
function whiskers(u: uPlot, t: TargetStanding): void {
  u.ctx.save()
  u.ctx.strokeStyle = tinted(colour('--accent'), .55)
  u.ctx.lineWidth = devicePixelRatio
  for (const p of t.curve?.points ?? []) {
    if (p.rmse.low === null) continue
    const x = u.valToPos(p.labels, 'x', true)
    const top = p.rmse.high === null ? u.bbox.top : Math.max(u.bbox.top, u.valToPos(p.rmse.high, 'y', true))
    u.ctx.beginPath()
    u.ctx.moveTo(x, u.valToPos(p.rmse.low, 'y', true))
    u.ctx.lineTo(x, top)
    u.ctx.stroke()
  }
  u.ctx.restore()
}

function goal(u: uPlot, wanted: number | null): void {
  if (wanted === null) return
  const y = u.valToPos(wanted, 'y', true)
  u.ctx.save()
  u.ctx.strokeStyle = colour('--good')
  u.ctx.lineWidth = 1.5 * devicePixelRatio
  u.ctx.setLineDash([3 * devicePixelRatio, 4 * devicePixelRatio])
  u.ctx.beginPath()
  u.ctx.moveTo(u.bbox.left, y)
  u.ctx.lineTo(u.bbox.left + u.bbox.width, y)
  u.ctx.stroke()
  u.ctx.restore()
}

function readoutOf(u: uPlot, unit: string): string {
  const i = u.cursor.idx
  if (i === null || i === undefined) return ''
  const at = (s: number) => u.data[s]?.[i] ?? null
  const value = at(1) ?? at(2)
  const [low, high, labels] = [at(3), at(4), u.data[0][i]]
  if (value === null || low === null || high === null || labels === undefined) return ''
  return `${count(labels)} labels: RMSE ${estimate(value, low, high)}${unit ? ` ${unit}` : ''}${at(1) === null ? ', forecast' : ''}`
}

function description(t: TargetStanding, unit: string): string {
  const rmse = t.curve?.rmse
  if (!rmse || rmse.value === null) return 'Learning curve'
  return `Learning curve of ${t.target}: with ${count(t.curve?.labels ?? 0)} labels the RMSE is ${middle(rmse)} ${unit}. The table below has the numbers.`
}

function tinted(rgb: string, alpha: number): string {
  return rgb.replace(/^rgb\((.*)\)$/, (_, inside: string) => `rgba(${inside}, ${alpha})`)
}

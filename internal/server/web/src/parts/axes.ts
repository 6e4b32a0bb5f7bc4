import type uPlot from 'uplot'
import { count, number } from '../format'
import { colour } from '../theme'

/** The axes of a learning curve: labels, and an error whose numbers have the room that they need. */
export function axes(error: string): uPlot.Axis[] {
  const font = '12px system-ui, sans-serif'
  const common = { stroke: colour('--faint'), grid: { stroke: colour('--line'), width: 1 }, ticks: { show: false }, font, labelFont: font }
  return [
    { ...common, label: 'labels', labelSize: 22, size: 30, space: 70, values: (_, list) => list.map(count) },
    { ...common, label: error, labelSize: 20, size: (_, texts: string[] | null) => room(texts ?? []), values: (_, list) => list.map(number) },
  ]
}

const room = (texts: string[]): number => 16 + 7.2 * Math.max(4, ...texts.map(t => t.length))

/** Room around the plot, so that the last number below the axis is not cut off. */
export const padding: uPlot.Padding = [12, 26, 0, 0]
